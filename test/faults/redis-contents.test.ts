import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from 'redis';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { celerySources } from '../../src/celery.ts';
import type { ComponentsBody, TasksBody } from '../../src/wire.ts';
import { recordCommands } from '../celery/commands.ts';
import { createAclUsers, urlAs } from '../helpers/acl-users.ts';
import { fillQueues } from '../helpers/bullmq-fill.ts';
import { received } from '../helpers/celery-events.ts';
import { type RedisServer, redisMissing, startRedis, until } from '../helpers/redis-server.ts';
import { faultCase } from './kit/fault-case.ts';
import { admin, REDIS_SOURCES, redisFor, untilCurrent } from './kit/redis-sources.ts';

const options = { missing: redisMissing, timeout: 120_000 };
const PATHS = [
  '/api/tasks/?limit=1000&stats=60',
  '/api/tasks/?q=a&sort=name',
  '/api/workers/',
  '/api/events/latest/',
  '/api/beat/schedules/',
  '/api/components/',
  '/healthcheck',
];

for (const source of REDIS_SOURCES) {
  faultCase(
    27,
    `what ${source.name} reads goes, comes, expires and changes its type meanwhile`,
    async (bench) => {
      const redis = await redisFor();
      await source.fill(redis);
      const client = await admin(redis);
      const host = await bench.serve({ sources: source.connect(redis.url()) });
      await untilCurrent(host);
      let going = true;
      /** Any key by any other type, one after another. */
      const spoil = async (): Promise<void> => {
        for (let round = 0; going; round += 1) {
          const keys = (await client.keys('*')).filter((key) => !key.endsWith(':meta'));
          const key = keys[round % keys.length];
          if (key === undefined) break;
          if (round % 5 === 0) await client.pExpire(key, 1);
          else await client.del(key);
          if (round % 5 === 1) await client.set(key, 'text');
          if (round % 5 === 2) await client.rPush(key, ['{', 'null', '\u0000']);
          if (round % 5 === 3) await client.hSet(key, { __proto__x: '1', name: 'a', timestamp: 'never' });
          if (round % 50 === 49) await source.fill(redis).catch(() => {});
        }
      };
      const spoiling = spoil();
      for (let round = 0; round < 60; round += 1) {
        const id = source.name === 'celery' ? `task-${round % 30}` : `mail%3A${1 + (round % 30)}`;
        await bench.expectAnswer(host, `/api/tasks/?limit=${1 + round}`, { status: 200, aimMs: 200 });
        await bench.expectAnswer(host, `/api/tasks/${id}/`, { status: [200, 404], aimMs: 200 });
        await bench.expectAnswer(host, `/api/tasks/${id}/graph/`, { status: [200, 404], aimMs: 200 });
      }
      going = false;
      await spoiling;
      await client.flushAll();
      await source.fill(redis);
      await untilCurrent(host);
    },
    options,
  );
}

let large: RedisServer | null = null;
const MESSAGES = 10_000_000;
const RESULTS = 1_000_000;

beforeAll(async () => {
  if (redisMissing !== null) return;
  large = await startRedis('--enable-debug-command', 'yes');
  const client = createClient({ url: large.url(), RESP: 2 });
  await client.connect();
  // One element a thousand times over: what is in them is not looked at, their number is the matter.
  const fill = `local some = {} for i = 1, 1000 do some[i] = ARGV[1] end
    for i = 1, tonumber(ARGV[2]) do redis.call('RPUSH', KEYS[1], unpack(some)) end`;
  for (const key of ['celery', 'bull:mail:wait']) {
    for (let done = 0; done < MESSAGES; done += 1_000_000) {
      await client.eval(fill, { keys: [key], arguments: ['1', '1000'] });
    }
  }
  // The newest jobs of the queue are real ones; behind them stand ids whose jobs are gone.
  await fillQueues(large.port, { queue: 'mail', part: 'wait', count: 2_000, time: Date.UTC(2026, 10, 21) });
  await client.sendCommand(['DEBUG', 'POPULATE', String(RESULTS), 'celery-task-meta', '100']);
  await client.close();
}, 120_000);

