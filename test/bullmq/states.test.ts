import type { Job, Queue, Worker } from 'bullmq';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import type { Task, TaskDetail } from '../../src/model.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { detail, page } from '../helpers/bullmq-read.ts';
import { BULLMQ_VERSIONS } from '../helpers/bullmq-versions.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';

describe.skipIf(redisMissing !== null).each(BULLMQ_VERSIONS)(
  titleUnless(redisMissing, 'a job of $label'),
  ({ bullmq }) => {
    let app: BullMQApp;
    let queue: Queue;
    let sources: BullMQSources;
    let worker: Worker;

    beforeAll(async () => {
      app = await startBullMQ(bullmq);
      queue = app.queue('mail');
      sources = bullmqSources({ queues: [queue] });
      // It takes a job only when it is told to.
      worker = app.worker('mail', async () => {}, { name: 'mailer-1', autorun: false });
    });

    afterAll(async () => {
      sources?.close();
      await app?.close();
    });

    const TOKEN = 'token';

    /** The next job, taken. */
    async function taken(): Promise<Job> {
      return (await worker.getNextJob(TOKEN)) as Job;
    }

    const whole = async (id: string): Promise<TaskDetail> => (await detail(sources, id)) as TaskDetail;

    /** As the list and as its own page show it, which must agree but for the options. */
    async function shown(job: Job): Promise<Task> {
      const id = `mail:${job.id}`;
      const { tasks } = await page(sources, { limit: 1000 });
      const row = tasks.find((task) => task.id === id);
      const { children, timeline, kwargs, options, attempts, log, traceId, ...rest } = await whole(id);
      const { ahead, waitsFor, ...own } = rest;
      expect({ ...own, kwargs: null }).toEqual(row);
      expect([typeof ahead === 'number', waitsFor]).toEqual([
        /^(?:waiting|paused|prioritized)$/.test(row?.engineState ?? ''),
        null,
      ]);
      const { opts, attemptsMade } = (await queue.getJob(job.id ?? '')) as Job;
      expect(JSON.parse(String(kwargs))).toEqual(JSON.parse(JSON.stringify(opts)));
      expect([options, children, log?.total, traceId]).toEqual([kwargs, [], log?.lines.length, null]);
      expect(attempts?.length).toBe(attemptsMade + (row?.state === 'STARTED' ? 1 : 0));
      expect(timeline?.at(-1)?.state).toBe(row?.state);
      return row as Task;
    }

    /** What BullMQ's own API says, in our words. */
    async function told(job: Job): Promise<Partial<Task>> {
      const own = (await queue.getJob(job.id ?? '')) as Job;
      return {
        name: own.name,
        queue: 'mail',
        args: JSON.stringify(own.data),
        sent: new Date(own.timestamp),
        started: own.processedOn ? new Date(own.processedOn) : null,
        finished: own.finishedOn ? new Date(own.finishedOn) : null,
      };
    }

    it('that waits is PENDING', async () => {
      const job = await queue.add('send', { to: 'ann' });
      expect(await shown(job)).toMatchObject({
        ...(await told(job)),
        state: 'PENDING',
        engineState: 'waiting',
        worker: null,
        timestamp: new Date(job.timestamp),
        ...{ retries: 0, eta: null, result: null, exception: null, runtime: null, parentId: null },
        rootId: `mail:${job.id}`,
      });
      await job.remove();
    });

    it('that has a priority is PENDING', async () => {
      const job = await queue.add('send', { to: 'bob' }, { priority: 3 });
      expect(await job.getState()).toBe('prioritized');
      expect(await shown(job)).toMatchObject({
        ...(await told(job)),
        state: 'PENDING',
        engineState: 'prioritized',
      });
      await job.remove();
    });

    it('that is delayed is PENDING, with the time that it is due', async () => {
      const job = await queue.add('send', { to: 'cy' }, { delay: 3_600_000 });
      expect(await shown(job)).toMatchObject({
        ...(await told(job)),
        state: 'PENDING',
        engineState: 'delayed',
        eta: new Date(job.timestamp + 3_600_000),
        timestamp: new Date(job.timestamp),
        flags: [],
      });
      await job.remove();
    });

    it('that is due and not taken is overdue', async () => {
      const job = await queue.add('send', {}, { delay: 1 });
      // Asked for alone: between a list and a page of its own the clock may make it due.
      await until(async () => (await detail(sources, `mail:${job.id}`))?.flags?.[0] === 'overdue');
      expect((await shown(job)).state).toBe('PENDING');
      await job.remove();
    });

    it('of a paused queue is PENDING', async () => {
      await queue.pause();
      const job = await queue.add('send', { to: 'dee' });
      expect(await shown(job)).toMatchObject({
        ...(await told(job)),
        state: 'PENDING',
        engineState: 'paused',
      });
      await job.remove();
      await queue.resume();
    });

    it('that waits for its children is PENDING', async () => {
      const { job, children: [child] = [] } = await app.flow().add({
        name: 'album',
        queueName: 'mail',
        children: [{ name: 'part', queueName: 'elsewhere' }],
      });
      expect(await job.getState()).toBe('waiting-children');
      const id = `mail:${job.id}`;
      const row = (await page(sources)).tasks.find((task) => task.id === id);
      expect(row).toMatchObject({ ...(await told(job)), state: 'PENDING', engineState: 'waiting-children' });
      const { children, ...own } = await whole(id);
      expect(own).toMatchObject({ ...row, kwargs: own.kwargs });
      expect(own.kwargs).toBe('{"attempts":0}');
      expect(children).toEqual([`elsewhere:${child?.job.id}`]);
      await job.remove();
    });

    it('that runs is STARTED, at its worker', async () => {
      const job = await queue.add('send', {});
      const own = await taken();
      expect(await shown(job)).toMatchObject({
        ...(await told(job)),
        state: 'STARTED',
        worker: 'mailer-1',
        finished: null,
        flags: [],
      });
      await own.moveToCompleted(null, TOKEN, false);
    });

    it('that has returned is SUCCESS, with its result and run time', async () => {
      const job = await queue.add('send', { to: 'eve' });
      await (await taken()).moveToCompleted({ sent: true }, TOKEN, false);
      const row = await shown(job);
      const facts = await told(job);
      expect(row).toMatchObject({
        ...facts,
        state: 'SUCCESS',
        result: '{"sent":true}',
        worker: 'mailer-1',
        timestamp: facts.finished,
        retries: 0,
        exception: null,
        traceback: null,
      });
      expect(row.runtime).toBe((Number(facts.finished) - Number(facts.started)) / 1_000);
      const text = await queue.add('text', {});
      await (await taken()).moveToCompleted('sent', TOKEN, false);
      expect((await shown(text)).result).toBe('sent');
    });

    it('that has failed for good is FAILURE, with its reason and stack trace', async () => {
      const job = await queue.add('fail', { to: 'fay' });
      await (await taken()).moveToFailed(new TypeError('no fay'), TOKEN, false);
      const row = await shown(job);
      expect(row).toMatchObject({ ...(await told(job)), state: 'FAILURE', exception: 'no fay', retries: 0 });
      expect(row.traceback).toMatch(/^TypeError: no fay\n\s+at /);
    });

    it.each([
      ['at once', {}, 'waiting'],
      ['after a while', { backoff: 3_600_000 }, 'delayed'],
      ['with its priority', { priority: 2 }, 'prioritized'],
    ])('that has failed and waits for its next run, %s, is RETRY', async (_, options, state) => {
      const job = await queue.add('fail', { to: 'gil' }, { attempts: 3, ...options });
      await (await taken()).moveToFailed(new TypeError('no gil'), TOKEN, false);
      expect(await job.getState()).toBe(state);
      const row = await shown(job);
      expect(row).toMatchObject({ ...(await told(job)), state: 'RETRY', exception: 'no gil', retries: 1 });
      expect(row.traceback).toMatch(/^TypeError: no gil\n/);
      if (state === 'delayed') expect(Number(row.timestamp)).toBe(Number(row.eta) - 3_600_000);
      await job.remove();
    });

    it('that has failed and then returned is SUCCESS, and tells each run', async () => {
      const job = await queue.add('fail', { to: 'hal' }, { attempts: 3 });
      await (await taken()).moveToFailed(new TypeError('no hal'), TOKEN, false);
      const again = await taken();
      await again.log('dialling');
      await again.log('ringing');
      await again.moveToCompleted('ok', TOKEN, false);
      expect(await shown(job)).toMatchObject({
        state: 'SUCCESS',
        retries: 1,
        exception: null,
        traceback: null,
      });
      const { timeline, attempts, log, started, finished, sent } =
        (await detail(sources, `mail:${job.id}`)) ?? {};
      expect(timeline).toEqual([
        { state: 'PENDING', timestamp: sent, worker: null, detail: null },
        { state: 'RETRY', timestamp: null, worker: null, detail: 'TypeError: no hal' },
        { state: 'STARTED', timestamp: started, worker: 'mailer-1', detail: 'dialling\nringing' },
        { state: 'SUCCESS', timestamp: finished, worker: 'mailer-1', detail: null },
      ]);
      expect(attempts).toEqual([
        { number: 1, started: null, finished: null, error: 'TypeError: no hal' },
        { number: 2, started, finished, error: null },
      ]);
      expect(log).toEqual({ lines: ['dialling', 'ringing'], total: 2 });
    });

    it('that is asked for once more is RETRY', async () => {
      const job = await queue.add('fail', {});
      await (await taken()).moveToFailed(new TypeError('no ida'), TOKEN, false);
      await job.retry();
      expect(await shown(job)).toMatchObject({
        ...(await told(job)),
        state: 'RETRY',
        retries: 1,
        exception: null,
      });
      await job.remove();
    });

    it('that is not there is null', async () => {
      for (const id of 'mail:no nowhere:1 mail mail: :1 mail:meta mail:wait mail:1:logs'.split(' ')) {
        expect([id, await detail(sources, id)]).toEqual([id, null]);
      }
    });
  },
);
