/** Cases on the statistics over the task list, and on the causes of failures, for sources that know them. */
import type { Task } from '../model.ts';
import { queryOfSource } from '../select/apply-query.ts';
import { totalsIn } from '../select/durations.ts';
import type { TaskQuery, TaskStats, TaskStatsQuery } from '../source.ts';
import { addTo } from '../values.ts';
import type { Bench, Checks } from './bench.ts';
import { expectUnique, held, taskQuery } from './listing.ts';
import { fail } from './shape.ts';
import { SHAPES } from './shapes.ts';

const DAY = 1440;
const MOST_NAMES = 50;

/** Reads figures and checks their shape. @param more what to request in addition */
async function statsOf(
  bench: Bench,
  now: Date,
  filter: Partial<TaskQuery> = {},
  minutes = DAY,
  more: Partial<Pick<TaskStatsQuery, 'callers' | 'causes'>> = {},
): Promise<TaskStats> {
  const { tasks } = bench.sources;
  const asked = taskQuery(filter);
  const own = tasks === undefined ? null : queryOfSource(tasks, asked);
  const query = Object.freeze({ minutes, now, callers: false, ...more, filter: own ?? asked });
  const stats = await bench.read('getTaskStats', (context) => tasks?.getTaskStats?.(query, context));
  if (!stats) fail('getTaskStats', 'figures', stats);
  SHAPES.taskStats(stats, 'getTaskStats');
  return stats;
}

