import { createClient } from 'redis';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import {
  checkBroker,
  componentOf,
  context,
  feedOf,
  heartbeat,
  received,
  stateOf,
} from '../helpers/celery-events.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

const open: CelerySources[] = [];

/** Sources that are closed after the test. */
function start(...args: Parameters<typeof celerySources>): CelerySources {
  const sources = celerySources(...args);
  open.push(sources);
  return sources;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((sources) => sources.close()));
});

const isUp = (sources: CelerySources) => () => sources.tasks.status?.().ok === true;
const isDown = (sources: CelerySources) => () => sources.tasks.status?.().ok === false;

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'a Redis'), () => {
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await startRedis();
  });

  afterAll(async () => {
    await redis?.close();
  });

  async function publish(channel: string, message: string, database = 0): Promise<number> {
    const client = createClient({ url: redis.url(database), socket: { reconnectStrategy: false } });
    client.on('error', () => {});
    await client.connect();
    const count = await client.publish(channel, message);
    await client.close();
    return count;
  }

  it('on which broker and backend are databases is told of as both', async () => {
    const sources = start({ broker: redis.url(1), backend: redis.url(2) });
    await until(isUp(sources));
    expect(await publish('/1.celeryev/task.multi', received('a'))).toBe(1);
    expect(await publish('celery-task-meta-a', '{"status": "SUCCESS", "result": 1, "task_id": "a"}')).toBe(1);
    await until(async () => (await stateOf(sources, 'a')) === 'SUCCESS');
    expect(await componentOf(sources, 'backend')).toMatchObject({
      status: 'up',
      url: redis.url(2),
      config: { transport: 'redis', database: 2, error: null },
    });
    expect((await componentOf(sources, 'collector')).config).toMatchObject({
      channels: ['/1.celeryev/*', 'celery-task-meta-*', 'celery-taskset-meta-*'],
      messages: 2,
      dropped: 0,
      reconnects: 0,
      error: null,
    });
    expect(await checkBroker(sources)).toEqual({ ok: true, error: null });
    expect(await sources.health.checkBackend?.(context)).toEqual({ ok: true, error: null });
  });

  it('with a backend elsewhere is read as long as either is there, and says when one is not', async () => {
    const second = await startRedis();
    const sources = start({ broker: redis.url(), backend: second.url() });
    await until(isUp(sources));
    await publish('/0.celeryev/task.multi', received('b'));
    await until(async () => (await stateOf(sources, 'b')) === 'RECEIVED');
    await second.kill();
    await until(isDown(sources));
    expect(sources.workers.status?.().ok).toBe(true);
    await publish('/0.celeryev/task.multi', received('c'));
    await until(async () => (await stateOf(sources, 'c')) === 'RECEIVED');
    expect(sources.tasks.status?.().asOf).toBeInstanceOf(Date);
    expect((await sources.health.checkBackend?.({ signal: AbortSignal.timeout(5000) }))?.ok).toBe(false);
    expect((await componentOf(sources, 'backend')).status).toBe('down');
    expect((await componentOf(sources, 'broker')).status).toBe('up');
    await second.close();
  });

  it('counts what it cannot read, and goes on', async () => {
    const sources = start({ broker: redis.url(), backend: redis.url() });
    await until(isUp(sources));
    for (const message of ['', 'nope', '{}', '[]', '{"body": 3}']) await publish('/0.celeryev/x', message);
    for (const message of ['', '\u0080pickle', '3']) await publish('celery-task-meta-x', message);
    await publish('/0.celeryev/task.multi', received('d'));
    await until(async () => (await stateOf(sources, 'd')) === 'RECEIVED');
    // Results come over a connection of their own, and perhaps 100 ms later.
    const config = async () => (await componentOf(sources, 'collector')).config;
    await until(async () => (await config())?.messages === 9);
    expect(await config()).toMatchObject({ messages: 9, dropped: 8 });
    expect((await sources.history.getHistoryStats(context)).dropped).toBe(8);
  });

  it('with no result backend answers that there is none', async () => {
    const sources = start({ broker: redis.url(), settings: { result_backend: 'db+sqlite:///SECRET' } });
    expect(sources.health.checkBackend).toBeUndefined();
    expect(await componentOf(sources, 'backend')).toMatchObject({
      status: 'unknown',
      config: { transport: 'db+sqlite', hints: [expect.stringMatching(/events only/)] },
    });
    const without = start({ broker: redis.url() });
    expect((await componentOf(without, 'backend')).status).toBe('disabled');
  });

  it('judges workers by their heartbeats', async () => {
    const sources = start({ broker: redis.url() });
    const check = () => sources.health.checkWorkers?.({ ...context, ping: false });
    await until(isUp(sources));
    expect(await check()).toMatchObject({
      ok: false,
      responding: [],
      error: expect.stringMatching(/No worker/),
    });
    await publish('/0.celeryev/worker.heartbeat', heartbeat());
    await until(async () => (await check())?.ok === true);
    expect(await check()).toEqual({ ok: true, error: null, responding: ['w1@alpha'], missing: [] });
  });

  it('that freezes is noticed though its connections stay open, and followed again when it thaws', async () => {
    const sources = start({ broker: redis.url() });
    await until(isUp(sources));
    await publish('/0.celeryev/task.multi', received('e'));
    await until(async () => (await stateOf(sources, 'e')) === 'RECEIVED');
    const { cursor } = await sources.events.listEvents(
      { limit: 1, since: null, states: [], workers: [], tasks: [] },
      context,
    );
    redis.freeze();
    onTestFinished(() => redis.thaw());
    await until(isDown(sources), 40_000);
    const { asOf } = sources.tasks.status?.() ?? {};
    expect(Date.now() - (asOf?.getTime() ?? 0)).toBeGreaterThan(1000);
    // A check that was under way when the source gave up its connection says that it was closed.
    await expect
      .poll(() => checkBroker(sources, 200))
      .toEqual({ ok: false, error: 'Redis does not answer.' });
    expect(await stateOf(sources, 'e')).toBe('RECEIVED');
    redis.thaw();
    await until(isUp(sources), 30_000);
    expect((await feedOf(sources, cursor)).gap).toBe(true);
    expect((await componentOf(sources, 'collector')).config.reconnects).toBe(1);
  });

  it('is left without a trace by close()', async () => {
    const resources = (): number =>
      process.getActiveResourcesInfo().filter((name) => /^(?:TCP|Timeout|Pipe)/.test(name)).length;
    const before = resources();
    const client = createClient({ url: redis.url() });
    await client.connect();
    const clients = async (): Promise<number> => (await client.clientList()).length;
    const sources = celerySources({ broker: redis.url(), backend: redis.url(3) });
    await until(isUp(sources));
    await checkBroker(sources);
    await sources.health.checkBackend?.(context);
    const start = performance.now();
    await Promise.all([sources.close(), sources.close()]);
    expect(performance.now() - start).toBeLessThan(15_000);
    await until(async () => (await clients()) === 1);
    await client.close();
    await until(() => resources() <= before);
    expect(sources.tasks.status?.().ok).toBe(false);
    expect(await stateOf(sources, 'a')).toBeNull();
    expect(await checkBroker(sources)).toMatchObject({ ok: false });
  });
});
