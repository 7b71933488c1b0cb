import { describe, expect, it } from 'vitest';
import { combineSources } from '../../src/index.ts';
import { summarizeTasks } from '../../src/select.ts';
import type { TaskStats } from '../../src/source.ts';
import { CONTEXT, query } from '../history/telling.ts';
import { at, shopTask } from '../router/shop-sources.ts';
import { taskSource } from './combine-kit.ts';

const NOW = at(120);

/** The figures of a combination of sources that have these. */
async function mergeStats(all: readonly TaskStats[]): Promise<TaskStats> {
  const parts = all.map((stats, index) => ({
    tasks: { ...taskSource(`p${index}`, []), getTaskStats: () => stats },
  }));
  const { tasks } = combineSources(...parts);
  const asked = { minutes: 5, now: NOW, filter: query(), callers: all.some((stats) => 'callers' in stats) };
  const merged = await tasks?.getTaskStats?.(asked, CONTEXT);
  if (merged === undefined) throw new Error('no figures');
  return merged;
}

function figures(numbers: readonly number[], minutes = 5): TaskStats {
  const tasks = numbers.map((number) => shopTask(number));
  return summarizeTasks(tasks, { minutes, now: NOW, filter: query() });
}

const step = (t: Date, received: number) => ({ t, received, succeeded: 0, failed: 0, retried: 0 });
const whole = (stepSeconds: number, series: TaskStats['series']): TaskStats => ({
  stepSeconds,
  series,
  states: {},
  names: [],
  workers: [],
  queues: [],
});

function named(runtimeP50: number | null, count = 1): TaskStats {
  const name = { name: 'pay', count, failed: 1, runtimeP50, runtimeP95: null, waitP50: null, waitP95: null };
  return { ...whole(60, []), names: [name] };
}

