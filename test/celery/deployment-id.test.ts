import { describe, expect, it, onTestFinished } from 'vitest';
import { type CelerySourcesOptions, celerySources } from '../../src/celery.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { createClient } from '../helpers/redis-client.ts';
import { until } from '../helpers/redis-server.ts';

/** What a store is told of the deployment whose history it keeps. Nothing has to be reached for that. */
async function deploymentOf(options: CelerySourcesOptions): Promise<string | null> {
  const store = createArrayStore();
  const sources = celerySources({ ...options, store });
  onTestFinished(() => sources.close());
  await until(() => store.openSessions > 0);
  return store.rows('celery').deployment;
}

describe('what identifies a deployment in a store', () => {
  it.each<[string, NonNullable<CelerySourcesOptions['settings']>, string]>([
    ['redis://:hunter2@redis.invalid:6380/3', {}, 'redis.invalid:6380 3'],
    ['rediss://app:hunter2@redis.invalid/3?ssl_cert_reqs=none', {}, 'redis.invalid:6379 3'],
    ['redis://127.0.0.1:1/0', {}, 'localhost:1 0'],
    ['redis://localhost:1', {}, 'localhost:1 0'],
    ['redis+socket:///run/no/redis.sock?virtual_host=2', {}, '/run/no/redis.sock 2'],
    [
      'redis://redis.invalid/0',
      { broker_transport_options: { global_keyprefix: 'shop:' } },
      'redis.invalid:6379 0 shop:',
    ],
    ['amqp://app:hunter2@rabbit.invalid', {}, 'rabbit.invalid:5672/'],
    [
      'amqps://app:hunter2@b.invalid/shop;amqp://app:hunter2@a.invalid/shop',
      {},
      'a.invalid:5672/shop;b.invalid:5671/shop',
    ],
    [
      'sentinel://:hunter2@b.invalid:26379/1;sentinel://a.invalid:26379/1',
      { broker_transport_options: { master_name: 'main', sentinel_kwargs: { password: 'hunter2' } } },
      'a.invalid:26379;b.invalid:26379 1 main',
    ],
  ])('of %s is where it is, without credentials', async (broker, settings, expected) => {
    expect(await deploymentOf({ broker, settings })).toBe(expected);
  });

  it('is where the results are if the broker cannot be read', async () => {
    const settings = { broker_url: 'sqs://', result_backend: 'redis://results.invalid/1' };
    expect(await deploymentOf({ settings })).toBe('results.invalid:6379 1');
  });

  it('is what a client of the host is made with', async () => {
    const broker = createClient({ url: 'redis://:hunter2@redis.invalid:6380', database: 4 });
    expect(await deploymentOf({ broker })).toBe('redis.invalid:6380 4');
  });
});
