import type { Job } from 'bullmq';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SAMPLED_VERSIONS } from '../helpers/bullmq-versions.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import { schedulesLab } from './schedules-lab.ts';

const HOUR = 3_600_000;

describe.skipIf(redisMissing !== null).each(SAMPLED_VERSIONS)(
  titleUnless(redisMissing, 'runs of job schedulers of $label'),
  ({ bullmq }) => {
    const lab = schedulesLab({ bullmq });
    const { one } = lab;

    it('have their latest runs, with what became of them', async () => {
      const queue = lab.app.queue('runs');
      await queue.upsertJobScheduler('often', { every: 100 }, { name: 'tidy' });
      await queue.upsertJobScheduler('later', { every: HOUR, startDate: Date.now() + HOUR });
      // A job with a similar id is no run.
      await queue.add('tidy', {}, { jobId: 'repeat-often-1' });
      let count = 0;
      const worker = lab.app.worker('runs', async ({ id }) => {
        if (String(id).startsWith('repeat:') && ++count % 2 === 0) throw new Error('odd');
      });
      // A worker that loses its connection while it adds the next run asks again without a pause, for ever.
      onTestFinished(() => worker.close());
      await until(() => count >= 4, 60_000);
      const finished = async () =>
        (await one(queue, 'often')).lastRuns?.filter(({ state }) => state !== 'STARTED') ?? [];
      await until(async () => (await finished()).length >= 4, 60_000);
      const runs = await finished();
      expect(runs.map(({ at }) => at.getTime())).toEqual(
        runs.map(({ at }) => at.getTime()).toSorted((a, b) => b - a),
      );
      expect(new Set(runs.map(({ state }) => state))).toEqual(new Set(['SUCCESS', 'FAILURE']));
      const [latest] = runs;
      const job = (await queue.getJob(String(latest?.taskId).slice('runs:'.length))) as Job;
      expect(latest).toEqual({
        taskId: `runs:${job.id}`,
        state: (await job.isFailed()) ? 'FAILURE' : 'SUCCESS',
        at: new Date(Number(job.processedOn)),
        runtime: (Number(job.finishedOn) - Number(job.processedOn)) / 1_000,
      });
      expect((await one(queue, 'later')).lastRuns).toEqual([]);
    });
  },
);
