import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import type { Meter, MetricHistogram, MetricValue } from '../../src/source.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { context } from '../helpers/bullmq-read.ts';
import { SAMPLED_VERSIONS } from '../helpers/bullmq-versions.ts';
import { unsampled } from '../helpers/cases.ts';
import { openMeter } from '../helpers/meters.ts';
import { redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

const OPTIONS = { hostname: false, mostSeries: 10_000 };

/** The samples of a family. */
async function read<Sample extends MetricValue | MetricHistogram>(
  meter: Meter,
  family: string,
): Promise<readonly Sample[]> {
  expect(meter.families.map(({ name }) => name)).toContain(family);
  const series = (await meter.collect(context)).find(({ name }) => name === family);
  return [...(series?.samples ?? [])] as Sample[];
}

/** The lines of a counter or a gauge, as BullMQ writes them. */
async function linesOf(meter: Meter, family: string): Promise<readonly string[]> {
  const values = await read<MetricValue>(meter, family);
  return values.map(({ labels, value }) => {
    const pairs = Object.entries(labels).map(([name, text]) => `${name}="${text}"`);
    return `${family}{${pairs.join(', ')}} ${value}`;
  });
}

/** Counts of a histogram, as `queue name count`. */
async function countsOf(meter: Meter, family: string): Promise<readonly string[]> {
  const histograms = await read<MetricHistogram>(meter, family);
  for (const { buckets, count, sum } of histograms) {
    expect(buckets).toEqual(buckets.toSorted((a, b) => a - b));
    expect(buckets.at(-1)).toBeLessThanOrEqual(count);
    expect(sum).toBeGreaterThanOrEqual(0);
  }
  return histograms.map(({ labels, count }) => `${labels.queue} ${labels.name} ${count}`).toSorted();
}

const TOTALS = ['bullmq_job_count', 'bullmq_job_completed_total', 'bullmq_job_failed_total'];
const RUNS = 'bullmq_job_run_time_seconds';
const WAITS = 'bullmq_job_wait_time_seconds';

describe.skipIf(redisMissing !== null).each(SAMPLED_VERSIONS)(
  titleUnless(redisMissing, 'the meter of $label'),
  ({ bullmq }) => {
    let app: BullMQApp;
    let admin: Redis;
    const open: { close(): unknown }[] = [];

    beforeAll(async () => {
      app = await startBullMQ(bullmq);
      admin = new Redis(app.redis.port, '127.0.0.1');
    });
    afterAll(async () => {
      for (const one of open.toReversed()) await one.close();
      admin?.disconnect();
      await app?.close();
    });

    function opened(sources: BullMQSources, options = OPTIONS): Meter {
      const meter = openMeter(sources, options);
      open.push(sources, meter);
      return meter;
    }

    it('exports the same counts as BullMQ itself where its workers keep them', async () => {
      const queue = app.queue('kept');
      const meter = opened(bullmqSources({ queues: [queue] }));
      app.worker('kept', async ({ name }) => fail(name), { metrics: { maxDataPoints: 60 } });
      const jobs = [...['good', 'good', 'good', 'bad'].map((name) => ({ name, data: {} }))];
      await queue.addBulk(jobs);
      await app.settled(queue, 4, 'completed', 'failed');
      await queue.pause();
      await queue.addBulk(
        [{}, {}, { priority: 2 }, { delay: 3_600_000 }].map((opts) => ({ name: 'later', data: {}, opts })),
      );
      await app
        .flow()
        .add({ name: 'album', queueName: 'kept', children: [{ name: 'part', queueName: 'kept' }] });
      const exported = await queue.exportPrometheusMetrics();
      for (const family of TOTALS) {
        const own = exported.split('\n').filter((line) => line.startsWith(`${family}{`));
        expect(own.length).toBeGreaterThan(0);
        expect((await linesOf(meter, family)).toSorted()).toEqual(own.toSorted());
      }
      expect(exported).toContain('bullmq_job_completed_total{queue="kept"} 3');
      expect(exported).toContain('bullmq_job_failed_total{queue="kept"} 1');
    });

    it('counts ended jobs itself where the workers keep no counts', async () => {
      const queue = app.queue('counted');
      await queue.add('good', {});
      app.worker('counted', async ({ name }) => fail(name), { removeOnComplete: { count: 0 } });
      await app.settled(queue, 0, 'waiting', 'active');
      const meter = opened(bullmqSources({ queues: [queue] }));
      await queue.addBulk(['good', 'good', 'bad'].map((name) => ({ name, data: {} })));
      const [, completed = '', failed = ''] = TOTALS;
      await until(async () => (await linesOf(meter, failed))[0] === `${failed}{queue="counted"} 1`);
      expect(await linesOf(meter, completed)).toEqual([`${completed}{queue="counted"} 2`]);
    });

    it('counts each run and each wait by queue and name, also those of retries', async () => {
      const queue = app.queue('runs');
      // Its runs are no longer in Redis when they are counted.
      const options = { removeOnComplete: { count: 0 }, removeOnFail: { count: 0 } };
      await queue.add('early', {}, { delay: 50 });
      const meter = opened(bullmqSources({ queues: [queue] }));
      await queue.addBulk([
        ...['good', 'good'].map((name) => ({ name, data: {} })),
        { name: 'bad', data: {}, opts: { attempts: 3 } },
        { name: 'bad', data: {}, opts: { attempts: 2, backoff: 20 } },
      ]);
      app.worker('runs', async ({ name }) => fail(name), options);
      await until(async () => (await countsOf(meter, RUNS)).includes('runs bad 5'));
      await until(async () => (await countsOf(meter, RUNS)).includes('runs early 1'));
      const expected = ['runs bad 5', 'runs early 1', 'runs good 2'];
      expect(await countsOf(meter, RUNS)).toEqual(expected);
      expect(await countsOf(meter, WAITS)).toEqual(expected);
    });

    it('reads the names of jobs that were added before it looked', async () => {
      const queue = app.queue('named');
      await queue.add('old', {});
      await admin.del('bull:named:events');
      const meter = opened(bullmqSources({ queues: [queue] }));
      app.worker('named', async () => {});
      await until(async () => (await countsOf(meter, RUNS)).length > 0);
      expect(await countsOf(meter, RUNS)).toEqual(['named old 1']);
      // When it began to wait was not seen.
      expect(await countsOf(meter, WAITS)).toEqual([]);
    });

    it('does not count as a run how long a worker was gone that held a job', async () => {
      const queue = app.queue('stalled');
      const meter = opened(bullmqSources({ queues: [queue] }));
      const gone = app.worker('stalled', async () => {}, { autorun: false, lockDuration: 300 });
      await queue.add('held', {});
      await gone.getNextJob('token');
      app.worker('stalled', async () => {}, { stalledInterval: 400 });
      await app.settled(queue, 1, 'completed');
      await until(async () => (await countsOf(meter, RUNS)).length > 0);
      expect(await countsOf(meter, RUNS)).toEqual(['stalled held 1']);
      expect(await countsOf(meter, WAITS)).toEqual(['stalled held 2']);
    });

    it('forgets what it knew of jobs when events were removed before it read them', async () => {
      const queue = app.queue('trimmed');
      const meter = opened(bullmqSources({ queues: [queue] }));
      const happens = (...events: readonly (readonly [event: string, jobId: string])[]) => {
        const written = admin.multi();
        for (const [event, jobId] of events) written.xadd(EVENTS, '*', 'event', event, 'jobId', jobId);
        return written;
      };
      const completed = (count: number): Promise<void> =>
        until(async () => (await linesOf(meter, COMPLETED))[0] === `${COMPLETED}{queue="trimmed"} ${count}`);
      await happens(['active', '1'], ['completed', '2']).exec();
      await completed(1);
      await happens(['waiting', '1'], ['active', '1'], ['completed', '1']).xtrim(EVENTS, 'MAXLEN', 1).exec();
      await completed(2);
      expect(await linesOf(meter, 'bullmq_event_gaps_total')).toEqual(['bullmq_event_gaps_total{} 1']);
      expect(await countsOf(meter, RUNS)).toEqual([]);
    });

    it('adds up what it has no room for, and says how much that is', async () => {
      const names = Array.from({ length: 6 }, (_, index) => `job-${index}`);
      const queues = ['wide', 'wider', 'widest'].map((name) => app.queue(name));
      const sources = bullmqSources({ queues });
      // Room for three queues, and for five pairs of queue and name.
      const meter = opened(sources, { hostname: false, mostSeries: 350 });
      for (const queue of queues) {
        await queue.addBulk(names.map((name) => ({ name, data: {} })));
        app.worker(queue.name, async () => {});
      }
      const inAll = async (): Promise<number> =>
        (await read<MetricHistogram>(meter, RUNS)).reduce((sum, { count }) => sum + count, 0);
      await until(async () => (await inAll()) === 18);
      const families = await meter.collect(context);
      const series = families.flatMap(({ samples }) => [...samples]).map(seriesIn);
      expect(series.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(350);
      const counts = await countsOf(meter, RUNS);
      expect(
        counts.map((line) => line.replace(/^wide\w*/, 'own').replace(/job-\d 1$|\d+$/, '')).toSorted(),
      ).toEqual([...['other other ', 'own ', 'own ', 'own ', 'own other ']]);
      // Each has one wait and one run, and three of them have a name.
      expect(meter.overflow?.()).toBe(2 * (18 - 3));
    });
  },
);

unsampled(() => {
  it.skipIf(redisMissing !== null)(
    titleUnless(redisMissing, 'the meter of BullMQ shows what it has counted while Redis is away'),
    async () => {
      const redis = await startRedis();
      const admin = new Redis(redis.port, '127.0.0.1');
      // Queues are searched for each 15 s.
      await admin.hset('bull:away:meta', 'version', 'bullmq:6.7.0');
      const sources = bullmqSources({ connection: redis.url() });
      const meter = openMeter(sources, OPTIONS);
      try {
        await until(async () => (await linesOf(meter, 'bullmq_job_count')).length === 7);
        for (const event of ['active', 'completed']) {
          await admin.xadd('bull:away:events', '*', 'event', event, 'jobId', '1');
        }
        await until(async () => (await countsOf(meter, RUNS)).length > 0);
        admin.disconnect();
        await redis.kill();
        const killedAt = performance.now();
        expect(await countsOf(meter, RUNS)).toEqual(['away None 1']);
        expect(await linesOf(meter, 'bullmq_job_count')).toEqual([]);
        // Each scrape ends before the time limit of the router.
        expect(performance.now() - killedAt).toBeLessThan(2 * 5_000);
      } finally {
        admin.disconnect();
        meter.close();
        sources.close();
        await redis.close();
      }
    },
  );
});

function fail(name: string): void {
  if (name === 'bad') throw new Error('torn');
}

const EVENTS = 'bull:trimmed:events';
const COMPLETED = 'bullmq_job_completed_total';

function seriesIn(sample: MetricValue | MetricHistogram): number {
  return 'buckets' in sample ? sample.buckets.length + 3 : 1;
}
