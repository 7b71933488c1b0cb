import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { context, detail, page, queryOf, walk } from '../helpers/bullmq-read.ts';
import { BULLMQ_VERSIONS } from '../helpers/bullmq-versions.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';

describe.skipIf(redisMissing !== null).each(BULLMQ_VERSIONS)(
  titleUnless(redisMissing, 'a job of $label'),
  ({ bullmq }) => {
    let app: BullMQApp;

    beforeAll(async () => {
      app = await startBullMQ(bullmq);
    });

    afterAll(() => app?.close());

    it('is found by its state in BullMQ’s own words', async () => {
      const other = app.queue('words');
      const stopped = app.queue('stopped');
      await stopped.pause();
      const own = bullmqSources({ queues: [other, stopped] });
      for (const n of [1, 2, 3]) {
        await other.add('now', {}, { jobId: `w${n}` });
        await stopped.add('now', {}, { jobId: `p${n}` });
        await other.add('later', {}, { jobId: `d${n}`, delay: 3_600_000 });
        await other.add('first', {}, { jobId: `q${n}`, priority: 2 });
      }
      const ids = {
        waiting: ['w1', 'w2', 'w3'].map((id) => `words:${id}`),
        paused: ['p1', 'p2', 'p3'].map((id) => `stopped:${id}`),
        delayed: ['d1', 'd2', 'd3'].map((id) => `words:${id}`),
        prioritized: ['q1', 'q2', 'q3'].map((id) => `words:${id}`),
        'waiting-children': [],
        PENDING: [],
      };
      for (const [word, wanted] of Object.entries(ids)) {
        for (const sort of ['timestamp', 'name'] as const) {
          const rows = await walk(own, { engineStates: [word], limit: 2, sort });
          expect([word, sort, rows.map(({ id }) => id).toSorted()]).toEqual([word, sort, wanted]);
          expect(new Set(rows.map(({ engineState }) => engineState))).toEqual(
            new Set(wanted.map(() => word)),
          );
        }
        expect((await page(own, { engineStates: [word] })).total).toBe(wanted.length);
      }
      const both = await walk(own, { engineStates: ['paused', 'delayed'], limit: 4 });
      expect(both.map(({ id }) => id).toSorted()).toEqual([...ids.paused, ...ids.delayed].toSorted());
      expect(await walk(own, { engineStates: ['paused'], states: ['RETRY'] })).toEqual([]);
      expect((await detail(own, 'stopped:p1'))?.engineState).toBe('paused');
      await stopped.resume();
      expect((await page(own, { engineStates: ['paused'] })).tasks).toEqual([]);
      own.close();
    });

    it('that failed because its child did is a consequence, and no failure of its own in figures', async () => {
      const [parts, albums] = [app.queue('parts'), app.queue('albums')];
      const own = bullmqSources({ queues: [parts, albums] });
      const fail = async (): Promise<never> => {
        throw new Error('torn');
      };
      app.worker('parts', fail);
      app.worker('albums', fail);
      await app.flow().add({
        name: 'album',
        queueName: 'albums',
        children: [{ name: 'part', queueName: 'parts', opts: { failParentOnFailure: true } }],
      });
      await until(async () => (await page(own, { states: ['FAILURE'] })).tasks.length === 2);
      const { tasks } = await page(own);
      expect(Object.fromEntries(tasks.map(({ name, flags }) => [name, flags]))).toEqual({
        album: ['consequence'],
        part: [],
      });
      const filter = queryOf();
      const stats = await own.tasks.getTaskStats?.({ minutes: 5, now: new Date(), filter }, context);
      expect(stats?.series.reduce((sum, { failed }) => sum + (failed ?? 0), 0)).toBe(1);
      expect(stats?.names.find(({ name }) => name === 'album')?.failed).toBe(0);
      own.close();
    });

    it('whose worker has let go of it is STARTED and worker_lost', async () => {
      const other = app.queue('left');
      const own = bullmqSources({ queues: [other] });
      const manual = app.worker('left', async () => {}, { autorun: false, lockDuration: 50 });
      const job = await other.add('send', {});
      await manual.getNextJob('token');
      await until(async () => (await detail(own, `left:${job.id}`))?.flags?.[0] === 'worker_lost');
      expect((await page(own)).tasks).toMatchObject([{ state: 'STARTED', flags: ['worker_lost'] }]);
      own.close();
    });
  },
);
