/** What fuzzing has found, each as small as it became. */
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import { isMetricsType } from '../../src/metrics/content-types.ts';
import { comparableRepr } from '../../src/sources/celery/schedules/comparable-repr.ts';
import { readCrontab } from '../../src/sources/celery/schedules/crontab.ts';
import { walk } from '../helpers/bullmq-read.ts';
import { context } from '../helpers/celery-events.ts';
import { cpuMs } from '../helpers/cpu-time.ts';
import { redisMissing, startRedis, titleUnless } from '../helpers/redis-server.ts';

describe('a history', () => {
  it.each(['', 'x'.repeat(513)])('knows no worker by a name that cannot be shown', async (worker) => {
    const history = createMemoryHistory();
    history.writer.recordTask({ id: 'a', type: 'started', time: null, origin: 'result', worker });
    history.writer.recordWorker({ hostname: worker, type: 'online', time: Date.now() });
    expect(await history.reader.listWorkers(context)).toEqual([]);
    expect((await history.reader.getTask('a', context))?.worker ?? null).toBeNull();
    history.close();
  });
});

describe('a repr', () => {
  it.each(["\\'", '\\"', "'a\\"])(
    'of %j again and again is compared in a time that grows with its length',
    (bit) => {
      const start = cpuMs();
      comparableRepr(bit.repeat(100_000));
      // The aim is 50 ms; trying each quote as a beginning takes minutes.
      expect(cpuMs() - start).toBeLessThan(2_000);
    },
  );
});

describe("an exporter's content type", () => {
  it.each(['\n', '\u00a0', '\ufeff'])('has no %j before it', (blank) => {
    expect(isMetricsType(' text/plain')).toBe(true);
    expect(isMetricsType(`${blank}text/plain`)).toBe(false);
  });
});

describe('a crontab', () => {
  it('may be a list with holes', () => {
    const hour = new Array<number>(2);
    hour[1] = 2;
    expect(readCrontab({ minute: 0, hour })).toBeNull();
  });
});

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, "BullMQ's list"), () => {
  it('has a job without a time once, whatever the size of its pages', async () => {
    const server = await startRedis();
    const redis = new Redis(server.port);
    const sources = bullmqSources({ connection: server.url() });
    try {
      await redis.hset('bull:q:meta', 'version', 'bullmq:6.7.0');
      for (const [id, timestamp] of Object.entries({ a: '', b: '1790000000000', c: '1790000000000' })) {
        await redis.hset(`bull:q:${id}`, { name: 'a', timestamp });
        await redis.lpush('bull:q:wait', id);
      }
      for (const limit of [1, 2, 3]) {
        const rows = await walk(sources, { limit });
        expect([limit, rows.map(({ id }) => id)]).toEqual([limit, ['q:b', 'q:c', 'q:a']]);
      }
    } finally {
      await sources.close();
      redis.disconnect();
      await server.close();
    }
  });
});