afterAll(() => large?.close());

for (const source of REDIS_SOURCES) {
  faultCase(
    28,
    `ten million messages and a million results cost Redis no time under ${source.name}`,
    async (bench) => {
      if (large === null) throw new Error('There is no Redis.');
      const client = await admin(large);
      await client.configSet('slowlog-log-slower-than', '300000');
      await client.sendCommand(['SLOWLOG', 'RESET']);
      await client.sendCommand(['CONFIG', 'RESETSTAT']);
      const start = performance.now();
      const host = await bench.serve({ sources: source.connect(large.url()) });
      await until(async () => (await host.get<TasksBody>('/api/tasks/')).status === 200);
      for (let round = 0; round < 20; round += 1) {
        // Queues of BullMQ are looked for among all keys, now and then, which takes its time here.
        const status = source.name === 'celery' ? [200] : [200, 503, 504];
        await bench.expectAnswer(host, `/api/tasks/?limit=${1 + round}`, { status, aimMs: 5_100 });
        await sleep(100);
      }
      if (source.name === 'celery') {
        await until(async () => {
          const { body } = await host.get<ComponentsBody>('/api/components/');
          return body.queues?.queues?.some(({ waiting }) => waiting === MESSAGES) === true;
        });
      }
      const seconds = (performance.now() - start) / 1_000;
      const stats = await client.info('commandstats');
      const busy = [...stats.matchAll(/cmdstat_(?!debug|slowlog|config)\w+:calls=\d+,usec=(\d+)/g)];
      const msPerSecond = busy.reduce((sum, [, usec]) => sum + Number(usec), 0) / 1_000 / seconds;
      bench.figure('ms of Redis a second', Math.round(msPerSecond));
      // The aim is 20, of the time of a processor; this is the time of a clock on a machine that may be busy.
      expect(msPerSecond).toBeLessThan(500);
      // No command may take it longer, also where it waits for a core; KEYS would take 400 ms without waiting.
      expect(await client.sendCommand(['SLOWLOG', 'GET', '10'])).toEqual([]);
    },
    options,
  );
}

faultCase(
  29,
  'all routes of both sources are read by users who may write nothing, and nothing is written',
  async (bench) => {
    const redis = await redisFor('--enable-debug-command', 'yes');
    for (const source of REDIS_SOURCES) await source.fill(redis);
    await fillQueues(redis.port, {
      queue: 'b',
      part: 'prioritized',
      count: 100,
      time: Date.UTC(2026, 10, 1),
    });
    await createAclUsers(redis.url());
    const client = await admin(redis);
    const digest = async (): Promise<string> => String(await client.sendCommand(['DEBUG', 'DIGEST']));
    await client.rPush('celery', 'no message');
    const record = await recordCommands(redis.url());
    onTestFinished(() => record.close());
    const before = await digest();
    const url = urlAs('read', redis.url());
    const hosts = [
      await bench.serve({ sources: celerySources({ broker: url, backend: url, control: false }) }),
      await bench.serve({
        sources: bullmqSources({ connection: urlAs('bullmq', redis.url()) }),
      }),
    ];
    for (const host of hosts) {
      await untilCurrent(host);
      const ids = (await host.get<TasksBody>('/api/tasks/?limit=3')).body.tasks.map(({ task_id }) =>
        encodeURIComponent(task_id),
      );
      const own = ids.flatMap((id) =>
        ['', 'relations/', 'graph/', 'graph/updates/'].map((rest) => `/api/tasks/${id}/${rest}`),
      );
      for (const path of [...PATHS, ...own]) {
        await bench.expectAnswer(host, path, { status: [200, 501, 503] });
      }
    }
    expect(await digest()).toBe(before);
    const { written } = await record.of(['read', 'bullmq']);
    expect(written).toEqual([]);
    expect(await client.publish('/0.celeryev/task.multi', received('x'))).toBe(1);
  },
  options,
);
