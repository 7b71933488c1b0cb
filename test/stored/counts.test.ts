/** Statistics that a store makes of counts. */
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import type { TaskStats } from '../../src/source.ts';
import { CONTEXT, historyOf, query, told } from '../history/telling.ts';
import { countingLab, DAY, HOUR, type Lab, MINUTE, record, START, sum } from './counting.ts';
import { untilWritten } from './instances.ts';

const DAY_MINUTES = 1_440;
let lab: Lab;
beforeEach(() => {
  lab = countingLab();
});

/** A process runs at the beginning of each hour, in which so many tasks succeed. */
async function runHours(hours: number, count: number): Promise<void> {
  for (let hour = 0; hour < hours; hour++) {
    lab.moveTo(hour * 60 + 2);
    await lab.run(lab.ended(count, { queue: `q${hour % 2}`, worker: `w${hour % 3}` }));
  }
}

/** A percentile is at most half above the true value, or a third below it. */
function expectNear(found: number | null | undefined, exact: number): void {
  expect((found ?? 0) / exact).toBeGreaterThan(1 / 1.5);
  expect((found ?? 0) / exact).toBeLessThanOrEqual(1.5);
}

/** The tasks that succeeded in the counted steps. */
const succeededSince = ({ series, totals }: TaskStats): number =>
  series.reduce((sum, { t, succeeded }) => sum + (t >= (totals?.since ?? t) ? (succeeded ?? 0) : 0), 0);

