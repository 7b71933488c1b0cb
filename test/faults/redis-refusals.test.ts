import { createClient } from 'redis';
import { expect, onTestFinished } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import type { MonitorSources } from '../../src/source.ts';
import { redisMissing, until } from '../helpers/redis-server.ts';
import { scriptedRedis } from '../helpers/scripted-redis.ts';
import { type FaultBench, faultCase } from './kit/fault-case.ts';
import { captureLogs } from './kit/log-capture.ts';
import { admin, componentTexts, REDIS_SOURCES, redisFor, untilCurrent } from './kit/redis-sources.ts';

const PASSWORD = 'canary-of-password';
const options = { missing: redisMissing, timeout: 60_000 };

/** Every route answers as unavailable, and nothing that leaves the process tells the password. */
async function expectRefused(bench: FaultBench, sources: MonitorSources, reason: RegExp): Promise<void> {
  const logs = captureLogs();
  const told: unknown[] = [];
  const onError = (error: unknown): void => void told.push(error);
  const host = await bench.serve({ sources, timeoutMs: 4_000, onError, health: { reuseMs: 0 } });
  const texts: string[] = [];
  for (let round = 0; round < 20; round += 1) {
    for (const path of ['/api/tasks/', `/api/tasks/mail:${round}/`, '/api/tasks/?stats=5']) {
      const { text } = await bench.expectAnswer(host, path, {
        status: [503, 504],
        code: ['source_unavailable', 'source_timeout'],
      });
      texts.push(text);
    }
  }
  await bench.expectAnswer(host, '/healthcheck', { status: 503 });
  await until(async () => reason.test(await componentTexts(host)));
  texts.push(await componentTexts(host), (await host.get('/healthcheck')).text);
  // An outage says the same at every attempt: one line for each connection and each call, not for each try.
  expect(logs.length).toBeLessThan(20);
  expect(told.length).toBeLessThan(10);
  bench.figure('log lines', logs.length);
  const heard = told.map((error) => (error instanceof Error ? `${error.message} ${error.stack}` : ''));
  expect([...texts, ...logs, ...heard].join('\n')).not.toContain(PASSWORD);
}

const REPLIES: readonly (readonly [reply: string, reason: RegExp])[] = [
  ['-LOADING Redis is loading the dataset in memory', /is loading its data/],
  [`-BUSY ${PASSWORD} is running a script`, /is busy running a script/],
  ["-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", /lost its master/],
  ['-CLUSTERDOWN The cluster is down', /Redis cluster is down|cannot be reached/],
  ['-MOVED 3999 127.0.0.1:6381', /node of a Redis cluster|cannot be reached/],
];

// What Celery's source says of such replies is proven by `celery/faults.test.ts`.
const [bullmq] = REDIS_SOURCES.filter(({ name }) => name === 'bullmq');

for (const [reply, reason] of REPLIES) {
  faultCase(24, `Redis answers ${bullmq?.name} with ${reply.split(' ')[0]?.slice(1)}`, async (bench) => {
    const server = await scriptedRedis(() => `${reply}\r\n`);
    onTestFinished(() => server.close());
    const url = server.url.replace('SECRET', PASSWORD);
    await expectRefused(bench, bullmq?.connect(url) ?? {}, reason);
  });
}

for (const source of REDIS_SOURCES) {
  faultCase(
    24,
    `a Redis that is full, or a replica, is read by ${source.name} all the same`,
    async (bench) => {
      const redis = await redisFor();
      await source.fill(redis);
      const client = await admin(redis);
      await client.configSet('maxmemory', '1');
      const full = await bench.serve({ sources: source.connect(redis.url()) });
      await expect(client.set('a', '1')).rejects.toThrow(/OOM/);
      await untilCurrent(full);
      await client.configSet('maxmemory', '0');
      const replica = await redisFor('--replicaof', '127.0.0.1', String(redis.port));
      const second = await admin(replica);
      await until(async () => (await second.dbSize()) === (await client.dbSize()));
      await expect(second.set('a', '1')).rejects.toThrow(/READONLY/);
      const reading = await bench.serve({ sources: source.connect(replica.url()) });
      await untilCurrent(reading);
      await bench.expectAnswer(reading, '/api/tasks/', { status: 200, aimMs: 100 });
    },
    options,
  );

  faultCase(
    26,
    `a Redis that knows no HELLO is read by ${source.name}`,
    async (bench) => {
      const redis = await redisFor('--rename-command', 'HELLO', '');
      await source.fill(redis);
      const host = await bench.serve({ sources: source.connect(redis.url()) });
      await untilCurrent(host);
      await bench.expectAnswer(host, '/api/tasks/', { status: 200, aimMs: 100 });
    },
    options,
  );
}

faultCase(
  26,
  "a host's own client that insists on HELLO is no endless silence",
  async (bench) => {
    const redis = await redisFor('--rename-command', 'HELLO', '');
    const broker = createClient({ RESP: 3, url: redis.url() });
    broker.on('error', () => {});
    const host = await bench.serve({ sources: celerySources({ broker }) });
    await bench.expectAnswer(host, '/healthcheck', { status: [200, 503] });
    await bench.expectAnswer(host, '/api/tasks/', { status: [200, 503, 504] });
    await host.router.close();
    if (broker.isOpen) broker.destroy();
  },
  options,
);
