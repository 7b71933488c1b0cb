import { beforeEach, describe, expect, it } from 'vitest';
import { countedSince } from '../../src/history/stored/rollups/counted-since.ts';
import { isCounted, statsOfRollups } from '../../src/history/stored/rollups/rollup-stats.ts';
import type { TaskQuery, TaskStats } from '../../src/source.ts';
import {
  type CountingInstance,
  DAY,
  ended,
  HOUR,
  MINUTE,
  type RollupsKit,
  rollupsKit,
  START,
} from './rollups-kit.ts';
import { CONTEXT, query } from './telling.ts';

const DAY_MINUTES = 1_440;
let kit: RollupsKit;
let one: CountingInstance;
beforeEach(async () => {
  kit = await rollupsKit();
  one = kit.instance();
});

/** One hour after the other, each with so many tasks at its beginning, is written and folded. */
async function run(hours: number, count: (hour: number) => number): Promise<void> {
  for (let hour = 0; hour < hours; hour++) {
    kit.moveTo(hour * 60 + 2);
    one.record(...ended(kit, count(hour), { queue: `q${hour % 2}`, worker: `w${hour % 3}` }));
    await one.write();
  }
}

async function stats(
  minutes: number,
  stepSeconds: number | null = null,
  filter: Partial<TaskQuery> = {},
  end = kit.now(),
  percentiles = false,
) {
  const asked = { minutes, now: new Date(end), stepSeconds, filter: query(filter), percentiles };
  return await statsOfRollups(kit.session.rollups, asked, kit.now(), CONTEXT);
}

const sum = ({ series }: TaskStats): number =>
  series.reduce((total, { succeeded }) => total + (succeeded ?? 0), 0);

