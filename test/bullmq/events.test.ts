import type { Queue } from 'bullmq';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { cursorOf, feed, follow } from '../helpers/bullmq-events.ts';
import { SAMPLED_VERSIONS } from '../helpers/bullmq-versions.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import { itKeepsTheContract, NOT_SEEDED } from '../testing/contract-parts.ts';

const NO_TASKS = 'The source has no part tasks.';

/** What a feed alone gives the contract suite nothing for. */
const NOT_IN_EVENTS = {
  ...Object.fromEntries(Object.entries(NOT_SEEDED).filter(([name]) => name.startsWith('events: '))),
  'source: changes its revision when a task is added': NO_TASKS,
  'source: answers concurrent reads like a single one': NO_TASKS,
  'source: returns independent answers: changing one does not change another': NO_TASKS,
};

describe.skipIf(redisMissing !== null).each(SAMPLED_VERSIONS)(
  titleUnless(redisMissing, 'the activity of $label'),
  ({ bullmq }) => {
    let app: BullMQApp;
    let sources: BullMQSources;
    let mail: Queue;

    beforeAll(async () => {
      app = await startBullMQ(bullmq);
      mail = app.queue('mail');
      app.worker(
        'mail',
        async (job) => {
          if (job.name === 'step' && job.attemptsStarted === 1) {
            await job.moveToDelayed(Date.now() + 10, job.token);
            throw new bullmq.DelayedError();
          }
          if (job.name === 'progress') await job.updateProgress({ done: 50, password: 'canary' });
          if ((job.data.fails ?? 0) > job.attemptsMade) throw new Error(`broken ${job.data.fails}`);
          return 'r'.repeat(job.data.size ?? 1);
        },
        { name: 'postman' },
      );
      sources = bullmqSources({ connection: app.redis.url() });
      // What the contract needs of every kind.
      await mail.addBulk(
        [0, 1, 9].map((fails) => ({ name: 'seed', data: { fails }, opts: { attempts: 2 } })),
      );
      await app.settled(mail, 3, 'completed', 'failed');
    });

    afterAll(async () => {
      sources?.close();
      await app?.close();
    });

    /** What is told of a job until it has ended, oldest first. */
    async function told(name: string, data: object, options: object = {}): Promise<readonly string[]> {
      const since = { cursor: await cursorOf(sources) };
      const job = await mail.add(name, data, options);
      const id = `mail:${job.id}`;
      await until(async () => {
        const { events } = await feed(sources, { since, states: ['SUCCESS', 'FAILURE'] });
        return events.some(({ taskId }) => taskId === id);
      });
      const { events } = await follow(sources, since);
      const own = events.filter(({ taskId }) => taskId === id);
      if (own.some(({ task }) => task !== name)) throw new Error(JSON.stringify(own));
      return own.map(({ type, state }) => `${type} ${state}`);
    }

    it('is told in the words of Celery where they mean the same', async () => {
      expect(await told('send', {})).toEqual([
        'task-sent PENDING',
        'task-started STARTED',
        'task-succeeded SUCCESS',
      ]);
      const failed = await told('fail', { fails: 9 });
      expect(failed.slice(0, 3)).toEqual([
        'task-sent PENDING',
        'task-started STARTED',
        'task-failed FAILURE',
      ]);
    });

    it('tells that a job has failed and is tried again, at once and later', async () => {
      const life = [
        'task-sent PENDING',
        'task-started STARTED',
        'task-retried RETRY',
        'task-started STARTED',
        'task-retried RETRY',
      ];
      expect(await told('again', { fails: 2 }, { attempts: 3 })).toEqual([
        ...life,
        'task-started STARTED',
        'task-succeeded SUCCESS',
      ]);
      const later = await told('later', { fails: 2 }, { attempts: 3, backoff: 20 });
      expect(later.filter((text) => text !== 'waiting RETRY')).toEqual([
        ...life,
        'task-started STARTED',
        'task-succeeded SUCCESS',
      ]);
      expect(later).toContain('waiting RETRY');
    });

    it('does not take for a retry what a job asks for itself', async () => {
      const life = await told('step', {});
      expect(life).toContain('task-succeeded SUCCESS');
      expect(life.filter((text) => text.startsWith('task-retried'))).toEqual([]);
      expect(life.filter((text) => text.startsWith('delayed')).length).toBe(1);
      const delayed = await told('delayed', {}, { delay: 30 });
      expect(delayed.slice(0, 3)).toEqual(['task-sent PENDING', 'delayed PENDING', 'waiting PENDING']);
    });

    it('has names, workers, times and what is worth saying of it', async () => {
      const since = { cursor: await cursorOf(sources) };
      const job = await mail.add('progress', { size: 100_000 });
      const bad = await mail.add('fail', { fails: 1 }, { removeOnFail: true });
      await until(
        async () => (await feed(sources, { since, states: ['FAILURE'], tasks: ['fail'] })).events.length > 0,
      );
      await until(async () => (await feed(sources, { since, states: ['SUCCESS'] })).events.length > 0);
      const { events } = await feed(sources, { since });
      const of = (type: string, id?: string) =>
        events.find((event) => event.type === type && (id === undefined || event.taskId === `mail:${id}`));
      expect(of('task-started', job.id)).toMatchObject({
        task: 'progress',
        worker: 'postman',
        state: 'STARTED',
      });
      expect(of('progress', job.id)).toMatchObject({
        state: 'STARTED',
        detail: '{"done":50,"password":"***"}',
      });
      expect(of('task-succeeded', job.id)).toMatchObject({ worker: 'postman', detail: null });
      // It was removed as it failed.
      expect(of('task-failed', bad.id)).toMatchObject({ task: 'fail', detail: 'broken 1' });
      expect(Number(of('task-sent', job.id)?.timestamp)).toBeGreaterThan(1_700_000_000_000);
      const workers = await feed(sources, { since, workers: ['postman'] });
      expect(workers.events.length).toBeGreaterThan(0);
      expect(JSON.stringify(events).length).toBeLessThan(20_000);
    });

    it('has what happens to whole queues, and nothing of a job in it', async () => {
      const since = { cursor: await cursorOf(sources) };
      await mail.pause();
      await mail.resume();
      await until(async () => (await feed(sources, { since })).events.some(({ type }) => type === 'resumed'));
      const { events } = await feed(sources, { since });
      expect(events.filter(({ type }) => type === 'paused' || type === 'resumed')).toEqual([
        expect.objectContaining({ type: 'resumed', task: null, taskId: null, detail: 'queue mail' }),
        expect.objectContaining({ type: 'paused', task: null, taskId: null, detail: 'queue mail' }),
      ]);
    });

    itKeepsTheContract(
      {
        parts: ['events'],
        create() {
          const { events, close } = bullmqSources({ connection: app.redis.url() });
          return { sources: { events, close } };
        },
      },
      NOT_IN_EVENTS,
    );

    it('keeps the contract while jobs go on', async () => {
      const since = { cursor: await cursorOf(sources) };
      const seen: string[] = [];
      let place = since;
      const jobs = [1, 2, 3].map((fails) => ({ name: 'busy', data: { fails }, opts: { attempts: 2 } }));
      await mail.addBulk(jobs);
      await until(async () => {
        const page = await feed(sources, { since: place, limit: 7 });
        expect(page.gap).toBe(false);
        seen.push(...page.events.toReversed().map(({ id }) => id));
        place = { cursor: page.cursor };
        if (page.events.length > 0) await mail.addBulk(jobs);
        return seen.length >= 500;
      });
      await app.settled(mail, 0, 'active', 'waiting', 'delayed');
      const other = bullmqSources({ queues: [mail] });
      // On another instance, which has seen nothing of it.
      const rest = await follow(other, place);
      seen.push(...rest.events.map(({ id }) => id));
      const all = await follow(other, since);
      other.close();
      expect(new Set(seen).size).toBe(seen.length);
      expect(new Set(seen)).toEqual(new Set(all.events.map(({ id }) => id)));
    }, 60_000);
  },
);
