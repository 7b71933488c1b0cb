import type { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import type { TaskStats } from '../../src/source.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { context, queryOf } from '../helpers/bullmq-read.ts';
import { SAMPLED_VERSIONS } from '../helpers/bullmq-versions.ts';
import { redisMissing, titleUnless } from '../helpers/redis-server.ts';

const TOKEN = 'token';

describe.skipIf(redisMissing !== null).each(SAMPLED_VERSIONS)(
  titleUnless(redisMissing, 'statistics of $label'),
  ({ bullmq }) => {
    let app: BullMQApp;
    let queue: Queue;
    let sources: BullMQSources;

    beforeEach(async () => {
      app = await startBullMQ(bullmq);
      queue = app.queue('mail');
      // Nothing ever happened in it.
      sources = bullmqSources({ queues: [queue, app.queue('idle')] });
    });

    afterEach(async () => {
      sources.close();
      await app.close();
    });

    /** Runs jobs one by one. */
    async function run(count: number, fails = false, name = 'send'): Promise<void> {
      const worker = app.worker('mail', async () => {}, { autorun: false });
      for (let n = 0; n < count; n += 1) {
        await queue.add(name, { n });
        const job = await worker.getNextJob(TOKEN);
        if (fails) await job?.moveToFailed(new Error('no route'), TOKEN, false);
        else await job?.moveToCompleted('sent', TOKEN, false);
      }
    }

    /** Lets the jobs that have succeeded have ended some time earlier, in milliseconds. */
    async function age(ms = 5_000): Promise<void> {
      const redis = new Redis(app.redis.url());
      for (const { id, finishedOn = 0 } of await queue.getCompleted()) {
        await redis.zadd(queue.toKey('completed'), finishedOn - ms, String(id));
      }
      redis.disconnect();
    }

    /** The two minutes until two seconds from now, by second. */
    async function statsOf(scan = 20_000, names: string[] = []): Promise<TaskStats> {
      const now = new Date(Date.now() + 2_000);
      const asked = { minutes: 2, now, stepSeconds: 1, filter: queryOf({ scan, names }) };
      return (await sources.tasks.getTaskStats?.(asked, context)) as TaskStats;
    }

    const KNOWN = { received: 0, succeeded: 0, failed: 0, retried: 0 };
    const UNKNOWN = { received: null, succeeded: null, failed: null, retried: null };

    it('know that nothing happened before the first job, as long as all jobs are kept', async () => {
      await run(3);
      const { series, totals } = await statsOf();
      expect([series[0], series.at(-1)]).toMatchObject([KNOWN, KNOWN]);
      expect(totals).toMatchObject({ received: 3, succeeded: 3, failed: 0 });
    });

    it('do not know what happened before the oldest succeeded job that is kept', async () => {
      await queue.add('kept', {}, { delay: 3_600_000 });
      queue.jobsOpts = { removeOnComplete: 2 };
      await run(5);
      const { series, totals } = await statsOf();
      expect([series[0], series.at(-1)]).toMatchObject([UNKNOWN, KNOWN]);
      expect(totals?.since?.getTime()).toBeGreaterThan(Number(series[0]?.t));
    });

    it('know the failed jobs of a queue that keeps no others, and nothing else', async () => {
      queue.jobsOpts = { removeOnComplete: true };
      await run(2);
      await run(1, true);
      const { series, totals } = await statsOf();
      expect([series[0], series.at(-1)]).toMatchObject([UNKNOWN, UNKNOWN]);
      expect(series.filter(({ failed }) => failed !== null)).toMatchObject([{ failed: 1 }]);
      expect(totals).toMatchObject({ since: null, received: null, succeeded: null, failed: null });
    });

    it('do not know how many jobs of a name end that are removed as they end, once their events were read', async () => {
      await run(2);
      await age();
      queue.jobsOpts = { removeOnComplete: true };
      await run(3, false, 'beat');
      queue.jobsOpts = {};
      await run(1);
      // Nothing in the queue tells of them.
      expect((await statsOf()).series.at(-1)).toMatchObject(KNOWN);
      await sources.experimental.getActivity?.(context);
      const { series, totals } = await statsOf();
      expect([series[0], series.at(-1)]).toMatchObject([UNKNOWN, UNKNOWN]);
      expect(totals).toMatchObject({ since: null, succeeded: null });
      const named = await statsOf(20_000, ['send']);
      expect(named.series.at(-1)).toMatchObject(KNOWN);
    });

    it('know all but one job that was removed by hand', async () => {
      await run(1);
      await age();
      await run(3);
      const [last] = await queue.getCompleted();
      await sources.experimental.getActivity?.(context);
      await last?.remove();
      expect((await statsOf()).series.at(-1)).toMatchObject(KNOWN);
    });

    it('do not know what happened before the jobs that one answer may look at', async () => {
      await run(5);
      const { series } = await statsOf(3);
      expect(series[0]).toMatchObject(UNKNOWN);
    });

    it('do not pass off the jobs of a step that one answer may look at as all of them', async () => {
      await run(5);
      const now = new Date(Date.now() + 2_000);
      const asked = { minutes: 120, now, stepSeconds: 86_400, filter: queryOf({ scan: 3 }) };
      const stats = (await sources.tasks.getTaskStats?.(asked, context)) as TaskStats;
      // Around midnight there are two steps.
      expect(stats.series.filter(({ succeeded }) => succeeded !== null && succeeded < 5)).toEqual([]);
      expect(stats.totals?.succeeded).not.toBe(3);
    });

    it('have no count of a name whose succeeded jobs are removed, only of its failures', async () => {
      queue.jobsOpts = { removeOnComplete: true };
      await run(7);
      await run(3, true);
      await app.queue('idle').add('count', {});
      const { names } = await statsOf();
      expect(names.map(({ name, count, failed }) => [name, count, failed])).toEqual([
        ['send', null, 3],
        ['count', 1, 0],
      ]);
    });

    it('count a name of which jobs were removed that ended long ago', async () => {
      await run(4);
      await age(115_000);
      queue.jobsOpts = { removeOnComplete: 4 };
      await run(2);
      const { names } = await statsOf();
      expect(names).toMatchObject([{ name: 'send', count: 4 }]);
    });
  },
);