describe('statistics of rollups', () => {
  it('are made of minutes, hours and days, which add up to what happened', async () => {
    await run(75, () => 2);
    for (const [minutes, step] of [
      [3 * DAY_MINUTES, 86_400],
      [3 * DAY_MINUTES, 3_600],
      [3 * DAY_MINUTES, null],
      [30 * DAY_MINUTES, null],
      [90 * DAY_MINUTES, null],
    ] as const) {
      const found = await stats(minutes, step);
      const first = found.series[0]?.t.getTime() ?? 0;
      const before = first <= START ? 0 : Math.ceil((first - START) / HOUR);
      const expected = 2 * (75 - before);
      // Names of long windows are counted up to the last full hour.
      expect([sum(found), found.states.SUCCESS, found.names[0]?.count]).toEqual([
        expected,
        expected,
        expected - 2,
      ]);
    }
    kit.store.calls.length = 0;
    await stats(90 * DAY_MINUTES);
    expect(kit.store.calls.length).toBeLessThan(30);
  });

  it('are the same before and after folding', async () => {
    await run(5, (hour) => hour + 1);
    kit.moveTo(5 * 60 + 30);
    const folded = await stats(360, 3_600);
    for (const [key, { span }] of kit.store.rows('s').rollups)
      if (span !== 60) kit.store.rows('s').rollups.delete(key);
    expect(await stats(360, 3_600)).toEqual(folded);
    expect(folded.series.map(({ succeeded }) => succeeded)).toEqual([null, 1, 2, 3, 4, 5, null]);
  });

  it('have minutes for two days', async () => {
    await run(3, () => 2);
    const found = await stats(120, 600);
    expect(found.series.flatMap(({ succeeded }, step) => (succeeded ? [[step, succeeded]] : []))).toEqual([
      ...[
        [0, 2],
        [6, 2],
        [12, 2],
      ],
    ]);
  });

  it('have steps of an hour, at least, where there are no minutes any more', async () => {
    await run(4, () => 2);
    kit.moveTo((4 * DAY) / MINUTE);
    await one.write();
    const found = await stats(120, 60, {}, START + 3 * HOUR + 30 * MINUTE);
    expect([found.stepSeconds, found.series.map(({ succeeded }) => succeeded)]).toEqual([3_600, [2, 2, 2]]);
    const day = await stats(DAY_MINUTES, null, {}, START + 4 * HOUR);
    expect([day.stepSeconds, sum(day)]).toEqual([3_600, 8]);
  });

  it('count what ended, by outcome', async () => {
    kit.moveTo(1);
    one.record(
      ...ended(kit, 3),
      ...ended(kit, 2, { type: 'failed', name: 'ship' }),
      ...ended(kit, 1, { type: 'started', name: 'mail' }),
    );
    await one.write();
    const { states, names } = await stats(3 * DAY_MINUTES);
    expect(states).toEqual({ SUCCESS: 3, FAILURE: 2 });
    expect(names).toMatchObject([
      { name: 'pay', count: 3, failed: 0 },
      { name: 'ship', count: 2, failed: 2 },
    ]);
  });

  it('have percentiles of run and wait times', async () => {
    kit.moveTo(1);
    one.record(...ended(kit, 95, { runtime: 2 }), ...ended(kit, 5, { runtime: 60 }));
    one.record(...ended(kit, 1, { id: 'x', type: 'sent', time: kit.now() - 10_000, worker: null }));
    one.record(...ended(kit, 1, { id: 'x', type: 'started' }));
    await one.write();
    const [pay] = (await stats(3 * DAY_MINUTES)).names;
    const isNear = (found: number | null | undefined, exact: number): void => {
      expect((found ?? 0) / exact).toBeGreaterThan(1 / 1.5);
      expect((found ?? 0) / exact).toBeLessThanOrEqual(1.5);
    };
    isNear(pay?.runtimeP50, 2);
    isNear(pay?.runtimeP95, 2);
    isNear(pay?.waitP50, 10);
  });

  it('have totals, and percentiles of each step', async () => {
    for (let hour = 0; hour < 5; hour++) {
      kit.moveTo(hour * 60 + 2);
      one.record(
        ...ended(kit, 9, { runtime: 2 ** hour }),
        ...ended(kit, 1, { name: 'ship', runtime: 1_000 }),
      );
      await one.write();
    }
    for (const step of [3_600, 600]) {
      const plain = await stats(300, step);
      expect(plain.totals).toMatchObject({ succeeded: 50, failed: 0, waitP50: null });
      expect(plain.series.every((row) => !('runtimeP50' in row))).toBe(true);
      const { series, totals, runtimeHistogram } = await stats(
        300,
        step,
        { names: ['pay'] },
        kit.now(),
        true,
      );
      const steps = series.flatMap(({ runtimeP50, runtimeP99 }) =>
        runtimeP50 == null ? [] : [[runtimeP50, runtimeP99]],
      );
      expect(steps).toHaveLength(5);
      for (const [hour, [p50, p99]] of steps.entries()) {
        for (const found of [p50, p99]) {
          expect((found as number) / 2 ** hour).toBeGreaterThan(1 / 1.5);
          expect((found as number) / 2 ** hour).toBeLessThanOrEqual(1.5);
        }
      }
      expect(totals).toMatchObject({ succeeded: 45, runtimeP95: expect.any(Number) });
      expect(runtimeHistogram?.filter(({ count }) => count > 0).map(({ count }) => count)).toEqual([
        ...[9, 9, 9, 9, 9],
      ]);
      expect((await stats(300, step, {}, kit.now(), true)).totals?.runtimeP99).toBeGreaterThan(600);
    }
    const before = await stats(300, 3_600, {}, START - 1, true);
    expect(before.totals).toMatchObject({ received: null, succeeded: null, runtimeP95: null });
  });

  it('do not know what nobody watched, and know what was counted of it', async () => {
    await one.write();
    kit.moveTo(30);
    await one.write();
    kit.moveTo(5 * 60);
    const two = kit.instance();
    two.record(...ended(kit, 3, { time: START + 3 * HOUR, stored: true, origin: 'result' }));
    kit.moveTo(5 * 60 + 30);
    await two.write();
    const { series } = await stats(300, 3_600);
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
    await run(12, () => 1);
    for (const [filter, expected, workers, queues] of [
      [{}, 12, ['w0', 'w1', 'w2'], ['q0', 'q1']],
      [{ names: ['pay'] }, 12, ['w0', 'w1', 'w2'], ['q0', 'q1']],
      [{ names: ['other'] }, 0, [], []],
      [{ queues: ['q0'] }, 6, ['w0', 'w1', 'w2'], ['q0']],
      [{ workers: ['w1', 'w2'] }, 8, ['w1', 'w2'], ['q0', 'q1']],
      [{ workers: ['w1'], queues: ['q0'] }, 2, ['w1'], ['q0']],
    ] as const) {
      const found = await stats(2 * DAY_MINUTES, null, filter);
      expect([sum(found), found.names[0]?.count ?? 0, found.workers, found.queues]).toEqual([
        ...[expected, expected, workers, queues],
      ]);
    }
  });

  it('have the depths of queues by step, of those in which most waited', async () => {
    for (let hour = 0; hour < 3; hour++) {
      kit.moveTo(hour * 60);
      one.recordQueue('busy', 10 * hour, kit.now() - 5_000);
      one.recordQueue('calm', 1, null);
      await one.write();
    }
    kit.moveTo(179);
    const { queueDepths } = await stats(179, 3_600);
    expect(queueDepths).toMatchObject([
      { queue: 'busy', waiting: [0, 10, 20], oldestSeconds: [5, 5, 5], oldestAtLeast: false },
      { queue: 'calm', waiting: [1, 1, 1], oldestSeconds: [null, null, null] },
    ]);
    for (let queue = 0; queue < 30; queue++) one.recordQueue(`q${queue}`, queue, null);
    await one.write();
    expect((await stats(179, 3_600)).queueDepths).toHaveLength(20);
    expect((await stats(179, 60)).queueDepths).toHaveLength(20);
    expect((await stats(1_440, 60)).queueDepths).toHaveLength(4);
  });

  it('know how far back they reach', async () => {
    expect(await countedSince(kit.session.rollups, kit.now(), 90)).toBeNull();
    await run(2, () => 1);
    expect(await countedSince(kit.session.rollups, kit.now(), 90)).toEqual(new Date(START));
  });

  it('answer only filters that are counted', () => {
    const asked = (filter: Partial<TaskQuery>) => ({ minutes: 1, now: new Date(), filter: query(filter) });
    expect(isCounted(asked({ names: ['a'], queues: ['q'], workers: ['w'] }))).toBe(true);
    for (const filter of [{ states: ['SUCCESS'] }, { rootId: 'r' }, { q: 'x' }, { since: new Date() }]) {
      expect(isCounted(asked(filter))).toBe(false);
    }
  });
});
