import { expect, onTestFinished } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import type { EventsBody, HealthBody, TasksBody } from '../../src/wire.ts';
import { askStream } from '../helpers/ask-stream.ts';
import { received } from '../helpers/celery-events.ts';
import { startSentinel } from '../helpers/redis-sentinel.ts';
import { redisMissing, until } from '../helpers/redis-server.ts';
import { countArrivals, countFailedConnects } from './kit/condition.ts';
import { faultCase } from './kit/fault-case.ts';
import {
  admin,
  componentTexts,
  expectAway,
  REDIS_SOURCES,
  redisFor,
  untilCurrent,
} from './kit/redis-sources.ts';
import { startTcpProxy } from './kit/tcp-proxy.ts';

const redisCase: typeof faultCase = (row, title, run, options) =>
  faultCase(row, title, run, { missing: redisMissing, timeout: 120_000, ...options });

/** Lists that were not asked for before, so that nothing is held of them. */
const FRESH = Array.from({ length: 10 }, (_, index) => `/api/tasks/?limit=${500 + index}`);

for (const source of REDIS_SOURCES) {
  redisCase(19, `Redis is killed in the middle of reads of ${source.name}`, async (bench) => {
    const redis = await redisFor('--enable-debug-command', 'yes');
    await source.fill(redis);
    const arrivals = countArrivals();
    const host = await bench.serve({ sources: source.connect(redis.url()) }, arrivals);
    await untilCurrent(host);
    const before = arrivals.count();
    const busy = (await admin(redis)).sendCommand(['DEBUG', 'SLEEP', '2']).catch(() => {});
    const waiting = FRESH.map((path) => host.get<TasksBody>(path));
    // By then the reads have been written and wait for Redis, which sleeps.
    await until(() => arrivals.count() === before + FRESH.length);
    await new Promise(setImmediate);
    await redis.kill();
    const killed = performance.now();
    for (const { status, body } of await Promise.all(waiting)) {
      expect([200, 503]).toContain(status);
      if (status === 200) expect(body.sources).toHaveLength(1);
    }
    const tookMs = performance.now() - killed;
    bench.figure('until all were answered, ms', Math.round(tookMs));
    // The aim is 50 ms; without an answer to the reads it would be the time limit of all of them.
    expect(tookMs).toBeLessThan(4_000);
    await busy;
    await expectAway(bench, host, '/api/tasks/', 50);
    await expectAway(bench, host, '/api/tasks/?limit=1', 50);
    await bench.expectAnswer(host, '/healthcheck', { status: 503, aimMs: 50 });
  });

  redisCase(20, `Redis is started again under ${source.name}`, async (bench) => {
    const redis = await redisFor();
    await source.fill(redis);
    const host = await bench.serve({ sources: source.connect(redis.url()), health: { reuseMs: 0 } });
    await untilCurrent(host);
    const failedConnects = countFailedConnects(redis.port);
    await redis.kill();
    await expectAway(bench, host, '/api/tasks/', 50);
    // By then, attempts to connect are as far apart as they get.
    await until(async () => {
      await host.get('/api/tasks/');
      return failedConnects() >= 8;
    });
    await redis.start();
    const started = performance.now();
    await until(async () => {
      const { body } = await host.get<HealthBody>('/healthcheck?checks=broker,backend');
      return body.ok;
    });
    const ms = performance.now() - started;
    bench.figure('well again after, ms', Math.round(ms));
    expect(ms).toBeLessThan(10 * 2_000);
    await source.fill(redis);
    await untilCurrent(host, 20_000);
  });
}

redisCase(25, 'a replica is promoted, and both sources follow Sentinel to it', async (bench) => {
  const master = await redisFor();
  const replica = await redisFor('--replicaof', '127.0.0.1', String(master.port));
  const sentinel = await startSentinel(master.port);
  onTestFinished(() => sentinel.close());
  for (const source of REDIS_SOURCES) await source.fill(master);
  const writer = await admin(replica);
  await until(async () => (await writer.exists('bull:mail:meta')) === 1);
  // Sentinel learns of the replica from its master, every ten seconds.
  await until(sentinel.hasReplica, 40_000);
  const sentinels = [{ host: '127.0.0.1', port: sentinel.port }];
  const broker = `sentinel://127.0.0.1:${sentinel.port}/0`;
  const transport = { master_name: 'shop' };
  const settings = { broker_transport_options: transport, result_backend_transport_options: transport };
  const { bullmqSources } = await import('../../src/bullmq.ts');
  const hosts = [
    await bench.serve({ sources: celerySources({ broker, backend: broker, settings }) }),
    await bench.serve({ sources: bullmqSources({ connection: { sentinels, name: 'shop' } }) }),
  ];
  for (const host of hosts) await untilCurrent(host);
  await master.kill();
  await sentinel.actSoon();
  for (const host of hosts) await expectAway(bench, host, '/api/tasks/', 50);
  // Sentinel ends the connections of those that it tells of their new role.
  const role = async (): Promise<string> => String(await writer.sendCommand(['ROLE']).catch(() => ''));
  await until(async () => (await role()).startsWith('master'), 60_000);
  const start = performance.now();
  for (const host of hosts) await untilCurrent(host, 20_000);
  bench.figure('both followed after, ms', Math.round(performance.now() - start));
});

redisCase(30, 'what was published while nobody listened is told as a gap', async (bench) => {
  const redis = await redisFor();
  const proxy = await startTcpProxy(redis.port);
  const sources = celerySources({ broker: `redis://127.0.0.1:${proxy.port}/0` });
  const host = await bench.serve({ sources });
  const client = await admin(redis);
  const publish = (id: string): Promise<number> => client.publish('/0.celeryev/task.multi', received(id));
  await until(async () => (await publish('before')) > 0);
  const feed = (since: string) => host.get<EventsBody>(`/api/events/latest/${since}`);
  await until(async () => (await feed('')).body.events?.length > 0);
  const first = await feed('');
  // It has not listened for long.
  expect(first.body.gap).toBe(true);
  const stream = await askStream<EventsBody>(
    host.base,
    `/api/events/latest/?since=${encodeURIComponent(first.body.cursor)}`,
  );
  proxy.set({ refuse: true });
  proxy.reset();
  await until(async () => (await feed('')).body.sources[0]?.ok === false);
  expect(await publish('missed')).toBe(0);
  proxy.set({});
  await until(async () => (await publish('after')) > 0);
  const since = `?since=${encodeURIComponent(first.body.cursor)}`;
  await until(async () => (await feed(since)).body.events.some(({ task_id }) => task_id === 'after'));
  const later = await feed(since);
  expect(later.body.gap).toBe(true);
  expect(later.body.events.map(({ task_id }) => task_id)).not.toContain('missed');
  // The stream was ended when the source failed, or it has told the gap itself: never as if nothing was.
  await until(() => stream.isOver() || stream.messages.some(({ body }) => body.gap));
  stream.close();
  await until(() => stream.isOver());
  expect(await componentTexts(host)).toContain('"reconnects":1');
});
