import { describe, expect, it } from 'vitest';
import { connectionsOf } from '../../src/sources/celery/connect.ts';
import { deploymentId } from '../../src/sources/celery/deployment-id.ts';
import type { CelerySettings } from '../../src/sources/celery/settings.ts';
import { createClient } from '../helpers/redis-client.ts';

function idOf(broker: unknown, settings: CelerySettings = {}, backend?: unknown): string | null {
  const connections = connectionsOf({ broker, backend, sql: null, settings, queues: [] });
  return deploymentId({ ...connections, settings });
}

describe('what identifies a deployment', () => {
  it.each([
    ['redis://:hunter2@redis.shop:6380/3', {}, 'redis.shop:6380 3'],
    ['rediss://app:hunter2@redis.shop/3?ssl_cert_reqs=none', {}, 'redis.shop:6379 3'],
    ['redis://127.0.0.1:6379/0', {}, 'localhost:6379 0'],
    ['redis://localhost', {}, 'localhost:6379 0'],
    ['redis+socket:///run/redis.sock?virtual_host=2', {}, '/run/redis.sock 2'],
    [
      'redis://redis.shop/0',
      { broker_transport_options: { global_keyprefix: 'shop:' } },
      'redis.shop:6379 0 shop:',
    ],
    ['amqp://app:hunter2@rabbit.shop', {}, 'rabbit.shop:5672/'],
    ['amqps://app:hunter2@b/shop;amqp://app:hunter2@a/shop', {}, 'a:5672/shop;b:5671/shop'],
    [
      'sentinel://:hunter2@b:26379/1;sentinel://a:26379/1',
      { broker_transport_options: { master_name: 'main', sentinel_kwargs: { password: 'hunter2' } } },
      'a:26379;b:26379 1 main',
    ],
  ])('of %s is where it is, without credentials', (broker, settings, expected) => {
    expect(idOf(broker, settings)).toBe(expected);
  });

  it('is where the results are if the broker cannot be read', () => {
    const settings = { broker_url: 'sqs://', result_backend: 'redis://results/1' };
    expect(idOf(undefined, settings)).toBe('results:6379 1');
  });

  it('is what a client of the host is made with, or unknown', () => {
    expect(idOf(createClient({ url: 'redis://:hunter2@redis.shop:6380', database: 4 }))).toBe(
      'redis.shop:6380 4',
    );
    const broker = { describe: () => ({ url: null, config: { database: 4 } }) };
    expect(deploymentId({ broker, backend: null, settings: {} })).toBeNull();
  });
});