/** Figures of the last day, and a check of their counts against the rows of the list. */
async function countedOf(bench: Bench) {
  const { rows, since } = await held(bench);
  const now = new Date();
  const stats = await statsOf(bench, now, { since });
  const [from, to] = [now.getTime() - DAY * 60_000, now.getTime()];
  const slack = stats.stepSeconds * 1000;
  return {
    rows,
    stats,
    /**
     * Fails unless the figure is at least the number of rows that are certainly in the window and at most the number
     * that may be in it.
     */
    expectCount(what: string, actual: number, holds: (row: Task) => boolean): void {
      const within = (margin: number) =>
        rows.filter((row) => {
          const time = row.timestamp?.getTime() ?? Number.NaN;
          return holds(row) && time >= from - margin && time <= to + margin;
        }).length;
      if (actual < within(-slack) || actual > within(slack)) {
        fail(what, `the ${within(0)} tasks that the list has`, actual);
      }
    },
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Cases on `getTaskStats`. */
export const STATS_CHECKS: Checks = {
  'counts tasks per state as the list does': async (bench) => {
    const { rows, stats, expectCount } = await countedOf(bench);
    for (const state of new Set([...rows.map((row) => row.state), ...Object.keys(stats.states)])) {
      const holds = (row: Task) => row.state === state;
      expectCount(`getTaskStats().states.${state}`, stats.states[state] ?? 0, holds);
    }
  },

  'counts tasks per name as the list does, the most frequent first': async (bench) => {
    const { stats, expectCount } = await countedOf(bench);
    const { names } = stats;
    if (names.length > MOST_NAMES) fail('getTaskStats().names', 'at most 50', names.length);
    let fewest = Number.POSITIVE_INFINITY;
    for (const { name, count, failed } of names) {
      expectCount(`failed of ${name}`, failed, (row) => row.name === name && row.state === 'FAILURE');
      if (count === null) continue;
      expectCount(`count of ${name}`, count, (row) => row.name === name);
      if (fewest < count) fail('getTaskStats().names', 'the most frequent first', names);
      fewest = count;
    }
    if (names.length < MOST_NAMES) {
      const isMissing = (row: Task) => Boolean(row.name) && !names.some(({ name }) => name === row.name);
      expectCount('tasks whose name getTaskStats().names leaves out', 0, isMissing);
    }
  },

  'applies the filters': async (bench) => {
    const { rows, since } = await held(bench);
    const now = new Date();
    const [first] = rows;
    if (!first) return bench.skip('The source has no task.');
    const stats = await statsOf(bench, now, { since, states: [first.state] });
    const foreign = Object.keys(stats.states).filter((state) => state !== first.state && stats.states[state]);
    if (foreign.length > 0) fail(`getTaskStats of ${first.state}`, 'no other state', foreign);
    if (bench.can.filters.includes('conditions')) {
      const excluded = { field: 'state', values: [first.state], prefixes: [], isNegated: true } as const;
      const { states } = await statsOf(bench, now, { since, conditions: [excluded] });
      if (states[first.state]) fail(`getTaskStats without ${first.state}`, 'none of it', states);
    }
    if (!bench.can.filters.includes('names')) return;
    const none = await statsOf(bench, now, { since, names: ['no-such-name'] });
    if (sum(Object.values(none.states)) > 0) fail('getTaskStats of an unknown name', 'no task', none.states);
  },

  'counts only tasks in the window': async (bench) => {
    const now = new Date(Date.UTC(2001, 0, 1));
    const { states } = await statsOf(bench, now, {}, 1);
    if (sum(Object.values(states)) > 0) fail('getTaskStats of one minute in 2001', 'no task', states);
  },

  'returns a series of equal steps, oldest first, that covers the window': async (bench) => {
    const now = new Date();
    const { series, stepSeconds } = await statsOf(bench, now, {}, 60);
    for (const [index, { t }] of series.entries()) {
      const before = series[index - 1]?.t;
      if (before && t.getTime() - before.getTime() !== stepSeconds * 1000) {
        fail(`getTaskStats().series[${index}].t`, `${stepSeconds} s after the previous one`, t);
      }
    }
    const covered = series.length * stepSeconds;
    if (Math.abs(covered - 3600) > 2 * stepSeconds)
      fail('getTaskStats().series', 'steps over 60 min', covered);
  },

  'has totals that add up the last steps in which all is known': async (bench) => {
    const { series, totals } = await statsOf(bench, new Date());
    if (totals === undefined) return bench.skip('The statistics have no totals.');
    const expected = totalsIn(series);
    for (const figure of ['received', 'succeeded', 'failed', 'retried'] as const) {
      if (totals[figure] !== expected[figure])
        fail(`getTaskStats().totals.${figure}`, String(expected[figure]), totals[figure]);
    }
  },

  'says which tasks sent those of a name, and which ones they sent': async (bench) => {
    const { rows, since } = await held(bench);
    const byId = new Map(rows.map((row) => [row.id, row]));
    const links = rows.flatMap(({ name, parentId, timestamp }) => {
      const parent = byId.get(parentId ?? '');
      const times = [timestamp, parent?.timestamp];
      return name && parent?.name ? [{ name, parent: parent.name, times }] : [];
    });
    const [link] = links;
    const ends = link?.times.flatMap((time) => time?.getTime() ?? []) ?? [];
    // Both have to be in the window.
    const isSeen = ends.length === 2 && Math.max(...ends) - Math.min(...ends) < DAY * 60_000;
    if (since !== null) bench.skip('The source has more tasks than the suite compares.');
    if (link === undefined || !isSeen) return bench.skip('No listed task has a parent of the same day.');
    for (const [figure, name, other] of [
      ['callers', link.name, link.parent],
      ['callees', link.parent, link.name],
    ] as const) {
      const now = new Date(Math.max(...ends));
      const found = (await statsOf(bench, now, { names: [name] }, DAY, { callers: true }))[figure];
      if (found == null) return bench.skip(`The statistics have no ${figure}.`);
      const expected = links.filter((one) => one.name === link.name && one.parent === link.parent).length;
      const count = found.find((one) => one.name === other)?.count;
      // Other tasks with these names may have changed outside the window.
      if (count === undefined || count < 1 || count > expected)
        fail(`getTaskStats().${figure} of ${name}`, `${other}, up to ${expected} times`, found);
    }
  },

  'lists the workers and queues of the listed tasks': async (bench) => {
    const { rows, since } = await held(bench);
    const stats = await statsOf(bench, new Date(), { since });
    for (const [list, field] of [
      ['workers', 'worker'],
      ['queues', 'queue'],
    ] as const) {
      const known = new Set(rows.map((row) => row[field]));
      const foreign = stats[list].filter((value) => !known.has(value));
      if (foreign.length > 0) fail(`getTaskStats().${list}`, 'only those of listed tasks', foreign);
      expectUnique(`getTaskStats().${list}`, stats[list]);
    }
  },
};

const MOST = 1_000;
const MOST_LISTED = 20;
const NO_FAILURE = 'The source has no failure of the last 24 hours.';
const { causeOf } = taskQuery();

/** The causes that a source reports, and those in its list. Skips the case when the source does not know causes. */
async function known(bench: Bench, most = MOST) {
  const { rows: all, since } = await held(bench);
  const now = new Date();
  const stats = await statsOf(bench, now, { since }, DAY, { causes: most });
  if (stats.causes === undefined) return bench.skip('The statistics have no causes.');
  const from = now.getTime() - DAY * 60_000 + stats.stepSeconds * 1_000;
  /** The failures whose last change is certainly in the window, by cause. */
  const rows = new Map<string, Task[]>();
  for (const row of all) {
    const id = causeOf(row)?.id;
    if (id === undefined || !row.timestamp || row.timestamp.getTime() < from) continue;
    addTo(rows, id, row);
  }
  return { groups: stats.causes, isTruncated: stats.causesTruncated === true, rows, since };
}

/** Cases on `causes` of `getTaskStats`. */
export const CAUSE_CHECKS: Checks = {
  'groups failures by cause, the most frequent first': async (bench) => {
    const { groups, rows, isTruncated } = await known(bench);
    if (groups.length === 0 && rows.size === 0) bench.skip(NO_FAILURE);
    for (const [index, { id, count, sample, names, activity }] of groups.entries()) {
      const own = rows.get(id) ?? [];
      if (count < own.length) fail(`count of the cause ${id}`, `the ${own.length} that the list has`, count);
      const charted = sum(activity);
      if (charted > count) fail(`activity of the cause ${id}`, `at most ${count}`, charted);
      const isListed = own.length < count || sample === null || own.some((row) => row.id === sample);
      if (!isListed) fail(`sample of the cause ${id}`, 'the id of a task with this cause', sample);
      const missing = own.find(({ name }) => name && names.length < MOST_LISTED && !names.includes(name));
      if (missing) fail(`names of the cause ${id}`, `${missing.name} among them`, names);
      const before = groups[index - 1];
      if (before && before.count < count) fail('getTaskStats().causes', 'the most frequent first', groups);
    }
    const left = [...rows.keys()].filter((id) => !groups.some((group) => group.id === id));
    if (left.length > 0 && !isTruncated)
      fail('getTaskStats().causes', 'every cause of listed failures', left);
  },

  'lists as many causes as were asked for, and says whether there are others': async (bench) => {
    const all = await known(bench);
    const one = await known(bench, 1);
    if (one.groups.length > 1) fail('getTaskStats().causes', 'at most 1', one.groups);
    if (all.groups.length > 1 && !one.isTruncated) fail('getTaskStats().causesTruncated', 'true', false);
    const { causes } = await statsOf(bench, new Date());
    if (causes !== undefined) fail('getTaskStats().causes that nobody asked for', 'none', causes);
  },

  'has no other causes than the list is filtered by': async (bench) => {
    const all = await known(bench);
    const [first] = all.groups;
    if (!first) return bench.skip(NO_FAILURE);
    const filter = { since: all.since, causes: [first.id] };
    const { causes = [] } = await statsOf(bench, new Date(), filter, DAY, { causes: MOST });
    const foreign = causes.filter(({ id }) => id !== first.id);
    if (foreign.length > 0) fail(`causes of the cause ${first.id}`, 'no others', foreign);
    if (causes[0]?.count !== first.count) fail(`count of the cause ${first.id}`, String(first.count), causes);
  },
};
