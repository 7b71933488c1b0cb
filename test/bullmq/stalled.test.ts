/** Jobs whose worker loses its lock, so that another one runs them again. */
import type { Job, Queue, Worker } from 'bullmq';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import type { ComponentBody, ComponentsBody, TaskBody } from '../../src/wire.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { SAMPLED_VERSIONS } from '../helpers/bullmq-versions.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import { serve } from '../router/host-kit.ts';

describe.skipIf(redisMissing !== null).each(SAMPLED_VERSIONS)(
  titleUnless(redisMissing, 'a stalled job of $label'),
  ({ bullmq }) => {
    let app: BullMQApp;
    beforeEach(async () => {
      app = await startBullMQ(bullmq);
    });
    afterEach(() => app.close());

    /** A monitor of a queue. */
    async function monitor(queue: Queue) {
      const host = await serve(EXPRESS, { sources: bullmqSources({ queues: [queue] }) });
      return {
        findings: async () =>
          ((await host.get<ComponentsBody>('/api/components/')).body.findings as Required<ComponentBody>)
            .findings,
        flags: async () =>
          (await host.get<{ tasks: TaskBody[] }>('/api/tasks/')).body.tasks.map(({ flags }) => flags),
      };
    }

    /** A worker that loses its lock on what it runs, and never ends it. */
    function deaf(name: string): Worker {
      const options = { name: 'ann', lockDuration: 300, skipLockRenewal: true, skipStalledCheck: true };
      return app.worker(name, () => new Promise(() => {}), options);
    }
    /** A worker that takes over at once what has stalled. */
    const watchful = (name: string, run: (job: Job) => Promise<unknown>, more: object = {}): Worker =>
      app.worker(name, run, { name: 'bob', stalledInterval: 200, ...more });

    it('has run twice once another worker has taken it', async () => {
      const queue = app.queue('mail');
      const { findings, flags } = await monitor(queue);
      deaf(queue.name);
      const job = await queue.add('send', {});
      await app.settled(queue, 1, 'active');
      expect((await flags()).flat()).not.toContain('ran_twice');
      watchful(queue.name, async () => 'done');
      await app.settled(queue, 1, 'completed');
      await until(async () => (await findings()).some(({ code }) => code === 'task_ran_twice'));
      expect((await findings()).filter(({ code }) => code === 'task_ran_twice')).toMatchObject([
        {
          ...{ severity: 'warning', subject: 'send', look: '/api/tasks/?name=send' },
          evidence: {
            tasks: 1,
            examples: [{ task_id: `mail:${job.id}`, runs: [{ finished: null }, { worker: 'bob' }] }],
          },
        },
      ]);
      // Requests within a second share an answer.
      await until(async () => (await flags())[0]?.includes('ran_twice') === true);
    });

    it('has not where it failed, was given back, was retried, or stalled too often to run again', async () => {
      const queue = app.queue('mail');
      const { findings, flags } = await monitor(queue);
      watchful(queue.name, async (job) => {
        if (job.name === 'fails') throw new Error('no');
        if (job.name === 'later' && job.data.isGiven !== true) {
          await job.updateData({ isGiven: true });
          await job.moveToDelayed(Date.now() + 50, job.token);
          throw new bullmq.DelayedError();
        }
      });
      await queue.add('fails', {}, { attempts: 3, backoff: 50 });
      await queue.add('later', {});
      await queue.add('once', {});
      await app.settled(queue, 3, 'completed', 'failed');
      const never = app.queue('never');
      const { flags: flagsOfNever, findings: ofNever } = await monitor(never);
      deaf(never.name);
      await never.add('send', {});
      await app.settled(never, 1, 'active');
      watchful(never.name, async () => 'done', { maxStalledCount: 0 });
      await app.settled(never, 1, 'failed');
      for (const found of [await findings(), await ofNever()]) {
        expect(found.map(({ code }) => code)).not.toContain('task_ran_twice');
      }
      expect([...(await flags()), ...(await flagsOfNever())]).toEqual([[], [], [], []]);
    });

    it('is a suspect when it ran at three losses, among others that ran more', async () => {
      const queue = app.queue('mail');
      const { findings } = await monitor(queue);
      watchful(queue.name, () => new Promise((resolve) => setTimeout(resolve, 900)), { concurrency: 20 });
      await queue.addBulk(Array.from({ length: 60 }, () => ({ name: 'light', data: {} })));
      await app.settled(queue, 60, 'completed');
      const heavy = app.queue('heavy');
      const both = await serve(EXPRESS, { sources: bullmqSources({ queues: [queue, heavy] }) });
      for (let at = 1; at <= 3; at++) {
        const worker = deaf(heavy.name);
        await heavy.add('heavy', {});
        await app.settled(heavy, 1, 'active');
        await worker.close(true);
        const next = watchful(heavy.name, async () => 'done');
        await app.settled(heavy, at, 'completed');
        await next.close();
      }
      const found = (await both.get<ComponentsBody>('/api/components/')).body.findings?.findings ?? [];
      expect(found.filter(({ code }) => code === 'tasks_lost')).toMatchObject([
        {
          ...{ severity: 'warning', subject: 'heavy' },
          evidence: { deaths: 3, suspects: [{ name: 'heavy', deaths: 3 }] },
        },
      ]);
      expect((await findings()).map(({ code }) => code)).not.toContain('tasks_lost');
    });
  },
);
