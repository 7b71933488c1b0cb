import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import type { WorkersBody } from '../../src/wire.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { SAMPLED_VERSIONS } from '../helpers/bullmq-versions.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { redisMissing, titleUnless } from '../helpers/redis-server.ts';
import { serve } from '../router/host-kit.ts';

const NAMED = 'ann';

describe.skipIf(redisMissing !== null).each(SAMPLED_VERSIONS)(
  titleUnless(redisMissing, 'what runs on workers of $label'),
  ({ bullmq }) => {
    let app: BullMQApp;
    let sources: BullMQSources;

    beforeAll(async () => {
      app = await startBullMQ(bullmq);
    });

    afterAll(async () => {
      sources?.close();
      await app?.close();
    });

    it('is listed with its start, the longest first, and apart where no worker has a name', async () => {
      const [video, mail] = [app.queue('video'), app.queue('mail')];
      sources = bullmqSources({ queues: [video, mail] });
      const host = await serve(EXPRESS, { sources });
      const running = async (most = 20): Promise<WorkersBody> =>
        (await host.get<WorkersBody>(`/api/workers/?running=${most}`)).body;
      let end = (): void => {};
      const ended = new Promise<void>((resolve) => {
        end = resolve;
      });
      app.worker('video', () => ended, { name: NAMED, concurrency: 3 });
      app.worker('mail', () => ended);
      for (const file of ['a', 'b', 'c']) {
        await video.add('encode', { file, password: 'hunter2' }, { jobId: file });
        await app.settled(video, 'abc'.indexOf(file) + 1, 'active');
      }
      await mail.add('send', {}, { jobId: 'letter' });
      await app.settled(mail, 1, 'active');
      const jobs = await Promise.all(['a', 'b', 'c'].map((id) => video.getJob(id)));
      // What runs is shared for a second, and may have been read before.
      await expect.poll(async () => (await running()).unassigned?.length, { timeout: 60_000 }).toBe(1);
      await expect
        .poll(async () => (await running()).workers.find(({ hostname }) => hostname === NAMED)?.running_total)
        .toBe(3);
      const { workers, unassigned } = await running();
      const worker = workers.find(({ hostname }) => hostname === NAMED);
      expect(worker?.running).toEqual(
        jobs.map((job) => ({
          task_id: `video:${job?.id}`,
          name: 'encode',
          queue: 'video',
          args: JSON.stringify({ file: job?.id, password: '***' }),
          kwargs: null,
          started: new Date(job?.processedOn ?? Number.NaN).toISOString(),
          runtime_p95: null,
          // Nobody knows how long such jobs take, but no job is stuck within its first minutes.
          stuck: false,
        })),
      );
      // How many jobs a worker takes at a time is not known.
      expect(worker?.stuck).toBeNull();
      expect(unassigned).toMatchObject([
        { source: 'bullmq', running: [{ task_id: 'mail:letter' }], running_total: 1 },
      ]);
      const one = (await running(1)).workers.find(({ hostname }) => hostname === NAMED);
      expect(one).toMatchObject({ running: [{ task_id: 'video:a' }], running_total: 3 });
      end();
      await app.settled(video, 3, 'completed');
      await app.settled(mail, 1, 'completed');
      await expect
        .poll(async () => JSON.stringify((await running()).workers.map((w) => w.running_total)), {
          timeout: 20_000,
        })
        .not.toContain('3');
      const after = await running();
      expect(after.workers.find(({ hostname }) => hostname === NAMED)?.running).toEqual([]);
      expect(after.unassigned).toEqual([]);
    });
  },
);
