import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { deploymentEndpoints } from '../../src/sources/celery/brokers/redis/endpoints.ts';
import type { CelerySettings } from '../../src/sources/celery/settings.ts';
import { checkBroker, componentOf, context, received, stateOf } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import { redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

describe('what of a deployment is read', () => {
  const redis = 'redis://:SECRET@h/1';
  const amqp = 'amqp://user:SECRET@h//';

  function read(broker: unknown, backend: unknown, settings: CelerySettings = {}): unknown[] {
    const found = deploymentEndpoints(broker, backend, settings);
    return [found.broker?.url ?? null, found.foreignBroker, found.backend?.url ?? null, found.foreignBackend];
  }

  const url = 'redis://h:6379/1';

  it.each<[string, unknown, unknown, CelerySettings, unknown[]]>([
    ['both', redis, redis, {}, [url, null, url, null]],
    ['the broker alone', redis, undefined, {}, [url, null, null, null]],
    [
      'what the settings name',
      undefined,
      undefined,
      { broker_url: redis, result_backend: redis },
      [url, null, url, null],
    ],
    [
      'the broker, not a backend elsewhere',
      redis,
      undefined,
      { result_backend: 'rpc://' },
      [url, null, null, 'rpc'],
    ],
    [
      'the broker, not a backend that is not wanted',
      redis,
      null,
      { result_backend: 'rpc://' },
      [url, null, null, null],
    ],
    [
      'the backend, not a broker elsewhere',
      undefined,
      redis,
      { broker_url: amqp },
      [null, 'amqp', url, null],
    ],
    [
      'the backend of the settings beside a broker elsewhere',
      undefined,
      undefined,
      { broker_url: ['pyamqp://:SECRET@a', amqp], result_backend: redis },
      [null, 'pyamqp', url, null],
    ],
    [
      'the backend, not a broker that the option says is elsewhere',
      'sqs://:SECRET@',
      redis,
      {},
      [null, 'sqs', url, null],
    ],
    [
      'the backend, not a broker of another make',
      undefined,
      redis,
      { broker_url: 'own+x://h' },
      [null, 'own+x', url, null],
    ],
    [
      'the broker of the option, whatever the settings say',
      redis,
      undefined,
      { broker_url: amqp },
      [url, null, null, null],
    ],
  ])('is %s', (_, broker, backend, settings, found) => {
    expect(read(broker, backend, settings)).toEqual(found);
  });

  it.each<[string, unknown, unknown, CelerySettings, RegExp]>([
    ['no broker', undefined, redis, {}, /'broker' is missing/],
    [
      'a broker elsewhere alone',
      amqp,
      undefined,
      {},
      /^celerySources: 'broker' begins with amqp:.*backend: 'redis:/,
    ],
    [
      'one of the settings',
      undefined,
      undefined,
      { broker_url: amqp },
      /'settings.broker_url' begins with amqp:/,
    ],
    [
      'both elsewhere',
      undefined,
      undefined,
      { broker_url: amqp, result_backend: 'rpc://' },
      /begins with amqp:/,
    ],
    [
      'a backend that is not wanted',
      undefined,
      null,
      { broker_url: amqp, result_backend: redis },
      /begins with amqp:/,
    ],
    ['a slip of the pen', 'reddis://:SECRET@h', redis, {}, /begins with reddis:.*Write a URL such as redis:/],
    ['no URL', 'SECRET', redis, {}, /'broker' is not a URL/],
    ['a backend that the option says is elsewhere', redis, 'rpc://', {}, /'backend' begins with rpc:/],
  ])('and of %s it is told what to write', (_, broker, backend, settings, message) => {
    expect(() => deploymentEndpoints(broker, backend, settings)).toThrow(TypeError);
    expect(() => deploymentEndpoints(broker, backend, settings)).toThrow(message);
    expect(() => deploymentEndpoints(broker, backend, settings)).not.toThrow(/SECRET/);
  });
});

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'a Redis'), () => {
  it('is read over its socket file, of which the URL names the database', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'monitor socket-'));
    const path = join(folder, 'redis.sock');
    const redis = await startRedis(
      '--unixsocket',
      path,
      '--unixsocketperm',
      '700',
      '--requirepass',
      'p@ss/w%rd',
    );
    const shown = `redis+socket://${path}`;
    const file = `${encodeURIComponent('p@ss/w%rd')}@${path.replaceAll(' ', '%20')}`;
    const sources = celerySources({
      broker: `redis+socket://:${file}?virtual_host=7`,
      backend: `socket://:${file}?virtual_host=8`,
    });
    await until(() => sources.tasks.status?.().ok === true);
    const client = createClient({ socket: { path, tls: false }, password: 'p@ss/w%rd' });
    await client.connect();
    await client.publish('/7.celeryev/task.multi', received('a'));
    await until(async () => (await stateOf(sources, 'a')) === 'RECEIVED');
    expect(await checkBroker(sources)).toEqual({ ok: true, error: null });
    expect(await sources.health.checkBackend?.(context)).toEqual({ ok: true, error: null });
    const databases = (await client.clientList()).map(({ db }) => db);
    expect(new Set(databases)).toEqual(new Set([0, 7, 8]));
    expect(await componentOf(sources, 'broker')).toMatchObject({ status: 'up', url: decodeURI(shown) });
    client.destroy();
    await redis.kill();
    rmSync(path, { force: true });
    await until(async () => (await componentOf(sources, 'broker')).status === 'down');
    await until(
      async () => (await checkBroker(sources)).error === 'The socket file of Redis does not exist.',
    );
    await redis.start();
    await until(() => sources.tasks.status?.().ok === true);
    await sources.close();
    await redis.close();
    rmSync(folder, { recursive: true });
  });

  it('beside another is read with the user, password and database of each', async () => {
    const users = (name: string): string[] =>
      `--user ${name} on >pw:${name}@/ ~* &* +@all --user default off`.split(' ');
    const [first, second] = await Promise.all([startRedis(...users('ann')), startRedis(...users('bob'))]);
    const of = (name: string, port: number, database: number): string =>
      `redis://${name}:${encodeURIComponent(`pw:${name}@/`)}@127.0.0.1:${port}/${database}`;
    const settings = { broker_url: of('ann', first.port, 3), result_backend: of('bob', second.port, 9) };
    const sources = celerySources({ settings });
    await until(() => sources.tasks.status?.().ok === true);
    for (const [name, { port }, database, channel, message] of [
      ['ann', first, 3, '/3.celeryev/task.multi', received('b')],
      ['bob', second, 9, 'celery-task-meta-b', '{"status": "SUCCESS", "result": 1, "task_id": "b"}'],
    ] as const) {
      const client = createClient({ url: of(name, port, 0) });
      await client.connect();
      expect(await client.publish(channel, message)).toBe(1);
      const ours = (await client.clientList()).filter(({ psub }) => psub > 0);
      expect(ours.map(({ db, user }) => [db, user])).toEqual([[database, name]]);
      client.destroy();
    }
    await until(async () => (await stateOf(sources, 'b')) === 'SUCCESS');
    expect(await checkBroker(sources)).toEqual({ ok: true, error: null });
    expect(await sources.health.checkBackend?.(context)).toEqual({ ok: true, error: null });
    expect((await componentOf(sources, 'broker')).url).toBe(first.url(3));
    expect((await componentOf(sources, 'backend')).url).toBe(second.url(9));
    await sources.close();
    await Promise.all([first.close(), second.close()]);
  });
});
