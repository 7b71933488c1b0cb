import type { Queue } from 'bullmq';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import type { TaskStats } from '../../src/source.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { context, page, queryOf } from '../helpers/bullmq-read.ts';
import { SAMPLED_VERSIONS } from '../helpers/bullmq-versions.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';

const TOKEN = 'token';

function declined(customer: number): Error {
  return new RangeError(`Card of customer ${customer} declined`);
}

describe.skipIf(redisMissing !== null).each(SAMPLED_VERSIONS)(
  titleUnless(redisMissing, 'causes of jobs of $label'),
  ({ bullmq }) => {
    let app: BullMQApp;
    let sources: BullMQSources;
    let queues: Record<'album' | 'page', Queue>;

    beforeAll(async () => {
      app = await startBullMQ(bullmq);
      queues = { album: app.queue('album'), page: app.queue('page') };
      sources = bullmqSources({ queues: Object.values(queues) });
    });

    afterAll(async () => {
      sources?.close();
      await app?.close();
    });

    async function statsOf(): Promise<TaskStats | undefined> {
      const asked = { minutes: 60, now: new Date(), causes: 50, filter: queryOf() };
      return sources.tasks.getTaskStats?.(asked, context);
    }

    it('group real failures, filter lists, and leave out a parent that failed because of its child', async () => {
      const worker = app.worker('page', async () => {}, { autorun: false });
      const fail = async (error: Error): Promise<void> => {
        const job = await worker.getNextJob(TOKEN);
        await job?.moveToFailed(error, TOKEN);
      };
      for (const n of [1, 2, 3]) {
        await queues.page.add(`charge-${n}`, { n });
        await fail(declined(n));
      }
      await queues.page.add('read', {});
      await fail(new TypeError('no such page'));
      const child = { name: 'child', queueName: 'page', opts: { failParentOnFailure: true } };
      const flow = await app.flow().add({ name: 'parent', queueName: 'album', children: [child] });
      await fail(declined(4));
      // Some versions fail the parent once a worker takes it.
      app.worker('album', async () => {});
      await until(async () => (await page(sources, { states: ['FAILURE'] })).tasks.length === 6);
      const stats = await statsOf();
      expect(stats?.causes).toMatchObject([
        {
          count: 4,
          exception: 'RangeError',
          message: 'Card of customer <number> declined',
          frame: 'causes.test.ts in declined',
        },
        { count: 1, exception: 'TypeError', names: ['read'] },
      ]);
      const [first] = stats?.causes ?? [];
      const { tasks } = await page(sources, { causes: [first?.id ?? ''] });
      expect(tasks.map(({ name }) => name).sort()).toEqual(['charge-1', 'charge-2', 'charge-3', 'child']);
      const parent = await sources.tasks.getTask(`album:${flow.job.id}`, context);
      expect(parent).toMatchObject({ state: 'FAILURE', flags: ['consequence'] });
      expect(queryOf().causeOf(parent ?? { id: '', state: '' })).toBeNull();
      expect((await page(sources, { causes: ['unknown'] })).tasks).toEqual([]);
    });
  },
);
