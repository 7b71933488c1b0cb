import type { Job, JobSchedulerJson, Queue } from 'bullmq';
import { describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import type { SchedulesBody } from '../../src/wire.ts';
import { context } from '../helpers/bullmq-read.ts';
import { SAMPLED_VERSIONS } from '../helpers/bullmq-versions.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import { serve } from '../router/host-kit.ts';
import { schedulesLab } from './schedules-lab.ts';

const HOUR = 3_600_000;

describe.skipIf(redisMissing !== null).each(SAMPLED_VERSIONS)(
  titleUnless(redisMissing, 'job schedulers of $label'),
  ({ bullmq }) => {
    const lab = schedulesLab({ bullmq });
    const { one, rowsOf } = lab;

    /** The job that a scheduler has made for its next run. */
    async function nextJob(queue: Queue, key: string): Promise<Job> {
      const scheduler = (await queue.getJobScheduler(key)) as JobSchedulerJson;
      return (await queue.getJob(`repeat:${key}:${scheduler.next}`)) as Job;
    }

    it('are none, and not "not enabled", where a queue has none', async () => {
      const queue = lab.app.queue('none');
      await queue.add('job', {}, { delay: HOUR });
      const sources = bullmqSources({ queues: [queue] });
      expect(await sources.schedules.listSchedules(context)).toEqual([]);
      sources.close();
    });

    it('are told as BullMQ tells them', async () => {
      const queue = lab.app.queue('told');
      const end = new Date('2099-01-01T00:00:00Z');
      await queue.upsertJobScheduler('hourly', { every: HOUR }, { name: 'tidy', data: { deep: ['x', 1] } });
      await queue.upsertJobScheduler('odd', { every: HOUR + 1_500, limit: 5 });
      await queue.upsertJobScheduler('id with: colons:a:b:c é', {
        pattern: '0 7 * * 1',
        tz: 'Europe/Prague',
      });
      await queue.upsertJobScheduler('seconds', { pattern: '*/30 0 3 * * 1-5', endDate: end });
      await queue.upsertJobScheduler('later', { every: HOUR, startDate: end, limit: 1 });
      const rows = await rowsOf(queue);
      const told = await queue.getJobSchedulers();
      expect(rows.map(({ id }) => id).toSorted()).toEqual(told.map(({ key }) => `told:${key}`).toSorted());
      for (const { key, name, next, tz, template } of told) {
        expect(rows.find(({ id }) => id === `told:${key}`)).toMatchObject({
          name: key,
          task: name,
          enabled: true,
          args: JSON.stringify(template?.data ?? {}),
          kwargs: null,
          queue: 'told',
          timezone: tz ?? null,
          nextRunAt: new Date(next as number),
          lastRunAt: null,
          totalRunCount: 0,
        });
      }
      expect(Object.fromEntries(rows.map(({ name, schedule }) => [name, schedule]))).toEqual({
        hourly: 'every 1 h',
        odd: 'every 3601.5 s (at most 5 runs)',
        'id with: colons:a:b:c é': '0 7 * * 1',
        seconds: '*/30 0 3 * * 1-5 (until 2099-01-01T00:00:00.000Z)',
        later: 'every 1 h (from 2099-01-01T00:00:00.000Z, at most 1 run)',
      });
      await queue.removeJobScheduler('hourly');
      expect((await rowsOf(queue)).some(({ id }) => id === 'told:hourly')).toBe(false);
    });

    it('tell their last and next run and how many there were, while and after they run', async () => {
      const queue = lab.app.queue('live');
      await queue.upsertJobScheduler('fast', { every: 150 }, { name: 'beat', opts: { attempts: 2 } });
      await queue.upsertJobScheduler('gone', { every: 200 }, { opts: { removeOnComplete: true } });
      await queue.upsertJobScheduler('each second', { pattern: '* * * * * *' }, { name: 'cron' });
      const counts: number[] = [];
      const worker = lab.app.worker('live', async (job) => {
        // Another attempt is no other run.
        if (job.name === 'beat' && job.attemptsMade === 0) throw new Error('once more');
      });
      await until(async () => {
        const row = await one(queue, 'fast');
        counts.push(row.totalRunCount ?? -1);
        return (
          ((await one(queue, 'each second')).totalRunCount ?? 0) >= 2 &&
          counts.at(-1) !== 0 &&
          ((await one(queue, 'gone')).totalRunCount ?? 0) > 0
        );
      });
      await worker.close();
      expect(counts).toEqual(counts.toSorted((a, b) => a - b));
      const done = await queue.getJobs(['completed', 'delayed', 'waiting']);
      for (const key of ['fast', 'each second', 'gone']) {
        const row = await one(queue, key);
        const next = await nextJob(queue, key);
        expect(row).toMatchObject({
          enabled: true,
          nextRunAt: new Date((await queue.getJobScheduler(key))?.next as number),
          // The next job is made as a run begins.
          lastRunAt: new Date(next.timestamp),
        });
        const ran = done.filter((job) => job.repeatJobKey === key && job.processedOn !== undefined);
        if (key === 'gone') expect(row.totalRunCount).toBeGreaterThan(0);
        else expect([key, row.totalRunCount]).toEqual([key, ran.length]);
        if (key === 'each second') {
          const begun = Math.max(...ran.map(({ processedOn }) => Number(processedOn)));
          expect(Number(row.lastRunAt)).toBeGreaterThanOrEqual(begun);
        }
      }
    }, 60_000);

    it('are over once their runs are used up or their time has come', async () => {
      const queue = lab.app.queue('over');
      const soon = new Date(Date.now() + 6_000);
      await queue.upsertJobScheduler('thrice', { every: 100, limit: 3 });
      await queue.upsertJobScheduler('short', { pattern: '* * * * * *', endDate: soon });
      await queue.upsertJobScheduler(
        'unkept',
        { every: 100, limit: 2 },
        { opts: { removeOnComplete: true } },
      );
      await queue.upsertJobScheduler('goes on', { every: HOUR });
      const worker = lab.app.worker('over', async () => {});
      const enabled = async (key: string) => (await one(queue, key)).enabled;
      await until(
        async () => !(await enabled('thrice')) && !(await enabled('short')) && !(await enabled('unkept')),
      );
      await worker.close();
      const completed = await queue.getJobs(['completed']);
      for (const key of ['thrice', 'short']) {
        const runs = completed.filter((job) => job.repeatJobKey === key);
        expect(await one(queue, key)).toMatchObject({
          nextRunAt: null,
          lastRunAt: new Date(Math.max(...runs.map(({ processedOn }) => Number(processedOn)))),
          totalRunCount: runs.length,
        });
      }
      expect((await one(queue, 'thrice')).totalRunCount).toBe(3);
      expect(await one(queue, 'unkept')).toMatchObject({
        nextRunAt: null,
        lastRunAt: null,
        totalRunCount: 2,
      });
      expect(await one(queue, 'goes on')).toMatchObject({ enabled: true });
      // BullMQ lists them, too, until they are removed.
      expect((await queue.getJobSchedulers()).length).toBe(4);
    }, 60_000);

    it('have run when they ran, not when the app wrote them once more', async () => {
      const queue = lab.app.queue('again');
      await queue.upsertJobScheduler('s', { every: 100 });
      const worker = lab.app.worker('again', async () => {});
      await until(async () => ((await one(queue, 's')).totalRunCount ?? 0) >= 2);
      await worker.close();
      expect((await one(queue, 's')).lastRunAt).not.toBeNull();
      await queue.upsertJobScheduler('s', { every: HOUR });
      expect(await one(queue, 's')).toMatchObject({ schedule: 'every 1 h', lastRunAt: null, enabled: true });
    }, 60_000);

    it('are answered by the route, without secrets', async () => {
      const queue = lab.app.queue('asked');
      await queue.upsertJobScheduler(
        'a/b?c',
        { every: 30_000 },
        { name: 'call', data: { password: 'canary-1', to: 'ann' } },
      );
      const { get } = await serve(EXPRESS, {
        sources: bullmqSources({ queues: [queue] }),
      });
      const { body, text } = await get<SchedulesBody>('/api/beat/schedules/');
      expect(body).toMatchObject({
        enabled: true,
        schedules: [
          {
            id: 'asked:a/b?c',
            app: null,
            name: 'a/b?c',
            task: 'call',
            schedule: 'every 30 s',
            enabled: true,
            args: '{"password":"***","to":"ann"}',
            queue: 'asked',
            source: 'bullmq',
          },
        ],
      });
      expect(text).not.toContain('canary');
    });
  },
);
