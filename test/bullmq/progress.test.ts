import type { Job, Queue, Worker } from 'bullmq';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import type { Task } from '../../src/model.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { detail, page } from '../helpers/bullmq-read.ts';
import { SAMPLED_VERSIONS } from '../helpers/bullmq-versions.ts';
import { redisMissing, titleUnless } from '../helpers/redis-server.ts';
import { recordQueues } from './recorded-lab.ts';

const NOTHING = { current: null, total: null, percent: null, text: null };
const TOKEN = 'token';

describe.skipIf(redisMissing !== null).each(SAMPLED_VERSIONS)(
  titleUnless(redisMissing, 'the progress of a job of $label'),
  ({ bullmq }) => {
    let app: BullMQApp;
    let queue: Queue;

    beforeEach(async () => {
      app = await startBullMQ(bullmq);
      queue = app.queue('mail');
    });

    afterEach(() => app?.close());

    it('is on its row and its page, as the job last reported it', async () => {
      const worker: Worker = app.worker('mail', async () => {}, { autorun: false });
      const sources = bullmqSources({ queues: [queue] });
      const { id } = await queue.add('count', {});
      const job = (await worker.getNextJob(TOKEN)) as Job;
      const shown = async (): Promise<Task['progress']> => {
        const [row] = (await page(sources, { limit: 1 })).tasks;
        const own = await detail(sources, `mail:${id}`);
        expect(own?.progress).toEqual(row?.progress);
        return row?.progress;
      };
      const shownAs: [number | object | string | boolean, object | null][] = [
        [42, { percent: 42 }],
        [
          { done: 3, total: 4, message: 'rows' },
          { current: 3, total: 4, percent: 75, text: 'rows' },
        ],
        [{ file: 'a.csv', token: 's3cr3t' }, { text: '{"file":"a.csv","token":"***"}' }],
        ['half way', { text: 'half way' }],
        [true, null],
        [
          { percent: 5, log: 'x'.repeat(5_000) },
          { text: expect.stringMatching(/^\{"percent":5,"log":"x{300}/) },
        ],
      ];
      expect(await shown()).toBeNull();
      for (const [given, expected] of shownAs) {
        await job.updateProgress(given);
        expect(await shown()).toEqual(expected && { ...NOTHING, ...expected });
      }
      await job.updateProgress(99);
      await job.moveToCompleted('ok', TOKEN, false);
      expect(await shown()).toEqual({ ...NOTHING, percent: 99 });
      sources.close();
    });

    it.each([true, false])(
      'is kept when the job is removed; was it heard while it ran? %s',
      async (isHeard) => {
        let on = isHeard ? await recordQueues(app, [queue]) : null;
        const steps = [5, { current: 7, total: 8, text: 'last' }];
        const add = (): Promise<Job> => queue.add('send', { steps }, { removeOnComplete: true });
        const job = await add();
        await on?.read(job);
        app.worker('mail', async (running) => {
          for (const step of running.data.steps) await running.updateProgress(step);
        });
        await app.settled(queue, 0, 'wait', 'active');
        on ??= await recordQueues(app, [queue]);
        await on.recorded(1);
        const { tasks } = await on.page({ limit: 10 });
        expect(tasks).toMatchObject([
          { engineState: 'removed', progress: { current: 7, total: 8, percent: 87.5, text: 'last' } },
        ]);
        await on.close();
      },
    );
  },
);
