import type { Job } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import type { Queue } from '../../src/model.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { context, page } from '../helpers/bullmq-read.ts';
import { SAMPLED_VERSIONS } from '../helpers/bullmq-versions.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';

describe.skipIf(redisMissing !== null).each(SAMPLED_VERSIONS)(
  titleUnless(redisMissing, 'queues of $label'),
  ({ bullmq }) => {
    let app: BullMQApp;
    let admin: Redis;

    beforeAll(async () => {
      app = await startBullMQ(bullmq);
      admin = new Redis(app.redis.port, '127.0.0.1');
    });
    afterAll(async () => {
      admin?.disconnect();
      await app?.close();
    });

    /** The row of one queue alone. */
    async function rowOf(queue: ReturnType<BullMQApp['queue']>): Promise<Queue> {
      const own = bullmqSources({ queues: [queue] });
      const rows = await own.queues.listQueues(context);
      own.close();
      expect(rows.map(({ name }) => name)).toEqual([queue.name]);
      return rows[0] as Queue;
    }

    it('count what waits, what is active, and who takes it', async () => {
      const before = Date.now();
      const queue = app.queue('counted');
      const manual = app.worker('counted', async () => {}, { autorun: false });
      const job = await queue.add('taken', {});
      await manual.getNextJob('token');
      await queue.addBulk(
        [{}, { priority: 2 }, { delay: 3_600_000 }].map((opts) => ({ name: 'a', data: {}, opts })),
      );
      const row = await rowOf(queue);
      expect(row).toMatchObject({ waiting: 2, reserved: 1 });
      expect(Number(row.asOf)).toBeGreaterThanOrEqual(before);
      expect(Number(row.oldestDueAt)).toBeGreaterThanOrEqual(job.timestamp);
      app.worker('counted', async () => {}, { name: 'ann' });
      await until(async () => ((await rowOf(queue)).consumers ?? 0) > 0);
    });

    it('count their jobs by state, as the list of tasks finds them', async () => {
      const queue = app.queue('states');
      const manual = app.worker('states', async () => {}, { autorun: false });
      const take = async (): Promise<Job> => (await manual.getNextJob('token')) as Job;
      for (const name of ['done', 'broken', 'active']) await queue.add(name, {});
      await (await take()).moveToCompleted(null, 'token', false);
      await (await take()).moveToFailed(new Error('torn'), 'token', false);
      await take();
      await queue.add('next', {});
      await queue.add('later', {}, { delay: 3_600_000 });
      for (const n of [1, 2]) await queue.add('first', {}, { priority: n });
      await app.flow().add({
        name: 'album',
        queueName: 'states',
        children: [{ name: 'part', queueName: 'other' }],
      });
      const counted = {
        ...{ waiting: 1, paused: 0, prioritized: 2, delayed: 1, 'waiting-children': 1 },
        ...{ active: 1, completed: 1, failed: 1 },
      };
      expect(await rowOf(queue)).toMatchObject({ engineStates: counted, isPaused: false });
      await queue.pause();
      const paused = { ...counted, waiting: 0, paused: 1 };
      expect(await rowOf(queue)).toMatchObject({ engineStates: paused, isPaused: true });
      const own = bullmqSources({ queues: [queue] });
      for (const [state, total] of Object.entries(paused)) {
        const listed = await page(own, { engineStates: [state] });
        expect([state, listed.total]).toEqual([state, total]);
      }
      own.close();
    });

    it('have an oldest job only where one is due', async () => {
      const queue = app.queue('empty');
      expect((await rowOf(queue)).oldestDueAt).toBeNull();
      await queue.add('later', {}, { delay: 3_600_000 });
      expect((await rowOf(queue)).oldestDueAt).toBeNull();
    });

    it('tell since when the oldest waits: of waiting, paused, prioritized and overdue jobs', async () => {
      const now = Date.now();
      const queue = app.queue('aged');
      const oldest = async (): Promise<number> => Number((await rowOf(queue)).oldestDueAt);
      await queue.add('a', {}, { timestamp: now - 5_000 });
      await queue.add('b', {}, { timestamp: now - 1_000 });
      expect(await oldest()).toBe(now - 5_000);
      // The oldest has the least urgent priority.
      await queue.add('c', {}, { timestamp: now - 6_000, priority: 9 });
      await queue.add('d', {}, { timestamp: now - 2_000, priority: 1 });
      expect(await oldest()).toBe(now - 6_000);
      await queue.pause();
      expect(await oldest()).toBe(now - 6_000);
      await queue.add('e', {}, { timestamp: now - 20_000, delay: 1_000 });
      expect(await oldest()).toBe(now - 19_000);
    });

    it('do not count the delay of a job that has joined the others', async () => {
      const queue = app.queue('joined');
      const job = await queue.add('a', {}, { timestamp: Date.now() - 3_601_000, delay: 3_600_000 });
      await admin.zrem('bull:joined:delayed', job.id as string);
      await admin.lpush('bull:joined:wait', job.id as string);
      expect((await rowOf(queue)).oldestDueAt).toEqual(new Date(job.timestamp + 3_600_000));
    });
  },
);
