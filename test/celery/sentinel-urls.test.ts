import { createClient, createSentinel } from 'redis';
import { afterEach, describe, expect, it } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import { createRedisReader } from '../../src/redis/connection-reader.ts';
import type { RedisEndpoint } from '../../src/redis/endpoint.ts';
import { backendEndpoint, brokerEndpoint } from '../../src/sources/celery/brokers/redis/endpoints.ts';
import type { CeleryTransportOptions } from '../../src/sources/celery/settings.ts';
import { checkBroker, componentOf, context, feedOf, received, stateOf } from '../helpers/celery-events.ts';
import { startSentinel } from '../helpers/redis-sentinel.ts';
import { freePort, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { scriptedRedis } from '../helpers/scripted-redis.ts';

const closing: (() => Promise<void>)[] = [];

/** Closes it after the test, in reverse order. */
function kept<T extends { close(): unknown }>(resource: T): T {
  closing.push(async () => {
    await resource.close();
  });
  return resource;
}

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const shop = { master_name: 'shop' };

function endpoint(url: string, options: object = shop): RedisEndpoint {
  return brokerEndpoint(url, { broker_transport_options: { ...options } });
}

/** What a reader says is wrong with the broker. A busy machine makes a Sentinel `late`: absent after a second. */
async function problemWith(broker: RedisEndpoint, late = ['TimeoutError', 'NOSENTINEL']): Promise<unknown> {
  const reader = kept(createRedisReader('test', broker));
  let problem = await reader.check(AbortSignal.timeout(10_000));
  while (problem !== null && late.includes(problem.code))
    problem = await reader.check(AbortSignal.timeout(10_000));
  return problem;
}

describe('a Sentinel URL', () => {
  const of = (url: string, options: object = shop): RedisEndpoint => endpoint(url, options);

  it.each([
    ['sentinel://h', 'sentinel://h:26379/0', 0],
    ['sentinel://h:1/3', 'sentinel://h:1/3', 3],
    ['sentinel://u:SECRET@h:1/3;sentinel://[::1]:2/3', 'sentinel://h:1/3;sentinel://[::1]:2/3', 3],
    ['sentinel://h:1; sentinel://:SECRET@k:2/4', 'sentinel://h:1/4;sentinel://k:2/4', 4],
    ['SENTINEL://h/', 'sentinel://h:26379/0', 0],
  ])('%s is shown as %s', (url, shown, database) => {
    expect(of(url)).toMatchObject({ url: shown, database });
  });

  it('of which the settings name several is read as all of them', () => {
    const settings = {
      broker_url: ['sentinel://h:1/5', 'sentinel://k:2/5'],
      broker_transport_options: shop,
      result_backend: 'sentinel://h:1/6;sentinel://k:2/6',
      result_backend_transport_options: shop,
    };
    const broker = brokerEndpoint(undefined, settings);
    const { backend } = backendEndpoint(undefined, settings);
    expect([broker.url, broker.database, backend?.database]).toEqual([
      'sentinel://h:1/5;sentinel://k:2/5',
      5,
      6,
    ]);
    expect(backend?.server).toBe(broker.server);
    const other = { ...settings, result_backend_transport_options: { master_name: 'other' } };
    expect(backendEndpoint(undefined, other).backend?.server).not.toBe(broker.server);
  });

  it.each<[string, unknown, RegExp]>([
    ['sentinel://:SECRET@h', {}, /broker_transport_options: \{ master_name: 'mymaster' \}/],
    ['sentinel://:SECRET@h', { master_name: '' }, /master_name/],
    ['sentinel://:SECRET@h', { ...shop, sentinel_kwargs: 'SECRET' }, /sentinel_kwargs' must be an object/],
    ['sentinel://:SECRET@h', { ...shop, sentinel_kwargs: { password: 3 } }, /password' must be a string/],
    [
      'sentinel://:SECRET@h',
      { ...shop, sentinel_kwargs: { ssl: true, ssl_cert_reqs: 'SECRET' } },
      /ssl_cert_reqs/,
    ],
    ['sentinel://:SECRET@h;redis://k', shop, /Sentinel URLs only/],
    ['sentinel://:SECRET@h/x', shop, /database number, as in sentinel:/],
    ['sentinel://:SE/CRET@h:99999999/0', shop, /percent-encoded|number/],
  ])('%s with %j is refused with what to write', (url, options, message) => {
    const create = (): unknown =>
      celerySources({
        broker: url,
        settings: { broker_transport_options: options as CeleryTransportOptions },
      });
    expect(create).toThrow(TypeError);
    expect(create).toThrow(message);
    expect(create).not.toThrow(/SECRET/);
  });

  it('of a result backend asks for the name in the settings of the backend', () => {
    const settings = { result_backend: 'sentinel://:SECRET@h', broker_transport_options: shop };
    expect(() => backendEndpoint(undefined, settings)).toThrow(
      /result_backend_transport_options: \{ master_name/,
    );
  });
});

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'Redis behind Sentinels'), () => {
  const login = ['--requirepass', 'SECRET-master', '--masterauth', 'SECRET-master'];

  async function publish(port: number, channel: string, message: string): Promise<void> {
    const client = createClient({ url: `redis://:SECRET-master@127.0.0.1:${port}` });
    await client.connect();
    await client.publish(channel, message);
    client.destroy();
  }

  it('is read from a URL and followed to another master, be the first one demoted or dead', async () => {
    const first = kept(await startRedis(...login, '--repl-diskless-sync-delay', '0'));
    const replicaOf = ['--replicaof', '127.0.0.1', String(first.port), '--repl-diskless-sync-delay', '0'];
    const second = kept(await startRedis(...login, ...replicaOf));
    const lines = ['sentinel auth-pass shop SECRET-master'];
    const sentinel = kept(await startSentinel(first.port, lines, 'SECRET-sentinel'));
    await sentinel.lookOften();
    await until(sentinel.hasReplica);
    const options = { ...shop, sentinel_kwargs: { password: 'SECRET-sentinel' } };
    const dead = await freePort();
    const url = (database: number): string =>
      `sentinel://:SECRET-master@127.0.0.1:${dead}/${database};sentinel://127.0.0.1:${sentinel.port}/${database}`;
    const sources: CelerySources = kept(
      celerySources({
        settings: {
          broker_url: url(4),
          broker_transport_options: options,
          result_backend: url(5),
          result_backend_transport_options: options,
        },
      }),
    );
    const isUp = (): boolean => sources.tasks.status?.().ok === true;
    await until(isUp);
    await publish(first.port, '/4.celeryev/task.multi', received('new'));
    await publish(first.port, '/{db}.celeryev/task.multi', received('old'));
    await until(async () => (await stateOf(sources, 'new')) === 'RECEIVED');
    await until(async () => (await stateOf(sources, 'old')) === 'RECEIVED');
    expect(await checkBroker(sources)).toEqual({ ok: true, error: null });
    expect(await sources.health.checkBackend?.(context)).toEqual({ ok: true, error: null });
    expect((await componentOf(sources, 'broker')).url).toBe(url(4).replace(':SECRET-master@', ''));
    const { cursor } = await sources.events.listEvents(
      { limit: 1, since: null, states: [], workers: [], tasks: [] },
      context,
    );

    await until(sentinel.failOver);
    await until(async () => (await sentinel.master()) === second.port);
    await until(async () => {
      if (isUp()) await publish(second.port, '/4.celeryev/task.multi', received('demoted'));
      return (await stateOf(sources, 'demoted')) === 'RECEIVED';
    });
    expect((await feedOf(sources, cursor)).gap).toBe(true);

    // The old one must follow before it can be chosen again.
    await until(sentinel.hasReplica);
    await second.kill();
    await sentinel.actSoon();
    await until(() => !isUp());
    await until(async () => (await sentinel.master()) === first.port, 60_000);
    await until(async () => {
      if (isUp()) await publish(first.port, '/4.celeryev/task.multi', received('dead'));
      return (await stateOf(sources, 'dead')) === 'RECEIVED';
    });
    // Each of its connections finds the new master by itself.
    await until(async () => (await checkBroker(sources)).ok === true);
    expect(await checkBroker(sources)).toEqual({ ok: true, error: null });
  }, 240_000);

  it('is found though one Sentinel is dead and one says nothing', async () => {
    const redis = kept(await startRedis());
    const sentinel = kept(await startSentinel(redis.port));
    const silent = kept(await scriptedRedis(() => null));
    const silentPort = new URL(silent.url).port;
    const dead = await freePort();
    const ports = [dead, silentPort, sentinel.port];
    const broker = endpoint(ports.map((port) => `sentinel://127.0.0.1:${port}/2`).join(';'));
    const reader = kept(createRedisReader('test', broker));
    expect(await reader.command(['CLIENT', 'INFO'])).toMatch(/ db=2 .* resp=2/);
  });

  it('says what is wrong with the Sentinels', async () => {
    const redis = kept(await startRedis());
    const sentinel = kept(await startSentinel(redis.port, [], 'SECRET'));
    const url = `sentinel://127.0.0.1:${sentinel.port}/0`;
    const login = { code: 'SENTINELLOGIN', sentence: expect.stringMatching(/sentinel_kwargs/) };
    expect(await problemWith(endpoint(url))).toEqual(login);
    const wrong = { ...shop, sentinel_kwargs: { username: 'a', password: 'SECRET2' } };
    expect(await problemWith(endpoint(url, wrong))).toEqual(login);
    const kwargs = { sentinel_kwargs: { password: 'SECRET' } };
    const unknown = endpoint(url, { master_name: 'other', ...kwargs });
    expect(await problemWith(unknown)).toMatchObject({ code: 'NOMASTER' });
    const none = endpoint(`sentinel://127.0.0.1:${await freePort()}/0`);
    expect(await problemWith(none, ['TimeoutError'])).toMatchObject({ code: 'NOSENTINEL' });
    expect(await problemWith(endpoint(url, { ...shop, ...kwargs }))).toBeNull();
    expect(
      await problemWith(endpoint(`sentinel://:SECRET@127.0.0.1:${sentinel.port}`, { ...shop, ...kwargs })),
    ).toEqual({ code: 'NOPASSWORD', sentence: 'This Redis has no password set, but one was given.' });
  });

  it('is not taken for the master while it is a replica, unless its user may not ask', async () => {
    const redis = kept(await startRedis('--replicaof', '127.0.0.1', '1'));
    const named = `*2\r\n$9\r\n127.0.0.1\r\n$${String(redis.port).length}\r\n${redis.port}\r\n`;
    const sentinel = kept(await scriptedRedis((command) => (command === 'SENTINEL' ? named : '+PONG\r\n')));
    const broker = endpoint(`sentinel://127.0.0.1:${new URL(sentinel.url).port}/0`);
    expect(await problemWith(broker)).toMatchObject({ code: 'NOTMASTER' });
    const client = createClient({ url: redis.url() });
    await client.connect();
    await client.sendCommand(['ACL', 'SETUSER', 'default', '-role']);
    client.destroy();
    expect(await problemWith(broker)).toBeNull();
  });

  it.each([2, 3] as const)("is asked over a host's own client that speaks RESP %i", async (RESP) => {
    const redis = kept(await startRedis());
    const sentinel = kept(await startSentinel(redis.port));
    const client = createSentinel({
      name: 'shop',
      sentinelRootNodes: [{ host: '127.0.0.1', port: sentinel.port }],
      RESP,
      nodeClientOptions: { database: 3 },
    });
    client.on('error', () => {});
    const reader = kept(createRedisReader('test', brokerEndpoint(client, {})));
    const list = [
      ['ZADD', 'scores', '1.5', 'one'],
      ['HSET', 'hash', 'a', '1'],
      ['ZRANGE', 'scores', '0', '-1', 'WITHSCORES'],
      ['HGETALL', 'hash'],
      ['GET', 'absent'],
    ];
    expect(await reader.commands(list)).toEqual([1, 1, ['one', '1.5'], ['a', '1'], null]);
    const many = Array.from({ length: 50 }, (_, index) => reader.command(['ECHO', String(index)]));
    expect(await Promise.all(many)).toEqual(Array.from({ length: 50 }, (_, index) => String(index)));
    await expect(reader.command(['HGETALL', 'scores'])).rejects.toThrow(/unexpected type/);
    expect(await reader.command(['CLIENT', 'INFO'])).toMatch(/ db=3 /);
  });
});
