import type { Job, JobType, Queue } from 'bullmq';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import type { Task } from '../../src/model.ts';
import { createAclUsers, refusals, urlAs } from '../helpers/acl-users.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { detail, misplaced, page, walk } from '../helpers/bullmq-read.ts';
import { BULLMQ_VERSIONS } from '../helpers/bullmq-versions.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';

const ALL = [
  'waiting',
  'prioritized',
  'delayed',
  'waiting-children',
  'active',
  'completed',
  'failed',
  'paused',
] as JobType[];

/** What each of BullMQ's states is called here, for a job that has made so many attempts. */
function stateOf(state: string, attempts: number): string {
  if (state === 'completed') return 'SUCCESS';
  if (state === 'failed') return 'FAILURE';
  if (state === 'active') return 'STARTED';
  return attempts > 0 ? 'RETRY' : 'PENDING';
}

describe.skipIf(redisMissing !== null).each(BULLMQ_VERSIONS)(
  titleUnless(redisMissing, 'a thousand jobs of $label, read by a user who may only read,'),
  ({ bullmq }) => {
    let app: BullMQApp;
    let sources: BullMQSources;
    let queues: Queue[];

    beforeAll(async () => {
      app = await startBullMQ(bullmq);
      queues = ['mail', 'image', 'report', 'idle'].map((name) => app.queue(name));
      await createAclUsers(app.redis.url());
      await Promise.all(queues.map((queue) => queue.waitUntilReady()));
      sources = bullmqSources({ connection: urlAs('bullmq', app.redis.url()) });
    });

    afterAll(async () => {
      expect(await refusals(app.redis.url(), 'bullmq')).toEqual([]);
      sources?.close();
      await app?.close();
    });

    async function addAll(): Promise<void> {
      const [mail, image, report, idle] = queues as [Queue, Queue, Queue, Queue];
      const jobs = Array.from({ length: 240 }, (_, n) => n);
      await mail.addBulk(
        jobs.map((n) => ({
          name: n % 2 ? 'send' : 'forward',
          data: { n, fails: n % 10 === 0 ? 9 : n % 7 === 0 ? 1 : 0 },
          opts: {
            attempts: 3,
            ...(n % 6 === 0 ? { backoff: { type: 'fixed', delay: n % 12 === 0 ? 3_600_000 : 5 } } : {}),
            ...(n % 4 === 1 ? { priority: 1 + (n % 5) } : {}),
          },
        })),
      );
      await image.addBulk(
        jobs.map((n) => ({
          name: 'crop',
          data: { n, fails: 0 },
          opts: n % 3 ? {} : { delay: n % 2 ? 20 + n : 3_600_000 + n },
        })),
      );
      await idle.addBulk(
        jobs.map((n) => ({
          name: 'later',
          data: { n },
          opts: n % 2 ? { priority: 1 + (n % 9) } : n % 3 ? { lifo: n % 4 === 0 } : { delay: 3_600_000 },
        })),
      );
      await app.flow().addBulk(
        Array.from({ length: 70 }, (_, n) => ({
          name: 'album',
          queueName: 'report',
          data: { n, fails: 0 },
          children: [0, 1, 2].map((c) => ({
            name: 'page',
            queueName: c === 2 && n % 5 === 0 ? 'idle' : c === 1 ? 'report' : 'image',
            data: { n, c, fails: n % 8 === 0 && c === 0 ? 9 : 0 },
            opts:
              n % 8 === 0
                ? { ignoreDependencyOnFailure: n % 16 === 0, failParentOnFailure: n % 16 !== 0 }
                : {},
          })),
        })),
      );
      await report.add('single', { n: 0, fails: 0 }, { jobId: 'custom/id?é 100%' });
    }

    function work(): void {
      for (const { name } of queues.slice(0, 3)) {
        app.worker(
          name,
          async (job: Job) => {
            await job.log(`run ${job.attemptsMade}`);
            if (job.data.fails > job.attemptsMade) throw new Error(`broken ${job.data.n}`);
            return { done: job.data.n };
          },
          { concurrency: 7, name: `${name}-1` },
        );
      }
    }

    /** Nothing changes any more: what is left waits for an hour, for its children, or for a worker. */
    async function settled(): Promise<void> {
      let before = '';
      let since = Date.now();
      await until(async () => {
        const counts = JSON.stringify(await Promise.all(queues.map((queue) => queue.getJobCounts(...ALL))));
        if (counts !== before) since = Date.now();
        before = counts;
        const active = await Promise.all(queues.map((queue) => queue.getJobCountByTypes('active')));
        return Math.max(...active) === 0 && Date.now() - since > 500;
      }, 60_000);
    }

    it('are what BullMQ itself says of each, in every field, while and after they run', async () => {
      await addAll();
      expect(misplaced(await walk(sources, { limit: 97 }))).toEqual([]);
      work();
      let pages = 0;
      const finished = settled();
      let isOver = false;
      void finished.finally(() => (isOver = true));
      while (!isOver) {
        const rows = await walk(sources, { limit: 100 });
        for (const row of rows.slice(0, 3)) await detail(sources, row.id);
        pages += 1;
      }
      await finished;
      expect(pages).toBeGreaterThan(0);

      const rows = new Map((await walk(sources, { limit: 100 })).map((row) => [row.id, row]));
      const told = new Map<string, { job: Job; state: string }>();
      for (const queue of queues) {
        for (const type of ALL) {
          for (const job of await queue.getJobs([type])) {
            told.set(`${queue.name}:${job.id}`, { job, state: type });
          }
        }
      }
      expect([...rows.keys()].toSorted()).toEqual([...told.keys()].toSorted());
      expect(told.size).toBe(3 * 240 + 70 * 4 + 1);
      expect(told.size).toBe((await page(sources)).total);
      for (const [id, { job, state }] of told) {
        const row = rows.get(id) as Task;
        const expected = stateOf(state, job.attemptsMade);
        expect({ id, state: row.state }).toEqual({ id, state: expected });
        expect(row).toMatchObject({
          id,
          name: job.name,
          queue: job.queueName,
          args: JSON.stringify(job.data),
          result: job.returnvalue ? JSON.stringify(job.returnvalue) : null,
          exception: expected === 'FAILURE' || expected === 'RETRY' ? job.failedReason : null,
          traceback: expected === 'FAILURE' || expected === 'RETRY' ? (job.stacktrace?.at(-1) ?? null) : null,
          sent: new Date(job.timestamp),
          started: job.processedOn ? new Date(job.processedOn) : null,
          finished: job.finishedOn ? new Date(job.finishedOn) : null,
          worker: job.processedOn ? `${job.queueName}-1` : null,
          eta: state === 'delayed' ? expect.any(Date) : null,
          parentId: job.parentKey ? job.parentKey.replace(/^bull:/, '') : null,
          rootId: job.parentKey ? job.parentKey.replace(/^bull:/, '') : id,
        });
      }
      expect(new Set([...rows.values()].map((row) => row.state))).toEqual(
        new Set(['PENDING', 'RETRY', 'SUCCESS', 'FAILURE']),
      );
      expect(misplaced([...rows.values()])).toEqual([]);
    }, 120_000);

    it('are found by each filter as BullMQ counts them', async () => {
      for (const queue of queues) {
        const rows = await walk(sources, { queues: [queue.name], limit: 50 });
        const counts = await queue.getJobCounts(...ALL);
        const sum = Object.values(counts).reduce((total, count) => total + count, 0);
        expect(rows.length).toBe(sum);
        expect((await page(sources, { queues: [queue.name] })).total).toBe(sum);
        const done = await walk(sources, { queues: [queue.name], states: ['SUCCESS'], limit: 50 });
        expect(done.length).toBe(counts.completed);
        const failed = await walk(sources, { queues: [queue.name], states: ['FAILURE'], limit: 50 });
        expect(failed.length).toBe(counts.failed);
      }
      const all = await walk(sources);
      for (const part of [
        { states: ['RETRY'] },
        { states: ['PENDING'] },
        { states: ['PENDING', 'FAILURE'] },
        { names: ['page', 'later'] },
        { workers: ['mail-1'] },
      ]) {
        const [[field, wanted]] = Object.entries(part) as [[string, string[]]];
        const holds = (row: Task): boolean => wanted.includes(String(row[field.slice(0, -1) as keyof Task]));
        expect((await walk(sources, { ...part, limit: 33 })).map(({ id }) => id)).toEqual(
          all.filter(holds).map(({ id }) => id),
        );
      }
    }, 60_000);

    it('are found by their ids, whatever is in them', async () => {
      const id = 'report:custom/id?é 100%';
      expect((await detail(sources, decodeURIComponent(encodeURIComponent(id))))?.id).toBe(id);
    });
  },
);
