import { describe, expect, it, vi } from 'vitest';
import type { StoredHistory } from '../../src/history/stored-history.ts';
import type { TaskStats } from '../../src/source.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { CONTEXT, query } from '../history/telling.ts';
import { instanceOf, taskIn } from './instances.ts';

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
