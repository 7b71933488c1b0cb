import type { Job, Queue } from 'bullmq';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Task } from '../../src/model.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { detail } from '../helpers/bullmq-read.ts';
import { SAMPLED_VERSIONS } from '../helpers/bullmq-versions.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import { type RecordedQueues, recordQueues } from './recorded-lab.ts';

describe.skipIf(redisMissing !== null).each(SAMPLED_VERSIONS)(
  titleUnless(redisMissing, 'a removed job of $label'),
  ({ bullmq }) => {
    let app: BullMQApp;
    let queue: Queue;
    let on: RecordedQueues;
    /** What the jobs that run wait for. */
    let running: (() => void)[];

    beforeEach(async () => {
      app = await startBullMQ(bullmq);
      queue = app.queue('mail');
      on = await recordQueues(app, [queue]);
      running = [];
    });

    afterEach(async () => {
      await on?.close();
      await app?.close();
    });

    /** A worker that runs each job until it is released. */
    function work(concurrency = 50): void {
      const processor = async ({ id, data }: Job): Promise<unknown> => {
        if (data.isHeld) await new Promise<void>((resolve) => running.push(resolve));
        if (data.fails) throw new Error('no route to host');
        return { sent: id };
      };
      app.worker('mail', processor, { name: 'mailer-1', concurrency });
    }

    async function release(count: number): Promise<void> {
      await until(() => running.length === count);
      for (const resolve of running.splice(0)) resolve();
    }

    async function row(id: string): Promise<Task | undefined> {
      const { tasks } = await on.page({ limit: 1_000 });
      return tasks.find((task) => task.id === id);
    }

    it('keeps everything that a job has which stays', async () => {
      work();
      const kept = await queue.add('send', { isHeld: true, to: 'ann' });
      const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
      const telemetry = { metadata: `{"traceparent":"00-${traceId}-00f067aa0ba902b7-01"}` };
      const gone = await queue.add(
        'send',
        { isHeld: true, to: 'ann' },
        { removeOnComplete: true, telemetry },
      );
      await on.read(kept, gone);
      await release(2);
      await on.recorded(2);
      const [stays, was] = [await row(`mail:${kept.id}`), await row(`mail:${gone.id}`)];
      const { redacted: _, stamps: _stamps, ...fields } = { ...stays };
      expect(was).toMatchObject({
        ...fields,
        id: `mail:${gone.id}`,
        rootId: `mail:${gone.id}`,
        engineState: 'removed',
        result: `{"sent":"${gone.id}"}`,
        sent: new Date(gone.timestamp),
        received: expect.any(Date),
        started: expect.any(Date),
        finished: expect.any(Date),
        timestamp: expect.any(Date),
        runtime: expect.any(Number),
        waitSeconds: expect.any(Number),
      });
      const own = await detail(on.sources, `mail:${gone.id}`);
      expect(JSON.parse(String(own?.kwargs))).toMatchObject({ removeOnComplete: true });
      expect(own?.timeline?.map(({ state }) => state)).toEqual(['PENDING', 'STARTED', 'SUCCESS']);
      expect(own?.traceId).toBe(traceId);
    });

    it('that was never read keeps what its events say', async () => {
      await on.close();
      work();
      const job = await queue.add('send', { to: 'bob' }, { removeOnComplete: true });
      const failed = await queue.add('send', { fails: true }, { removeOnFail: true });
      await app.settled(queue, 0, 'wait', 'active');
      on = await recordQueues(app, [queue]);
      await on.recorded(2);
      const times = { sent: expect.any(Date), started: expect.any(Date), finished: expect.any(Date) };
      const unknown = { args: null, worker: null, parentId: null, rootId: null, retries: null };
      expect(await row(`mail:${job.id}`)).toMatchObject({
        ...{ ...times, ...unknown, name: 'send', queue: 'mail', state: 'SUCCESS' },
        result: `{"sent":"${job.id}"}`,
      });
      expect(await row(`mail:${failed.id}`)).toMatchObject({
        ...{ ...times, ...unknown, name: 'send', queue: 'mail', state: 'FAILURE' },
        exception: 'no route to host',
      });
    });

    it('that failed, and ran again, has its attempts and its error', async () => {
      const options = { attempts: 2, backoff: 3_600_000, removeOnFail: true };
      const job = await queue.add('send', { fails: true }, options);
      await on.read(job);
      work();
      await on.readErrors(job);
      await queue.promoteJobs();
      await on.recorded(1);
      const own = await detail(on.sources, `mail:${job.id}`);
      expect(own).toMatchObject({
        state: 'FAILURE',
        retries: 1,
        exception: 'no route to host',
        waitSeconds: null,
      });
      expect(own?.traceback).toMatch(/^Error: no route to host\n/);
      const states = own?.timeline?.map(({ state }) => state);
      expect(states).toEqual(['PENDING', 'STARTED', 'RETRY', 'STARTED', 'FAILURE']);
    });

    it('is recorded once, however often its events are read', async () => {
      work();
      for (let n = 1; n <= 3; n += 1) {
        await queue.add('report', {}, { jobId: 'report', removeOnComplete: true });
        await on.recorded(n);
      }
      const job = await queue.add('send', { fails: true });
      await on.recorded(4);
      await (await queue.getJob(job.id ?? ''))?.retry();
      await until(async () => Number((await row(`mail:${job.id}`))?.retries) === 1);
      // Of a job that is gone, only its event tells when it was added.
      const rows = async (): Promise<unknown> =>
        (await on.walk())
          .filter(({ name }) => name !== 'end')
          .map(({ id, state, args, result, retries, finished }) => [
            id,
            state,
            args,
            result,
            retries,
            finished,
          ]);
      const before = await rows();
      await on.close();
      // Its position is lost, so it begins with the first event again.
      const { texts } = on.store.rows('bullmq');
      for (const kind of texts.keys()) if (kind.startsWith('bullmq')) texts.delete(kind);
      on = await recordQueues(app, [queue], on.store);
      const ended = await queue.add('end', {}, { removeOnComplete: true });
      await until(async () => (await row(`mail:${ended.id}`))?.state === 'SUCCESS');
      expect(await rows()).toEqual(before);
    });

    it('that somebody removed before it ended is REVOKED', async () => {
      const [waits, stays] = [await queue.add('send', { to: 'cy' }), await queue.add('send', {})];
      await on.read(waits, stays);
      await waits.remove();
      await on.recorded(1);
      const { tasks, total } = await on.page();
      expect(tasks.map(({ id, state, engineState }) => [id, state, engineState])).toEqual([
        [`mail:${waits.id}`, 'REVOKED', 'removed'],
        [`mail:${stays.id}`, 'PENDING', 'waiting'],
      ]);
      expect(total).toBe(2);
      expect(await detail(on.sources, `mail:${waits.id}`)).toMatchObject({ args: '{"to":"cy"}' });
    });
  },
);
