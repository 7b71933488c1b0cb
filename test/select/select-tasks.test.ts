import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Task } from '../../src/model.ts';
import { selectTasks, summarizeTasks } from '../../src/select.ts';
import type { TaskQuery, TaskSort } from '../../src/source.ts';
import { query, T0 } from '../history/telling.ts';

const at = (ms: number | null) => (ms === null ? null : new Date(T0 + ms));
const task = (id: string, more: Partial<Task> = {}): Task => ({
  id,
  state: 'SUCCESS',
  timestamp: at(0),
  ...more,
});
const idsOf = (tasks: readonly Task[]) => tasks.map(({ id }) => id);

describe('selecting tasks', () => {
  it('lists the newest change first, ties by id, tasks without a time last in both orders', () => {
    const tasks = [
      task('c', { timestamp: at(1) }),
      task('z', { timestamp: null }),
      task('b', { timestamp: at(1) }),
      task('a', { timestamp: null }),
      task('d', { timestamp: at(2) }),
    ];
    expect(idsOf(selectTasks(tasks, query()).tasks)).toEqual(['d', 'b', 'c', 'a', 'z']);
    expect(idsOf(selectTasks(tasks, query({ order: 'asc' })).tasks)).toEqual(['b', 'c', 'd', 'a', 'z']);
    const runs = [
      { id: 'none', state: 'STARTED' },
      task('long', { runtime: 2 }),
      task('short', { runtime: 1 }),
    ];
    const byRuntime = (order: TaskQuery['order']) =>
      idsOf(selectTasks(runs, query({ sort: 'runtime', order })).tasks);
    expect(byRuntime('desc')).toEqual(['long', 'short', 'none']);
    expect(byRuntime('asc')).toEqual(['short', 'long', 'none']);
  });

  it('applies every filter', () => {
    const one = task('1', { name: 'n', worker: 'w', queue: 'q', rootId: 'r', parentId: 'p', groupId: 'g' });
    const other = task('2', { state: 'FAILURE', timestamp: at(10), parentId: '2' });
    const found = (part: Partial<TaskQuery>) => idsOf(selectTasks([one, other], query(part)).tasks);
    for (const part of [
      { states: ['SUCCESS', 'STARTED'] },
      { names: ['n'] },
      { workers: ['x', 'w'] },
      { queues: ['q'] },
      { rootId: 'r' },
      { parentId: 'p' },
      { groupId: 'g' },
      { until: new Date(T0 + 10) },
      { q: 'one', search: ({ id }: Task) => id === '1' },
    ]) {
      expect(found(part), Object.keys(part).join()).toEqual(['1']);
    }
    expect(found({ since: new Date(T0 + 10) })).toEqual(['2']);
    expect(found({ parentId: '2' })).toEqual([]);
  });

  it('shows every task once over any pages', () => {
    const sorts: TaskSort[] = ['timestamp', 'received', 'started', 'finished', 'runtime', 'name', 'state'];
    const time = fc.constantFrom(null, 1, 2, 3).map(at);
    fc.assert(
      fc.property(
        fc.uniqueArray(
          fc.record({
            id: fc.integer({ min: 0, max: 30 }).map(String),
            state: fc.constantFrom('SUCCESS', 'STARTED'),
            name: fc.constantFrom(null, 'a', 'b'),
            runtime: fc.constantFrom(null, 0, 0.5, Number.NaN),
            timestamp: time,
            received: time,
            started: time,
            finished: time,
          }),
          { selector: ({ id }) => id },
        ),
        fc.constantFrom(...sorts),
        fc.constantFrom('asc' as const, 'desc' as const),
        fc.integer({ min: 1, max: 4 }),
        (tasks, sort, order, limit) => {
          const all = selectTasks(tasks, query({ sort, order, limit: 1000 }));
          const seen: string[] = [];
          for (let after: TaskQuery['after'] = null, pages = 0; pages < 40; pages++) {
            const page = selectTasks(tasks, query({ sort, order, limit, after }));
            expect(page.total).toBe(tasks.length);
            seen.push(...idsOf(page.tasks));
            after = page.next;
            if (after === null) break;
          }
          expect(seen).toEqual(idsOf(all.tasks));
          expect([...seen].sort()).toEqual(idsOf(tasks).sort());
        },
      ),
      { seed: 5, numRuns: 300 },
    );
  });
});

