/** Counts over time of recorded jobs: statistics of long ranges, and how much waited in queues. */
import * as bullmq from 'bullmq';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import type { TaskStats } from '../../src/source.ts';
import { type ArrayStore, createArrayStore } from '../helpers/array-store.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { context, queryOf } from '../helpers/bullmq-read.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import { recordQueues } from './recorded-lab.ts';

const DAY_MINUTES = 24 * 60;

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'counts of recorded jobs'), () => {
  let app: BullMQApp;
  let store: ArrayStore;
  let open: BullMQSources[];

  beforeEach(async () => {
    app = await startBullMQ(bullmq);
    store = createArrayStore();
    open = [];
  });

  afterEach(async () => {
    await Promise.all(open.map((sources) => sources.close()));
    await app.close();
  });

  function instance(): BullMQSources {
    const sources = bullmqSources({ connection: app.redis.url(), store });
    open.push(sources);
    return sources;
  }

  async function stats(sources: BullMQSources, minutes: number, stepSeconds = 3_600): Promise<TaskStats> {
    const query = { minutes, stepSeconds, now: new Date(), filter: queryOf() };
    return (await sources.tasks.getTaskStats?.(query, context)) as TaskStats;
  }

  /** The same of the counts, once the store is open. */
  async function counts(sources: BullMQSources, days: number): Promise<TaskStats> {
    const read = (): Promise<TaskStats> => stats(sources, days * DAY_MINUTES, 86_400);
    await until(async () => {
      const { computedFrom, countedSince } = await read();
      return computedFrom === 'rollups' && countedSince != null;
    }, 25_000);
    return read();
  }

  const recorded = async (sources: BullMQSources): Promise<number> =>
    (await sources.history?.getHistoryStats(context))?.tasks ?? 0;

  const sum = (counted: TaskStats, key: 'received' | 'succeeded' | 'failed' | 'retried'): number =>
    counted.series.reduce((total, step) => total + (step[key] ?? 0), 0);

  /** Jobs of which some fail at first or for good, and that are removed at once. */
  const addJobs = (queue: bullmq.Queue, count: number, backoff: number): Promise<bullmq.Job[]> =>
    queue.addBulk(
      Array.from({ length: count }, (_, n) => ({
        name: n % 2 ? 'send' : 'forward',
        data: { fails: n % 5 === 0 ? 2 : n % 5 === 1 ? 1 : 0 },
        opts: { removeOnComplete: true, removeOnFail: true, attempts: 2, backoff },
      })),
    );

  const work = (): bullmq.Worker =>
    app.worker('mail', async ({ data, attemptsMade }) => {
      if (data.fails > attemptsMade) throw new Error('no route');
    });

  it('answer ranges of up to 90 days', async () => {
    const queue = app.queue('mail');
    const on = await recordQueues(app, [queue], store);
    const jobs = await addJobs(queue, 50, 3_600_000);
    await on.read(...jobs);
    work();
    // How often a job was retried is known if it is read between its runs.
    await on.readErrors(...jobs.filter(({ data }) => data.fails > 0));
    await queue.promoteJobs();
    await on.recorded(50);
    await on.close();
    const again = instance();
    await until(async () => (await recorded(again)) === 50);
    for (const days of [8, 30, 90]) {
      const counted = await counts(again, days);
      expect(counted).toMatchObject({ computedFrom: 'rollups', stepSeconds: 86_400 });
      expect(counted.countedSince).toBeInstanceOf(Date);
      expect(counted.states).toEqual({ SUCCESS: 40, FAILURE: 10 });
      expect([sum(counted, 'succeeded'), sum(counted, 'failed')]).toEqual([40, 10]);
      // Each run of a job counts, and each of those that was retried.
      expect([sum(counted, 'received'), sum(counted, 'retried')]).toEqual([70, 20]);
      expect(counted.queues).toEqual(['mail']);
      expect(counted.names.map(({ name, count, failed }) => [name, count, failed]).sort()).toEqual([
        ['forward', 25, 5],
        ['send', 25, 5],
      ]);
    }
    const recent = await stats(again, 60, 60);
    expect(recent).toMatchObject({ computedFrom: 'tasks', states: { SUCCESS: 40, FAILURE: 10 } });
    // So the page knows which ranges it can offer.
    expect(recent.countedSince).toBeInstanceOf(Date);
  });

  it('have each job once, whoever records it', async () => {
    const [first, second] = [instance(), instance()];
    await addJobs(app.queue('mail'), 30, 0);
    work();
    await until(async () => (await recorded(second)) === 30 || (await recorded(first)) === 30);
    await Promise.all(open.map((sources) => sources.close()));
    // Whoever records next has no idea how far the others had come.
    for (const [kind] of store.rows('bullmq').texts) {
      if (kind.startsWith('bullmq')) store.rows('bullmq').texts.delete(kind);
    }
    const third = instance();
    await until(() => store.rows('bullmq').texts.has('bullmq-streams'));
    await third.close();
    const counted = await counts(instance(), 30);
    expect(counted.states).toEqual({ SUCCESS: 24, FAILURE: 6 });
    expect(sum(counted, 'received')).toBe(42);
  });

  it('have how much waited in each queue, and for how long', async () => {
    const addedAt = Date.now() - 60_000;
    await app.queue('mail').addBulk(
      Array.from({ length: 7 }, (_, n) => ({
        name: 'a',
        data: {},
        opts: { timestamp: addedAt, priority: n },
      })),
    );
    await app.queue('idle').add('later', {}, { delay: 3_600_000 });
    const sources = instance();
    await until(() => [...store.rows('bullmq').rollups.values()].some(({ level }) => level === 5));
    await sources.close();
    const { queueDepths } = await counts(instance(), 8);
    const [mail, idle] = queueDepths ?? [];
    expect([mail?.queue, mail?.waiting.at(-1)]).toEqual(['mail', 7]);
    expect(mail?.oldestSeconds.at(-1)).toBeGreaterThanOrEqual(60);
    expect([idle?.queue, idle?.waiting.at(-1), idle?.oldestSeconds.at(-1)]).toEqual(['idle', 0, null]);
  });
});