describe('figures of several sources', () => {
  it('are those of all their tasks, but for percentiles that cannot be told', async () => {
    const merged = await mergeStats([figures([1, 2, 3, 4]), figures([5, 6, 7])]);
    const expected = figures([1, 2, 3, 4, 5, 6, 7]);
    const without = ({ names, totals, ...rest }: TaskStats) => ({
      ...rest,
      ...{ received: totals?.received, succeeded: totals?.succeeded, failed: totals?.failed },
      names: names.map(({ name, count, failed }) => ({ name, count, failed })),
    });
    expect(without(merged)).toEqual(without(expected));
  });

  it('have a percentile that one source alone can tell, or on which all agree', async () => {
    const p50 = async (...all: readonly TaskStats[]) => (await mergeStats(all)).names[0]?.runtimeP50;
    expect(await p50(named(2), named(null))).toBe(2);
    expect(await p50(named(2), named(2))).toBe(2);
    expect(await p50(named(2), named(3))).toBeNull();
    expect(await p50(named(2), named(3), named(2))).toBeNull();
    expect((await mergeStats([named(2, 4), named(3, 5)])).names).toMatchObject([{ count: 9, failed: 2 }]);
  });

  it('have the last failure of a name, where all sources in which it failed know it', async () => {
    const last = async (...all: readonly Partial<TaskStats['names'][number]>[]) => {
      const parts = all.map((own) => {
        const stats = named(null);
        return { ...stats, names: stats.names.map((name) => ({ ...name, ...own })) };
      });
      return (await mergeStats(parts)).names[0]?.lastFailedAt;
    };
    expect(await last({ lastFailedAt: at(1) }, { lastFailedAt: at(2) })).toEqual(at(2));
    expect(await last({ lastFailedAt: at(1) }, { failed: 0 })).toEqual(at(1));
    expect(await last({ lastFailedAt: at(1) }, {})).toBeNull();
    expect(await last({ failed: 0 }, { failed: 0 })).toBeNull();
  });

  it('add up callers, where all sources that have such tasks know them', async () => {
    const known = { ...named(1), callers: [{ name: 'a', count: 2 }], callees: [] };
    const more = {
      ...named(1),
      callers: [
        { name: 'b', count: 9 },
        { name: 'a', count: 1 },
      ],
      callees: null,
    };
    expect(await mergeStats([known, more, whole(60, [])])).toMatchObject({
      callers: [
        { name: 'b', count: 9 },
        { name: 'a', count: 3 },
      ],
      callees: null,
    });
    expect(await mergeStats([known, named(1)])).toMatchObject({ callers: null, callees: null });
  });

  it('have percentiles of all run times together, to a bucket', async () => {
    const timed = (runtimes: readonly number[]): TaskStats => {
      const tasks = runtimes.map((runtime, n) => ({ ...shopTask(n), runtime }));
      return summarizeTasks(tasks, { minutes: 5, now: NOW, filter: query() });
    };
    const [one, two, both] = [timed([1, 2, 3]), timed([10, 20, 30]), timed([1, 2, 3, 10, 20, 30])];
    const { totals, runtimeHistogram } = await mergeStats([one, two]);
    const ratio = (totals?.runtimeP50 ?? 0) / (both.totals?.runtimeP50 ?? 0);
    expect(both.totals?.runtimeP50).toBe(3);
    expect(ratio).toBeGreaterThan(2 / 3);
    expect(ratio).toBeLessThanOrEqual(1.5);
    expect(runtimeHistogram).toEqual(both.runtimeHistogram);
    expect((await mergeStats([one, one])).totals?.runtimeP95).toBe(3);
  });

  it('have no percentiles in totals where a source has no totals', async () => {
    const merged = await mergeStats([figures([1, 2, 3]), whole(60, [step(at(0), 1)])]);
    expect(merged.totals).toMatchObject({ received: 4, runtimeP50: null, waitP99: null });
    expect(merged).not.toHaveProperty('runtimeHistogram');
    const blind = figures([1]).series.map((all) => ({ ...all, received: null }));
    expect((await mergeStats([figures([1]), whole(5, blind)])).totals?.received).toBeNull();
  });

  it('have the ends of tasks that any source knows, and totals of the last steps in which all is known', async () => {
    const [known, nothing, unknown] = [step(at(0), 3), step(at(60), 2), { received: null, retried: null }];
    const heard = whole(60, [{ ...known, failed: 2, succeeded: 1 }, nothing]);
    // Of the first minute, this one knows nothing; of the second, a stored result.
    const joined = whole(60, [
      { ...known, ...unknown, failed: null, succeeded: null },
      { ...nothing, ...unknown, failed: 4, succeeded: null },
    ]);
    for (const all of [
      [heard, joined],
      [joined, heard],
    ]) {
      const { series, totals } = await mergeStats(all);
      expect(series).toMatchObject([
        { received: null, succeeded: 1, failed: 2, retried: null },
        { received: null, succeeded: null, failed: 4, retried: null },
      ]);
      expect(totals).toMatchObject({ since: null, received: null, succeeded: null, failed: null });
    }
  });

  it('have percentiles of a step that one source alone can tell', async () => {
    const asked = (numbers: readonly number[]) =>
      summarizeTasks(
        numbers.map((number) => shopTask(number)),
        { minutes: 5, now: NOW, filter: query(), percentiles: true },
      );
    const found = (all: TaskStats) => all.series.flatMap(({ runtimeP95 }) => runtimeP95 ?? []);
    const one = asked([1, 2, 3]);
    expect(found(one).length).toBeGreaterThan(0);
    expect(found(await mergeStats([one, asked([])]))).toEqual(found(one));
  });

  it('say from what they are, and how far back the counts of any source reach', async () => {
    const kept = (since: number, more: Partial<TaskStats> = {}): TaskStats => ({
      ...whole(60, [step(at(0), 1)]),
      computedFrom: 'rollups',
      countedSince: new Date(since),
      queueDepths: [{ queue: 'q', waiting: [1], oldestSeconds: [null] }],
      ...more,
    });
    const tasks = whole(60, [step(at(0), 1)]);
    expect(await mergeStats([tasks, tasks])).not.toHaveProperty('computedFrom');
    expect(await mergeStats([tasks, kept(5), kept(3, { countedSince: null })])).toMatchObject({
      ...{ computedFrom: 'rollups', countedSince: new Date(5) },
      queueDepths: [{ queue: 'q' }, { queue: 'q' }],
    });
    const coarser = whole(3_600, [step(at(0), 1)]);
    expect((await mergeStats([coarser, kept(5)])).queueDepths).toEqual([]);
  });

  it('count steps of another length into those of the longest', async () => {
    const minutes = whole(60, [step(at(0), 1), step(at(60), 2)]);
    const halves = whole(30, [step(at(0), 10), step(at(30), 20), step(at(60), 40), step(at(120), 80)]);
    expect(await mergeStats([halves, minutes])).toMatchObject({
      stepSeconds: 60,
      series: [step(at(0), 31), step(at(60), 42), step(at(120), 80)],
    });
  });
});
