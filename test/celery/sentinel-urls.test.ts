import { createClient, createSentinel } from 'redis';
import { afterEach, describe, expect, it } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import { checkBroker, componentOf, context, feedOf, received, stateOf } from '../helpers/celery-events.ts';
import { startSentinel } from '../helpers/redis-sentinel.ts';
import { freePort, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { scriptedRedis } from '../helpers/scripted-redis.ts';
import { messageOf, queryOf } from './queues-lab.ts';

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

/** What is wrong with a broker; `null`: nothing. A busy machine makes a Sentinel `late`: absent after a second. */
async function problemWith(
  broker: string,
  options: object = shop,
  late: readonly RegExp[] = [/does not answer/, /No Sentinel answers/],
): Promise<string | null> {
  const settings = { broker_transport_options: { ...options } };
  const sources = kept(celerySources({ broker, settings, control: false }));
  let error: string | null | undefined = '';
  do error = (await checkBroker(sources, 10_000)).error;
  while (late.some((sentence) => sentence.test(error ?? '')));
  await sources.close();
  return error ?? null;
}

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
    // A busy machine makes a Sentinel late.
    await until(async () => (await checkBroker(sources)).ok === true);
    await until(async () => (await sources.health.checkBackend?.(context))?.ok === true);
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
  }, 240_000);

  it('is found though one Sentinel is dead and one says nothing', async () => {
    const redis = kept(await startRedis());
    const sentinel = kept(await startSentinel(redis.port));
    const silent = kept(await scriptedRedis(() => null));
    const silentPort = new URL(silent.url).port;
    const dead = await freePort();
    const ports = [dead, silentPort, sentinel.port];
    const url = ports.map((port) => `sentinel://127.0.0.1:${port}/2`).join(';');
    expect(await problemWith(url)).toBeNull();
  });

  it('says what is wrong with the Sentinels', async () => {
    const redis = kept(await startRedis());
    const sentinel = kept(await startSentinel(redis.port, [], 'SECRET'));
    const url = `sentinel://127.0.0.1:${sentinel.port}/0`;
    const login = /sentinel_kwargs/;
    expect(await problemWith(url)).toMatch(login);
    const wrong = { ...shop, sentinel_kwargs: { username: 'a', password: 'SECRET2' } };
    expect(await problemWith(url, wrong)).toMatch(login);
    const kwargs = { sentinel_kwargs: { password: 'SECRET' } };
    expect(await problemWith(url, { master_name: 'other', ...kwargs })).toMatch(/know no master/);
    const none = `sentinel://127.0.0.1:${await freePort()}/0`;
    expect(await problemWith(none, shop, [/does not answer/])).toBe('No Sentinel answers.');
    expect(await problemWith(url, { ...shop, ...kwargs })).toBeNull();
    expect(await problemWith(`sentinel://:SECRET@127.0.0.1:${sentinel.port}`, { ...shop, ...kwargs })).toBe(
      'This Redis has no password set, but one was given.',
    );
  });

  it('is not taken for the master while it is a replica, unless its user may not ask', async () => {
    const redis = kept(await startRedis('--replicaof', '127.0.0.1', '1'));
    const named = `*2\r\n$9\r\n127.0.0.1\r\n$${String(redis.port).length}\r\n${redis.port}\r\n`;
    const sentinel = kept(await scriptedRedis((command) => (command === 'SENTINEL' ? named : '+PONG\r\n')));
    const broker = `sentinel://127.0.0.1:${new URL(sentinel.url).port}/0`;
    expect(await problemWith(broker)).toMatch(/name a Redis that is not a master/);
    const client = createClient({ url: redis.url() });
    await client.connect();
    await client.sendCommand(['ACL', 'SETUSER', 'default', '-role']);
    client.destroy();
    // It is taken for the master then, and found to be none by what it says of itself.
    expect(await problemWith(broker)).toBe('This Redis is a replica and accepts no writes.');
  });

  it.each([2, 3] as const)(
    "is asked over a host's own client that speaks RESP %i",
    { timeout: 240_000 },
    async (RESP) => {
      const redis = kept(await startRedis());
      const sentinel = kept(await startSentinel(redis.port));
      const client = createSentinel({
        name: 'shop',
        sentinelRootNodes: [{ host: '127.0.0.1', port: sentinel.port }],
        RESP,
        nodeClientOptions: { database: 3 },
      });
      client.on('error', () => {});
      const publisher = createClient({ url: redis.url(3) });
      await publisher.connect();
      await publisher.zAdd('unacked_index', { score: 1.5, value: 'tag-taken' });
      await publisher.hSet('unacked', 'tag-taken', `[${messageOf('taken')}, "", "celery"]`);
      await publisher.lPush('celery', messageOf('waiting'));
      publisher.destroy();
      const settings = { broker_transport_options: shop };
      const sources = kept(celerySources({ broker: client, settings, control: false }));
      // A busy machine makes a Sentinel late.
      const isRead = async () => (await sources.queues.listQueues(context))?.[0]?.reserved === 1;
      await until(isRead, 200_000);
      const { tasks } = await sources.tasks.listTasks(queryOf(), context);
      expect(tasks.map(({ id }) => id)).toEqual(['taken', 'waiting']);
      await until(async () => (await checkBroker(sources)).ok === true);
    },
  );
});
