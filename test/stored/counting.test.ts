import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { StoredHistory } from '../../src/history/stored-history.ts';
import type { TaskStats } from '../../src/source.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { until } from '../helpers/redis-server.ts';
import { CONTEXT, query } from '../history/telling.ts';
import { countingLab, DAY, HOUR, type Lab, MINUTE, record, START, sum, write } from './counting.ts';
import { instanceOf, taskIn } from './instances.ts';

/** What is counted is counted once, whatever happens to the processes that count and to the store. */

let lab: Lab;
beforeEach(() => {
  lab = countingLab();
});

describe('counts in a store', () => {
  it.each(['before', 'after'] as const)(
    'are complete when a write failed, or was done and its answer lost: %s',
    async (moment) => {
      const one = await lab.start();
      record(one, lab.ended(5));
      let failures = 0;
      lab.store[moment] = (call) => {
        if (call !== 'rollups.add' || failures++ > 0) return;
        throw new Error('away');
      };
      await write(one, lab);
      await until(() => failures > 0);
      record(one, lab.ended(1));
      await one.close();
      expect(await lab.succeeded()).toEqual({ 0: 6 });
    },
  );

  it('are kept in memory while the store is away, and complete when it is back', async () => {
    const one = await lab.start();
    record(one, lab.ended(5));
    await write(one, lab);
    lab.store.before = () => {
      throw new Error('away');
    };
    for (let minute = 1; minute < 30; minute++) {
      lab.moveTo(minute);
      record(one, lab.ended(1));
    }
    await until(() => one.status().error !== null);
    lab.store.before = null;
    await until(() => one.status().error === null);
    await one.close();
    const found = await lab.succeeded();
    expect([found[0], Object.keys(found).length]).toEqual([5, 30]);
  });

  it('go on after a restart, without counting twice', async () => {
    await lab.run(lab.ended(5));
    lab.moveTo(0.5);
    await lab.run(lab.ended(3));
    expect(await lab.succeeded()).toEqual({ 0: 8 });
    lab.moveTo(59);
    const later = await lab.start();
    await write(later, lab);
    await later.close();
    expect(await lab.succeeded()).toEqual({ 0: 8 });
  });

  it('have results that the backend still has once, before and after they are loaded', async () => {
    const tasks = lab.ended(5);
    await lab.run(tasks);
    lab.moveTo(5);
    const stored = tasks.map((task) => ({ ...task, stored: true, origin: 'result' as const }));
    const missed = lab.ended(2, { time: START + 2 * MINUTE, stored: true, origin: 'result' });
    const after = await lab.start();
    record(after, [...stored.slice(0, 3), ...missed]);
    await write(after, lab);
    record(after, stored);
    await after.close();
    expect(await lab.succeeded()).toEqual({ 0: 5, 2: 2 });
  });

  it('are added where each instance hears its own part, and folded', async () => {
    const part = () => lab.start({ hearing: 'part' });
    const [a, b] = [await part(), await part()];
    record(a, lab.ended(2));
    record(b, lab.ended(3));
    await a.close();
    await b.close();
    const again = await part();
    record(again, lab.ended(4));
    lab.moveTo(61);
    await again.close();
    expect(await lab.succeeded(60, 61)).toEqual({ 0: 9 });
    expect(await lab.succeeded(3_600, 120)).toEqual({ 0: 9 });
  });

  it('take in what comes late, also for minutes that are no longer in memory', async () => {
    const one = await lab.start();
    record(one, lab.ended(5));
    await write(one, lab);
    lab.moveTo(40);
    record(one, lab.ended(1));
    await write(one, lab);
    record(one, lab.ended(2, { time: START + 1_000 }));
    await write(one, lab);
    record(one, lab.ended(1, { time: START + 2_000 }));
    await one.close();
    expect(await lab.succeeded()).toEqual({ 0: 8, 40: 1 });
  });
});

