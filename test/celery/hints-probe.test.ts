import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { CelerySourcesOptions } from '../../src/celery.ts';
import { heartbeat } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { optionsOf, type Watch, watch } from './hints-watch.ts';

const META = '{"status": "SUCCESS", "result": 1, "name": "shop.pay", "task_id": "a"}';

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'a source that hears nothing'), () => {
  let redis: RedisServer;
  let client: ReturnType<typeof createClient>;
  const ends: (() => unknown)[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    client = createClient({ url: redis.url() });
    await client.connect();
  });

  afterEach(async () => {
    await Promise.all(ends.splice(0).map((end) => end()));
    await client.flushAll();
  });

  afterAll(async () => {
    client?.destroy();
    await redis?.close();
  });

  function start(options: CelerySourcesOptions): Watch {
    const watched = watch(options, 300);
    ends.push(() => watched.close());
    return watched;
  }

  /** Publishes for as long as the test takes. */
  function publishing(channel: string, message: () => string): void {
    const timer = setInterval(() => void client.publish(channel, message()), 50);
    ends.push(() => clearInterval(timer));
  }

  async function storeIn(database: number, key: string): Promise<void> {
    const other = createClient({ url: redis.url(database) });
    await other.connect();
    await other.set(key, META);
    other.destroy();
  }

  it('says where events are published, and hears them once that is written', async () => {
    publishing('shop:/1.celeryev/worker.heartbeat', heartbeat);
    const watched = start({ broker: redis.url(0), backend: redis.url(0) });
    await until(() => watched.codes().includes('wrong_channel'));
    const line = watched.line('wrong_channel') ?? '';
    expect(line).toBe(
      "broker: 'redis://…/1', settings: { broker_transport_options: { global_keyprefix: 'shop:' } }",
    );
    expect(watched.byComponent()).toEqual({
      broker: [
        'Events are published on shop:/1.celeryev, and none on /0.celeryev, where this source listens. If they ' +
          `belong to this app, write ${line}.`,
      ],
      backend: [],
      collector: [],
    });
    const mended = start({ backend: redis.url(0), ...optionsOf(line, redis) });
    await until(() => mended.observer.facts().events > 0);
    expect(mended.codes()).toEqual([]);
  });

  it('no longer says so when events come after all', async () => {
    publishing('/0.labev/worker.heartbeat', heartbeat);
    const watched = start({ broker: redis.url(), backend: redis.url() });
    await until(() => watched.line('wrong_channel') === "settings: { event_exchange: 'labev' }");
    publishing('/0.celeryev/worker.heartbeat', heartbeat);
    await until(() => watched.codes().length === 0);
  });

  it('finds the prefix and the database by keys when no worker sends anything', async () => {
    await client.sAdd('shop:_kombu.binding.celery', 'x');
    const prefixed = start({ broker: redis.url(), backend: redis.url() });
    await until(() => prefixed.codes().length > 0);
    expect(prefixed.details()).toMatchObject([
      {
        code: 'wrong_channel',
        line: "settings: { broker_transport_options: { global_keyprefix: 'shop:' } }",
        sentence: expect.stringMatching(/^Database 0 has no Celery queues without a prefix, but .* 'shop:'/),
      },
    ]);
    await client.flushAll();
    await storeIn(3, '_kombu.binding.celery');
    const elsewhere = start({ broker: redis.url(), backend: redis.url() });
    await until(() => elsewhere.line('wrong_database') === "broker: 'redis://…/3'");
    await client.publish('/0.celeryev/worker.heartbeat', heartbeat());
    await until(() => elsewhere.codes().length === 0);
  });

  it('finds the prefix of results by what is published, and by keys', async () => {
    publishing('acme_celery-task-meta-a', () => META);
    await client.set('other:celery-task-meta-a', META);
    const watched = start({ broker: redis.url(), backend: redis.url() });
    await until(() => watched.codes().includes('wrong_result_prefix'));
    expect(watched.hints()).toEqual([
      'Results are stored as acme_celery-task-meta-* and other:celery-task-meta-*, and none as ' +
        'celery-task-meta-*. If they belong to this app, write settings: { result_backend_transport_options: ' +
        "{ global_keyprefix: 'acme_' } } or settings: { result_backend_transport_options: " +
        "{ global_keyprefix: 'other:' } }.",
    ]);
    const mended = start({
      broker: redis.url(),
      ...optionsOf(watched.line('wrong_result_prefix') ?? '', redis),
      backend: redis.url(),
    });
    await until(() => mended.observer.facts().results.heard > 0);
    expect(mended.codes()).toEqual([]);
  });

  it('finds the database that results are stored in when it hears them from another', async () => {
    await storeIn(2, 'celery-task-meta-a');
    publishing('celery-task-meta-a', () => META);
    publishing('/0.celeryev/worker.heartbeat', heartbeat);
    const watched = start({ broker: redis.url(), backend: redis.url(1) });
    await until(() => watched.line('wrong_result_database') === "backend: 'redis://…/2'");
    const mended = start({ broker: redis.url(), backend: redis.url(2) });
    await until(() => mended.observer.facts().results.heard > 0);
    expect(mended.codes()).not.toContain('wrong_result_database');
  });

  it('says which right would let it look, when it may not, and writes nothing', async () => {
    await client.sendCommand(
      'ACL SETUSER mon on >pw resetkeys resetchannels -@all +ping +select +psubscribe &/0.celeryev/* &celery-task-meta-*'.split(
        ' ',
      ),
    );
    const url = redis.url(0).replace('//', '//mon:pw@');
    const watched = start({ broker: url, backend: url });
    await until(() => watched.codes().includes('acl_probe'));
    const line = watched.line('acl_probe') ?? '';
    expect(line).toBe('ACL SETUSER <user> &*celeryev* &*worker.heartbeat');
    publishing('/4.celeryev/worker.heartbeat', heartbeat);
    await client.sendCommand(line.replace('<user>', 'mon').split(' '));
    const allowed = start({ broker: url, backend: url });
    await until(() => allowed.line('wrong_channel') === "broker: 'redis://…/4'");
    expect(JSON.stringify([watched.details(), allowed.details()])).not.toMatch(/pw@|127\.0\.0\.1/);
    expect(await client.dbSize()).toBe(0);
  });

  it('looks once for each connection', async () => {
    const opened = async (): Promise<number> =>
      Number(/total_connections_received:(\d+)/.exec(await client.info('stats'))?.[1]);
    const open = async (): Promise<number> =>
      String(await client.sendCommand(['CLIENT', 'LIST']))
        .trim()
        .split('\n').length;
    const before = await opened();
    const watched = start({ broker: redis.url(), backend: redis.url() });
    // The two that are watched, then one that listens and one for commands, for events and for results.
    await until(async () => (await opened()) === before + 6);
    await until(async () => (await open()) === 3);
    // Another look would find this. The need for one is checked many times between two pings.
    await client.sAdd('shop:_kombu.binding.celery', 'x');
    const looked = watched.aliveAt();
    await until(() => watched.aliveAt() > looked);
    expect(await opened()).toBe(before + 6);
    expect(watched.codes()).toEqual([]);
  });

  it('closes at once, whatever it is doing', async () => {
    const watched = watch({ broker: redis.url(), backend: redis.url() });
    const connections = async (): Promise<number> =>
      String(await client.sendCommand(['CLIENT', 'LIST']))
        .trim()
        .split('\n').length;
    await until(async () => (await connections()) > 2);
    const before = performance.now();
    await watched.close();
    expect(performance.now() - before).toBeLessThan(24_000);
    await until(async () => (await connections()) === 1);
  });
});