describe('summing tasks up', () => {
  const now = new Date(T0 + 600_000);
  const stats = (tasks: readonly Task[], minutes = 10, filter: Partial<TaskQuery> = {}) =>
    summarizeTasks(tasks, { minutes, now, filter: query(filter) });

  it('counts states, names, workers and queues of the window alone', () => {
    const tasks = [
      task('1', { name: 'a', worker: 'w1', queue: 'q', timestamp: at(1_000) }),
      task('2', { name: 'a', state: 'FAILURE', worker: 'w2', timestamp: at(2_000) }),
      task('3', { name: 'b', state: 'STARTED', timestamp: at(3_000) }),
      task('old', { name: 'a', timestamp: at(-1) }),
      task('none', { name: 'a', timestamp: null }),
      task('future', { name: 'a', timestamp: at(600_001) }),
    ];
    expect(stats(tasks)).toMatchObject({
      states: { FAILURE: 1, STARTED: 1, SUCCESS: 1 },
      names: [
        { name: 'a', count: 2, failed: 1 },
        { name: 'b', count: 1, failed: 0 },
      ],
      workers: ['w1', 'w2'],
      queues: ['q'],
    });
    expect(stats(tasks, 10, { names: ['b'] }).states).toEqual({ STARTED: 1 });
  });

  it('gives a series of at most 61 steps that begin at round times', () => {
    for (const minutes of [1, 5, 10, 60, 61, 720, 1440]) {
      const { series, stepSeconds } = stats([], minutes);
      expect(series.length).toBeLessThanOrEqual(61);
      expect(series.every(({ t }) => t.getTime() % (stepSeconds * 1_000) === 0)).toBe(true);
      expect((series.length - 1) * stepSeconds).toBeLessThanOrEqual(minutes * 60 + stepSeconds);
    }
  });

  it('places what happened in its step', () => {
    const { series, stepSeconds } = stats([
      task('1', { received: at(0), started: at(5_000), finished: at(60_000), timestamp: at(60_000) }),
      task('2', { state: 'RETRY', received: at(1_000), timestamp: at(61_000) }),
      task('3', { state: 'FAILURE', finished: at(599_000), timestamp: at(599_000) }),
    ]);
    expect(stepSeconds).toBe(10);
    const busy = series.filter(
      ({ received, succeeded, failed, retried }) => received || succeeded || failed || retried,
    );
    expect(busy).toEqual([
      { t: at(0), received: 2, succeeded: 0, failed: 0, retried: 0 },
      { t: at(60_000), received: 0, succeeded: 1, failed: 0, retried: 1 },
      { t: at(590_000), received: 0, succeeded: 0, failed: 1, retried: 0 },
    ]);
  });

  it('takes percentiles by nearest rank, and no wait that two clocks make negative', () => {
    const tasks = Array.from({ length: 20 }, (_, n) =>
      task(String(n), { name: 'a', runtime: n + 1, sent: at(0), started: at(n * 100), timestamp: at(5_000) }),
    );
    tasks.push(task('x', { name: 'a', sent: at(500), started: at(100), timestamp: at(5_000) }));
    expect(stats(tasks).names).toEqual([
      {
        ...{ name: 'a', count: 21, failed: 0, lastFailedAt: null },
        ...{ runtimeP50: 10, runtimeP95: 19, waitP50: 0.9, waitP95: 1.8 },
      },
    ]);
    expect(stats([task('1', { name: 'a', timestamp: at(1) })]).names[0]).toMatchObject({
      runtimeP50: null,
      waitP95: null,
    });
  });

  it('says when each name last failed, of itself', () => {
    const failed = (ms: number, more: Partial<Task> = {}) =>
      task(String(ms), { name: 'a', state: 'FAILURE', timestamp: at(ms), ...more });
    const { names } = stats([
      failed(3_000),
      failed(5_000, { finished: at(4_000) }),
      failed(6_000, { flags: ['consequence'] }),
      failed(7_000, { state: 'SUCCESS' }),
      failed(8_000, { name: 'b', state: 'SUCCESS' }),
    ]);
    expect(names.map(({ lastFailedAt }) => lastFailedAt)).toEqual([at(4_000), null]);
  });

  it.each<[string, Partial<Task>, Readonly<Record<string, number>>, number | null]>([
    ['of which no end was seen is in no state', { state: 'STARTED', flags: ['end_unseen'] }, {}, 0],
    [
      'that failed as another one did is no failure',
      { state: 'FAILURE', flags: ['consequence'] },
      { FAILURE: 1 },
      0,
    ],
    ['that was retried, nobody knows when', { retries: 1 }, { SUCCESS: 1 }, null],
    ['that waits for its first retry', { state: 'RETRY', retries: 1 }, { RETRY: 1 }, 1],
  ])('counts a task %s', (_, more, states, retried) => {
    const found = stats([task('1', { name: 'a', ...more })]);
    expect(found).toMatchObject({ names: [{ count: 1, failed: 0 }], totals: { failed: 0, retried } });
    expect(found.states).toEqual(states);
  });

  it('names what sent the counted tasks, and what these sent', () => {
    const tasks = [
      task('1', { name: 'order' }),
      task('2', { name: 'pay', parentId: '1' }),
      task('3', { name: 'pay', parentId: 'gone' }),
      task('4', { name: 'mail', parentId: '2' }),
      task('5', { name: 'mail', parentId: '2' }),
      task('6', { name: 'log', parentId: '3' }),
      task('nameless', { parentId: '2' }),
      // A task that changes while all are read may come twice.
      task('6', { name: 'log', parentId: '3' }),
    ];
    const asked = { minutes: 10, now, callers: true, filter: query({ names: ['pay'] }) };
    for (const all of [tasks, tasks.toReversed()]) {
      expect(summarizeTasks(all, asked)).toMatchObject({
        callers: [{ name: 'order', count: 1 }],
        callees: [
          { name: 'mail', count: 2 },
          { name: 'log', count: 1 },
        ],
      });
    }
  });

  it('has totals, and percentiles by step where they are asked for', () => {
    const tasks = Array.from({ length: 10_000 }, (_, n) =>
      task(String(n), {
        name: 'a',
        ...{ runtime: ((n * 7_919) % 10_000) + 1, received: at(0), sent: at(0) },
        ...{ started: at(60_000 + (n % 2) * 60_000), finished: at(300_000), timestamp: at(300_000) },
      }),
    );
    tasks.push(task('failed', { state: 'FAILURE', runtime: 5, finished: at(1_000), timestamp: at(1_000) }));
    const plain = stats(tasks);
    expect(plain.totals).toEqual({
      since: plain.series[0]?.t,
      ...{ received: 10_000, succeeded: 10_000, failed: 1, retried: 0 },
      ...{ runtimeP50: 5_000, runtimeP95: 9_500, runtimeP99: 9_900 },
      ...{ waitP50: 60, waitP95: 120, waitP99: 120 },
    });
    expect(plain.series[0]).not.toHaveProperty('runtimeP50');
    const asked = summarizeTasks(tasks, { minutes: 10, now, filter: query(), percentiles: true });
    const steps = asked.series.flatMap(({ t, runtimeP95, waitP50 }) =>
      runtimeP95 === null && waitP50 === null ? [] : [[t.getTime() - T0, runtimeP95, waitP50]],
    );
    expect(steps).toEqual([
      [0, 5, null],
      [60_000, null, 60],
      [120_000, null, 120],
      [300_000, 9_500, null],
    ]);
  });

  it('counts run times and waits in buckets of which no bound is below a duration in it', () => {
    const runtimes = [0, 0.0005, 0.001, 0.0015, 0.3, 2, 2.9, 3, 1e9];
    const { runtimeHistogram, waitHistogram } = stats(
      runtimes.map((runtime, n) => task(String(n), { name: 'a', runtime, timestamp: at(1) })),
    );
    const filled = runtimeHistogram?.filter(({ count }) => count > 0);
    expect(filled).toEqual([
      { le: 0.001, count: 2 },
      { le: 0.002, count: 2 },
      { le: 0.384, count: 1 },
      { le: 2.048, count: 1 },
      { le: 3.072, count: 2 },
      { le: null, count: 1 },
    ]);
    expect(runtimeHistogram?.at(-1)?.le).toBeNull();
    expect(waitHistogram).toEqual([]);
  });

  it('lists the 50 most frequent names', () => {
    const tasks = Array.from({ length: 60 }, (_, n) => task(String(n), { name: `n${n}`, timestamp: at(1) }));
    tasks.push(task('more', { name: 'n59', timestamp: at(1) }));
    const { names } = stats(tasks);
    expect(names).toHaveLength(50);
    expect(names[0]).toMatchObject({ name: 'n59', count: 2 });
  });

  it('bounds states, workers and queues', () => {
    const tasks = Array.from({ length: 1_200 }, (_, n) => {
      const text = String(n).padStart(4, '0');
      return task(text, { state: `S${text}`, worker: `w${text}`, queue: `q${text}`, timestamp: at(1) });
    });
    tasks.push(task('more', { state: 'S1199', worker: null, queue: null, timestamp: at(1) }));
    const { states, workers, queues } = stats(tasks);
    expect([Object.keys(states).length, workers.length, queues.length]).toEqual([1_000, 1_000, 1_000]);
    expect(states.S1199).toBe(2);
    expect([workers[999], queues[999]]).toEqual(['w0999', 'q0999']);
  });
});