describe('minutes that become hours and days', { timeout: 240_000 }, () => {
  const byDay = () => lab.succeeded(86_400, 3 * 1_440);

  it('are counted once, on each level', async () => {
    for (let hour = 0; hour < 26; hour++) {
      lab.moveTo(hour * 60 + 1);
      await lab.run(lab.ended(2), ({ writer }) => writer.recordQueue('q', hour, null));
    }
    expect(await byDay()).toEqual({ 0: 48, 1: 4 });
    for (const filter of [{}, { names: ['pay'] }, { queues: ['q'] }, { workers: ['w'], queues: ['q'] }]) {
      const found = await lab.stats({ minutes: 2 * 1_440, stepSeconds: 3_600, ...filter });
      expect([sum(found), found.names[0]?.name, found.workers, found.queues]).toEqual([
        52,
        'pay',
        ['w'],
        ['q'],
      ]);
    }
    const { queueDepths } = await lab.stats({ minutes: 3 * 1_440, stepSeconds: 86_400 });
    expect(queueDepths).toMatchObject([{ queue: 'q', waiting: expect.arrayContaining([23, 25]) }]);
  });

  it('take in what comes late, also into hours and days that were made before', async () => {
    await lab.run(lab.ended(2));
    lab.moveTo(24 * 60 - 30);
    await lab.run(lab.ended(1));
    lab.moveTo(24 * 60 + 5);
    await lab.run([]);
    expect(await byDay()).toEqual({ 0: 3 });
    await lab.run(lab.ended(4, { time: START + 10 * MINUTE }));
    lab.moveTo(25 * 60 + 10);
    await lab.run([]);
    expect(await byDay()).toEqual({ 0: 7 });
    expect((await lab.succeeded(3_600, 2 * 1_440))[0]).toBe(6);
  });

  it('are made after a downtime by whoever takes over, and changed by nobody who does it again', async () => {
    await lab.run(lab.ended(2));
    lab.moveTo(40 * 60);
    for (let turn = 0; turn < 2; turn++) {
      await lab.run([]);
      expect(await byDay()).toEqual({ 0: 2 });
      expect(await lab.succeeded(3_600, 2 * 1_440)).toEqual({ 0: 2 });
    }
  });

  it('are dropped after their retention', async () => {
    lab = countingLab({ rollupDays: 4 });
    await lab.run(lab.ended(2));
    lab.moveTo((2 * DAY + 2 * HOUR) / MINUTE);
    await lab.run([]);
    expect(await lab.succeeded(3_600, 4 * 1_440)).toEqual({ 0: 2 });
    expect(await lab.succeeded(86_400, 4 * 1_440)).toEqual({ 0: 2 });
    lab.moveTo((5 * DAY) / MINUTE + 1);
    await lab.run([]);
    const kept = [...lab.store.rows('celery').rollups.values()].filter(({ start }) => start === START);
    expect(kept).toEqual([]);
  });
});

const WAIT = { timeout: 30_000, interval: 20 };
const DAY_MINUTES = 1_440;
const DAY_MS = DAY_MINUTES * 60_000;

function fail({ writer }: StoredHistory, id: string, exception: string, time = Date.now()): void {
  writer.recordTask({ id, type: 'failed', time, origin: 'event', name: 'pay', worker: 'w1@a', exception });
}

const statsOf = ({ readStats, reader }: StoredHistory, minutes: number): Promise<TaskStats> =>
  Promise.resolve(
    readStats({ minutes, now: new Date(), causes: 5, filter: query() }, CONTEXT, (asked, context) =>
      reader.getTaskStats(asked, context),
    ),
  );