describe('statistics of counts', { timeout: 240_000 }, () => {
  it('have causes that reach back as far as tasks are kept', async () => {
    lab = countingLab({ taskDays: 7 });
    const failed = { type: 'failed', exception: 'KeyError(1)', runtime: null } as const;
    await lab.run(lab.ended(1, failed));
    lab.moveTo(20 * DAY_MINUTES);
    await lab.run(lab.ended(1, failed));
    const isCut = async (days: number): Promise<boolean | undefined> => {
      const minutes = days * DAY_MINUTES;
      const { causes, causesTruncated } = await lab.stats({ minutes, mostCauses: 5, stepSeconds: 86_400 });
      expect(causes?.[0]).toMatchObject({ exception: 'KeyError', sample: expect.any(String) });
      return causesTruncated;
    };
    expect([await isCut(30), await isCut(2)]).toEqual([true, false]);
  });

  it('are made of minutes, hours and days, which add up to what happened', async () => {
    await runHours(30, 2);
    for (const [minutes, stepSeconds] of [
      [3 * DAY_MINUTES, 86_400],
      [3 * DAY_MINUTES, 3_600],
      [3 * DAY_MINUTES, undefined],
      [30 * DAY_MINUTES, undefined],
      [90 * DAY_MINUTES, undefined],
    ] as const) {
      const found = await lab.stats({ minutes, ...(stepSeconds && { stepSeconds }) });
      const first = found.series[0]?.t.getTime() ?? 0;
      const before = first <= START ? 0 : Math.ceil((first - START) / HOUR);
      const expected = 2 * (30 - before);
      expect(found.computedFrom).toBe('rollups');
      // Names of long windows are counted up to the last full hour.
      expect([sum(found), found.states.SUCCESS, found.names[0]?.count]).toEqual([
        expected,
        expected,
        expected - 2,
      ]);
    }
    const calls = lab.store.calls.length;
    await lab.stats({ minutes: 90 * DAY_MINUTES });
    const reads = lab.store.calls.slice(calls).filter((call) => call.startsWith('rollups.'));
    expect(reads.length).toBeLessThan(40);
  });

  it('have minutes for two days, and steps of an hour, at least, where there are none any more', async () => {
    await runHours(4, 2);
    const found = await lab.stats({ minutes: 120, stepSeconds: 600 });
    const steps = found.series.flatMap(({ succeeded }, step) => (succeeded ? [[step, succeeded]] : []));
    expect(steps).toEqual([0, 6, 12].map((step) => [step, 2]));
    lab.moveTo((4 * DAY) / MINUTE);
    await lab.run([]);
    const later = await lab.stats({ minutes: 120, stepSeconds: 60, end: START + 3 * HOUR + 30 * MINUTE });
    expect([later.stepSeconds, later.series.map(({ succeeded }) => succeeded)]).toEqual([3_600, [2, 2, 2]]);
    const day = await lab.stats({ minutes: DAY_MINUTES, end: START + 4 * HOUR });
    expect([day.stepSeconds, sum(day)]).toEqual([3_600, 8]);
  });

  it('count what ended, by outcome', async () => {
    lab.moveTo(1);
    await lab.run([
      ...lab.ended(3),
      ...lab.ended(2, { type: 'failed', name: 'ship' }),
      ...lab.ended(1, { type: 'started', name: 'mail' }),
    ]);
    const { states, names } = await lab.stats({ minutes: 3 * DAY_MINUTES });
    expect(states).toEqual({ SUCCESS: 3, FAILURE: 2 });
    expect(names).toMatchObject([
      { name: 'pay', count: 3, failed: 0 },
      { name: 'ship', count: 2, failed: 2 },
    ]);
  });

  it('have percentiles of run and wait times', async () => {
    lab.moveTo(1);
    await lab.run([
      ...lab.ended(95, { runtime: 2 }),
      ...lab.ended(5, { runtime: 60 }),
      ...lab.ended(1, { id: 'x', type: 'sent', time: lab.now() - 10_000, worker: null }),
      ...lab.ended(1, { id: 'x', type: 'started' }),
    ]);
    const [pay] = (await lab.stats({ minutes: 3 * DAY_MINUTES })).names;
    expectNear(pay?.runtimeP50, 2);
    expectNear(pay?.runtimeP95, 2);
    expectNear(pay?.waitP50, 10);
  });

  it('have totals, and percentiles of each step', async () => {
    for (let hour = 0; hour < 5; hour++) {
      lab.moveTo(hour * 60 + 2);
      await lab.run([
        ...lab.ended(9, { runtime: 2 ** hour }),
        ...lab.ended(1, { name: 'ship', runtime: 1_000 }),
      ]);
    }
    for (const stepSeconds of [3_600, 600]) {
      const plain = await lab.stats({ minutes: 300, stepSeconds });
      expect(plain.totals).toMatchObject({ succeeded: succeededSince(plain), waitP50: null });
      expect(plain.series.every((row) => !('runtimeP50' in row))).toBe(true);
      const asked = { minutes: 300, stepSeconds, percentiles: true };
      const named = await lab.stats({ ...asked, names: ['pay'] });
      const { series, totals, runtimeHistogram } = named;
      const steps = series.flatMap(({ runtimeP50, runtimeP99 }) =>
        runtimeP50 == null ? [] : [[runtimeP50, runtimeP99]],
      );
      expect(steps).toHaveLength(5);
      for (const [hour, figures] of steps.entries()) {
        for (const found of figures) expectNear(found, 2 ** hour);
      }
      expect(totals).toMatchObject({ succeeded: succeededSince(named), runtimeP95: expect.any(Number) });
      const counts = runtimeHistogram?.flatMap(({ count }) => (count > 0 ? [count] : []));
      expect(counts).toEqual(Array.from({ length: 5 }, () => 9));
      expect((await lab.stats(asked)).totals?.runtimeP99).toBeGreaterThan(600);
    }
    const before = await lab.stats({ minutes: 300, stepSeconds: 3_600, end: START - 1, percentiles: true });
    expect(before.totals).toMatchObject({ received: null, succeeded: null, runtimeP95: null });
  });

  it('do not know what nobody watched, and know what was counted of it', async () => {
    const one = await lab.start();
    lab.moveTo(30);
    await one.close();
    lab.moveTo(5 * 60);
    const two = await lab.start();
    record(two, lab.ended(3, { time: START + 3 * HOUR, stored: true, origin: 'result' }));
    lab.moveTo(5 * 60 + 30);
    await two.close();
    const { series } = await lab.stats({ minutes: 300, stepSeconds: 3_600 });
    expect(series.map(({ received, succeeded, failed }) => [received, succeeded, failed])).toEqual([
      [0, 0, 0],
      [null, null, null],
      [null, null, null],
      [null, 3, null],
      [null, null, null],
      [0, 0, 0],
    ]);
  });

  it('are filtered by name, queue and worker', async () => {
    await runHours(12, 1);
    for (const [filter, expected, workers, queues] of [
      [{}, 12, ['w0', 'w1', 'w2'], ['q0', 'q1']],
      [{ names: ['pay'] }, 12, ['w0', 'w1', 'w2'], ['q0', 'q1']],
      [{ names: ['other'] }, 0, [], []],
      [{ queues: ['q0'] }, 6, ['w0', 'w1', 'w2'], ['q0']],
      [{ workers: ['w1', 'w2'] }, 8, ['w1', 'w2'], ['q0', 'q1']],
      [{ workers: ['w1'], queues: ['q0'] }, 2, ['w1'], ['q0']],
    ] as const) {
      const found = await lab.stats({ minutes: 2 * DAY_MINUTES, ...filter });
      expect([sum(found), found.names[0]?.count ?? 0, found.workers, found.queues]).toEqual([
        expected,
        expected,
        workers,
        queues,
      ]);
    }
  });

  it('have the depths of queues by step, of those in which most waited', async () => {
    for (let hour = 0; hour < 3; hour++) {
      lab.moveTo(hour * 60);
      await lab.run([], ({ writer }) => {
        writer.recordQueue('busy', 10 * hour, lab.now() - 5_000);
        writer.recordQueue('calm', 1, null);
      });
    }
    lab.moveTo(179);
    const { queueDepths } = await lab.stats({ minutes: 179, stepSeconds: 3_600 });
    expect(queueDepths).toMatchObject([
      { queue: 'busy', waiting: [0, 10, 20], oldestSeconds: [5, 5, 5], oldestAtLeast: false },
      { queue: 'calm', waiting: [1, 1, 1], oldestSeconds: [null, null, null] },
    ]);
    await lab.run([], ({ writer }) => {
      for (let queue = 0; queue < 30; queue++) writer.recordQueue(`q${queue}`, queue, null);
    });
    const depths = async (minutes: number, stepSeconds: number) =>
      (await lab.stats({ minutes, stepSeconds })).queueDepths;
    expect(await depths(179, 3_600)).toHaveLength(20);
    expect(await depths(179, 60)).toHaveLength(20);
    expect(await depths(1_440, 60)).toHaveLength(4);
  });

  it('have the same depths of queues as memory', async () => {
    const steps = fc.array(
      fc.record({
        minute: fc.integer({ min: 0, max: 45 }),
        kind: fc.constantFrom('read', 'read', 'sent', 'received', 'started'),
        queue: fc.constantFrom('orders', 'mail', 'zoo'),
        waiting: fc.integer({ min: 0, max: 90 }),
        ageMs: fc.constantFrom(null, 0, 5_000, 400_000),
        isAtLeast: fc.boolean(),
      }),
      { maxLength: 80, size: 'max' },
    );
    let known = 0;
    const property = fc.asyncProperty(steps, fc.constantFrom(60, 300), async (given, stepSeconds) => {
      lab = countingLab();
      const [one, memory] = [await lab.start(), historyOf([], { now: lab.now })];
      const sorted = given.toSorted((a, b) => a.minute - b.minute);
      for (const [at, { minute, kind, queue, waiting, ageMs, isAtLeast }] of sorted.entries()) {
        lab.moveTo(minute);
        for (const { writer } of [one, memory]) {
          const due = ageMs === null ? null : lab.now() - ageMs;
          if (kind === 'read') writer.recordQueue(queue, waiting, due, isAtLeast);
          else writer.recordTask(told({ id: `t${at}`, type: kind, time: lab.now(), name: 'pay', queue }));
        }
      }
      await untilWritten(one);
      await one.close();
      const end = START + 50 * MINUTE;
      const asked = { minutes: 60, now: new Date(end), stepSeconds, filter: query() };
      const { queueDepths } = await memory.reader.getTaskStats(asked, CONTEXT);
      expect((await lab.stats({ minutes: 60, stepSeconds, end })).queueDepths).toEqual(queueDepths);
      known += queueDepths?.length ?? 0;
      memory.close();
    });
    await fc.assert(property, { numRuns: 15, endOnFailure: true });
    expect(known).toBeGreaterThan(7);
  });

  it('count every end, also of more workers than are counted apart', async () => {
    const workers = Array.from({ length: 3_000 }, (_, n) => `w${n}`);
    await lab.run(workers.flatMap((worker) => lab.ended(1, { worker })));
    lab.moveTo(1);
    expect(sum(await lab.stats({ minutes: 60, stepSeconds: 60 }))).toBe(3_000);
  });

  it('know how far back they reach', async () => {
    expect((await lab.stats({ minutes: 60 })).countedSince).toBeNull();
    await runHours(2, 1);
    const history = await lab.start();
    const asked = { minutes: 60, now: new Date(lab.now()), filter: query() };
    await expect
      .poll(async () => (await history.reader.getTaskStats(asked, CONTEXT)).countedSince, { timeout: 30_000 })
      .toEqual(new Date(START));
  });
});