const DAY = 1_440;
const now = new Date('2026-01-10T12:34:56Z');
const stepsOf = (minutes: number, stepSeconds?: number) =>
  summarizeTasks([], { minutes, now, filter: query(), ...(stepSeconds && { stepSeconds }) });

describe('the steps of a window', () => {
  it('are readable, and not too many', () => {
    const steps = [
      1,
      5,
      10,
      15,
      30,
      60,
      61,
      120,
      300,
      600,
      900,
      DAY,
      DAY + 1,
      7 * DAY,
      30 * DAY,
      90 * DAY,
    ].map((minutes) => {
      const { stepSeconds, series } = stepsOf(minutes);
      return [minutes, stepSeconds, series.length];
    });
    expect(steps).toEqual([
      [1, 1, 61],
      [5, 5, 61],
      [10, 10, 61],
      [15, 15, 61],
      [30, 30, 61],
      [60, 60, 61],
      [61, 120, 32],
      [120, 120, 61],
      [300, 300, 61],
      [600, 600, 61],
      [900, 900, 61],
      [DAY, 1_800, 49],
      [DAY + 1, 3_600, 25],
      [7 * DAY, 7_200, 85],
      [30 * DAY, 28_800, 91],
      [90 * DAY, 86_400, 91],
    ]);
  });

  it('begin at round times, and are as long as asked', () => {
    const { series, stepSeconds } = stepsOf(10, 300);
    expect(stepSeconds).toBe(300);
    expect(series.map(({ t }) => t.toISOString().slice(11, 19))).toEqual([
      '12:20:00',
      '12:25:00',
      '12:30:00',
    ]);
  });
});