describe('causes over a store', () => {
  it('are those of the whole window where statistics are made of counts', async () => {
    const store = createArrayStore();
    const history = instanceOf({ store });
    const old = Date.now() - 3 * DAY_MS;
    fail(history, 'old', 'KeyError(1)', old);
    const now = Date.now();
    for (const id of ['a', 'b']) fail(history, id, 'ValueError(2)', now);
    await vi.waitFor(() => expect(store.rows('celery').tasks.size).toBe(3), WAIT);
    const { causes, causesTruncated, computedFrom } = await statsOf(history, 30 * DAY_MINUTES);
    expect(computedFrom).toBe('rollups');
    expect(causesTruncated).toBe(false);
    expect(causes).toMatchObject([
      {
        exception: 'ValueError',
        message: '<number>',
        count: 2,
        names: ['pay'],
        workers: ['w1@a'],
        sample: 'a',
      },
      { exception: 'KeyError', count: 1, firstSeen: new Date(old), lastSeen: new Date(old), sample: 'old' },
    ]);
    const sums = causes?.map(({ activity }) => activity.reduce((sum, count) => sum + count, 0));
    expect(sums).toEqual([2, 1]);
    // One that succeeds after all counts no more.
    history.writer.recordTask({ id: 'a', type: 'succeeded', time: Date.now() + 5, origin: 'event' });
    await vi.waitFor(async () => {
      expect((await statsOf(history, 30 * DAY_MINUTES)).causes).toMatchObject([{ count: 1 }, { count: 1 }]);
    }, WAIT);
  });

  it('were first seen before this process where the store says so', async () => {
    const store = createArrayStore();
    const before = instanceOf({ store });
    const old = Date.now() - 5 * 60_000;
    fail(before, 'old', 'KeyError(1)', old);
    await vi.waitFor(() => expect(store.rows('celery').causes.size).toBe(1), WAIT);
    await before.close();
    store.rows('celery').tasks.clear();
    const history = instanceOf({ store });
    await vi.waitFor(() => expect(history.status().phase).toBe('ready'), WAIT);
    for (const [id, exception] of [
      ['again', 'KeyError(2)'],
      ['new', 'ValueError(2)'],
    ] as const)
      fail(history, id, exception);
    await vi.waitFor(
      async () => expect(await taskIn(history, 'new')).toMatchObject({ state: 'FAILURE' }),
      WAIT,
    );
    const { causes = [] } = await statsOf(history, 1);
    const first = new Map(causes.map(({ exception, firstSeen, isNew }) => [exception, { firstSeen, isNew }]));
    expect(first.get('KeyError')).toEqual({ firstSeen: new Date(old), isNew: false });
    expect(first.get('ValueError')?.isNew).not.toBe(false);
  });

  it('are left out where the store does not say them, and the counts stay', async () => {
    const store = createArrayStore();
    const history = instanceOf({ store });
    fail(history, 'a', 'ValueError(2)');
    await vi.waitFor(() => expect(store.rows('celery').tasks.size).toBe(1), WAIT);
    store.before = (call) =>
      call === 'causes.counts'
        ? Promise.reject(Object.assign(new Error('It took too long.'), { code: 'timeout' }))
        : undefined;
    const stats = await statsOf(history, 30 * DAY_MINUTES);
    expect(stats.computedFrom).toBe('rollups');
    expect(stats.causes).toBeUndefined();
    expect(stats.causesTruncated).toBeUndefined();
  });

  it('reach back as far as tasks are kept where a cause is asked for', async () => {
    const store = createArrayStore();
    const history = instanceOf({ store });
    fail(history, 'a', 'ValueError(2)');
    await vi.waitFor(() => expect(store.rows('celery').tasks.size).toBe(1), WAIT);
    const [cause = ''] = store.rows('celery').causes.keys();
    const counted = async (causes: readonly string[], minutes: number) => {
      const asked = { minutes, now: new Date(), causes: 5, filter: query({ causes }) };
      const stats = await history.readStats(asked, CONTEXT, (given, context) =>
        history.reader.getTaskStats(given, context),
      );
      return { from: stats.computedFrom, since: stats.countedSince?.getTime() ?? null };
    };
    // Since when the store counts is known once its first counts are written.
    await vi.waitFor(async () => expect((await counted([], 30 * DAY_MINUTES)).since).not.toBeNull(), WAIT);
    const all = await counted([], 30 * DAY_MINUTES);
    const some = await counted([cause], 30 * DAY_MINUTES);
    expect({ all: all.from, some: some.from }).toEqual({ all: 'rollups', some: 'tasks' });
    expect(some.since).toBeGreaterThanOrEqual(Date.now() - 8 * DAY_MS);
    expect(some.since).toBeGreaterThanOrEqual(all.since ?? Number.POSITIVE_INFINITY);
  });
});