describe('the counts of an instance that hears nothing', () => {
  it('are those that others have stored', async () => {
    await lab.run([
      ...lab.ended(2),
      ...lab.ended(1, { type: 'failed' }),
      told({ id: 's', type: 'sent', time: START, name: 'pay' }),
    ]);
    lab.moveTo(60);
    await lab.run(lab.ended(3));
    const { reader } = await lab.start({ hearing: 'nothing' });
    const { counts } = await reader.getActivity(CONTEXT);
    expect(counts.names()).toEqual(['pay']);
    expect(counts.counts('pay', START, START + MINUTE)).toMatchObject({ sent: 1, succeeded: 2, failed: 1 });
    expect(counts.counts('pay', START, START + 2 * HOUR)).toMatchObject({ succeeded: 5 });
  });
});

describe('statistics over a store that keeps tasks', () => {
  const from = async (one: Lab, minutes: number, filter = {}) =>
    (await one.stats({ minutes, ...filter })).computedFrom;

  it('are made of counts where tasks are too old, and of tasks for what is not counted', async () => {
    lab = countingLab({ taskDays: 7 });
    await lab.run(lab.ended(2));
    expect(await from(lab, 60)).toBe('tasks');
    expect(await from(lab, 8 * DAY_MINUTES)).toBe('rollups');
    expect(await from(lab, 8 * DAY_MINUTES, { names: ['pay'], queues: ['q'], workers: ['w'] })).toBe(
      'rollups',
    );
    for (const filter of [{ states: ['SUCCESS'] }, { rootId: 'r' }, { q: 'x' }, { since: new Date(START) }]) {
      expect(await from(lab, 8 * DAY_MINUTES, filter)).toBe('tasks');
    }
  });

  it('are made of counts where there are too many tasks', async () => {
    lab = countingLab({ taskDays: 7 });
    await lab.run(lab.ended(1));
    const { tasks } = lab.store.rows('celery');
    const [task] = tasks.values();
    if (task === undefined) throw new Error('no task');
    for (let n = 0; n < 20_001; n++) tasks.set(`x${n}`, { ...task, id: `x${n}` });
    expect(await from(lab, 60)).toBe('rollups');
  });

  it('are made of the tasks of memory while the store is away, which is reported', async () => {
    const history = await lab.start();
    record(history, lab.ended(1));
    lab.store.before = () => {
      throw new Error('away');
    };
    const asked = { minutes: 8 * DAY_MINUTES, now: new Date(lab.now()), filter: query() };
    expect((await history.reader.getTaskStats(asked, CONTEXT)).computedFrom).toBe('tasks');
    expect(history.status().error).toBe('away');
  });
});
