/** Combines the task figures of several sources. */
import { mergeGroups } from '../causes/cause-groups.ts';
import { queryOfSource } from '../select/apply-query.ts';
import { mergeCallers } from '../select/callers.ts';
import { addBuckets, BUCKETS, bucketsOf, percentilesIn, totalsIn } from '../select/durations.ts';
import { summarizeTasks } from '../select/task-stats.ts';
import type { FanOut } from '../source/combined-part.ts';
import type { DurationFigures, HistogramBucket, TaskSource, TaskStats, TaskStatsQuery } from '../source.ts';
import { addTo } from '../values.ts';
import { answerOf, lengthOf, requireAnswer } from './merge-items.ts';

type Step = TaskStats['series'][number];
type NameFigures = TaskStats['names'][number];

const MOST_NAMES = 50;

/** Adds up the figures of all parts. A part that fails is left out, and reported in `sources`. */
export async function getMergedStats(
  parts: readonly TaskSource[],
  query: TaskStatsQuery,
  fanOut: FanOut,
): Promise<TaskStats> {
  const asked = parts.flatMap((part) => {
    const filter = queryOfSource(part, query.filter);
    return filter === null ? [] : { part, query: { ...query, filter } };
  });
  if (asked.length === 0) return summarizeTasks([], query);
  const replies = await Promise.all(
    asked.map(({ part, query: own }) =>
      fanOut.ask<TaskStats | undefined>({
        part,
        call: 'getTaskStats',
        // Earlier figures are of another time window and cannot be added.
        mayBeOld: false,
        read: (context) => part.getTaskStats?.(own, context),
        count(stats) {
          if (!(stats && stats.stepSeconds > 0)) throw new TypeError('getTaskStats() returned no figures.');
          return lengthOf(stats.series) + lengthOf(stats.names);
        },
      }),
    ),
  );
  requireAnswer(replies);
  const answers = replies.flatMap((reply) => answerOf(reply) ?? []);
  const merged = mergeStats(answers, query.causes ?? 0);
  return query.callers === true ? { ...merged, ...mergeAllCallers(answers) } : merged;
}

/**
 * Adds up figures. Shorter steps are counted into the longest ones. Percentiles cannot be combined: a name of
 * several sources has them only when one source has a value, or all values are equal. Each source returns only
 * its most frequent names, so the count of a name may lack sources in which it is rare.
 *
 * @param all at least one
 * @param mostCauses of failures; 0: none
 */
function mergeStats(all: readonly TaskStats[], mostCauses: number): TaskStats {
  const [first] = all;
  if (all.length === 1 && first !== undefined) return first;
  const coarsest = all.reduce((best, stats) => (stats.stepSeconds > best.stepSeconds ? stats : best));
  const states = new Map<string, number>();
  for (const stats of all) {
    for (const [state, count] of Object.entries(stats.states)) {
      states.set(state, (states.get(state) ?? 0) + count);
    }
  }
  const series = mergeSeries(all, coarsest);
  return {
    stepSeconds: coarsest.stepSeconds,
    series,
    ...mergeTotals(all, series),
    states: Object.fromEntries([...states].sort()),
    names: mergeNames(all),
    workers: union(all.map(({ workers }) => workers)),
    queues: union(all.map(({ queues }) => queues)),
    ...(mostCauses > 0 && mergeCauses(all, series, coarsest.stepSeconds, mostCauses)),
    ...mergeStored(all, coarsest),
  };
}

/** Unknown where one of the sources that have such tasks does not know it. */
function mergeAllCallers(all: readonly TaskStats[]): Pick<TaskStats, 'callers' | 'callees'> {
  const having = all.filter(({ states, names }) => names.length + Object.keys(states).length > 0);
  return {
    callers: mergeCallers(having.map(({ callers = null }) => callers)),
    callees: mergeCallers(having.map(({ callees = null }) => callees)),
  };
}

function mergeCauses(
  all: readonly TaskStats[],
  series: readonly Step[],
  stepSeconds: number,
  most: number,
): Pick<TaskStats, 'causes' | 'causesTruncated'> {
  if (all.every(({ causes }) => causes === undefined)) return {};
  const first = series[0]?.t.getTime() ?? 0;
  const stepOf = ({ t }: Step): number => Math.floor((t.getTime() - first) / (stepSeconds * 1_000));
  const parts = all.map(({ causes, causesTruncated, series: own }) => ({
    causes,
    causesTruncated,
    steps: own.map(stepOf),
  }));
  return mergeGroups(parts, most, series.length);
}

const MOST_DEPTHS = 20;

/**
 * What only some sources have. Depths of queues are left out where their steps are not those of the answer. Absent: no
 * source has them.
 */
function mergeStored(
  all: readonly TaskStats[],
  { stepSeconds, series }: TaskStats,
): Pick<TaskStats, 'computedFrom' | 'countedSince' | 'queueDepths'> {
  const stored = all.filter(({ computedFrom }) => computedFrom !== undefined);
  const since = stored.flatMap(({ countedSince }) => countedSince?.getTime() ?? []);
  const deep = all.filter(({ queueDepths }) => queueDepths !== undefined);
  const depths = deep.flatMap((stats) =>
    stats.stepSeconds === stepSeconds && stats.series.length === series.length
      ? (stats.queueDepths ?? [])
      : [],
  );
  const isCounted = stored.some(({ computedFrom }) => computedFrom === 'rollups');
  return {
    ...(stored.length > 0 && {
      computedFrom: isCounted ? 'rollups' : 'tasks',
      countedSince: since.length === 0 ? null : new Date(Math.min(...since)),
    }),
    ...(deep.length > 0 && { queueDepths: depths.slice(0, MOST_DEPTHS) }),
  };
}

function mergeSeries(all: readonly TaskStats[], { stepSeconds, series }: TaskStats): readonly Step[] {
  const stepMs = stepSeconds * 1_000;
  const origin = series[0]?.t.getTime() ?? 0;
  const steps = new Map<number, Step>();
  for (const step of all.flatMap((stats) => stats.series)) {
    // A step is counted into the longer step in which it begins.
    const t = origin + Math.floor((step.t.getTime() - origin) / stepMs) * stepMs;
    const sum = steps.get(t);
    steps.set(t, {
      ...('runtimeP50' in step && mergePercentiles(sum === undefined ? [step] : [sum, step])),
      t: new Date(t),
      received: addKnown(step.received, sum?.received),
      succeeded: addEnds(step.succeeded, sum?.succeeded),
      failed: addEnds(step.failed, sum?.failed),
      retried: addKnown(step.retried, sum?.retried),
    });
  }
  return [...steps].sort(([a], [b]) => a - b).map(([, step]) => step);
}

function mergeNames(all: readonly TaskStats[]): readonly NameFigures[] {
  const byName = new Map<string, NameFigures[]>();
  for (const figures of all.flatMap(({ names }) => names)) addTo(byName, figures.name, figures);
  return [...byName]
    .map(([name, figures]) => mergeFigures(name, figures))
    .sort((a, b) => atLeast(b) - atLeast(a) || (a.name < b.name ? -1 : 1))
    .slice(0, MOST_NAMES);
}

/** How many tasks of a name are known. */
const atLeast = ({ count, failed }: NameFigures): number => count ?? failed;

function mergeFigures(name: string, all: readonly NameFigures[]): NameFigures {
  return {
    name,
    count: all.reduce<number | null>((sum, { count }) => addKnown(count, sum), 0),
    failed: all.reduce((sum, { failed }) => sum + failed, 0),
    lastFailedAt: lastFailure(all),
    runtimeP50: agreed(all.map(({ runtimeP50 }) => runtimeP50)),
    runtimeP95: agreed(all.map(({ runtimeP95 }) => runtimeP95)),
    waitP50: agreed(all.map(({ waitP50 }) => waitP50)),
    waitP95: agreed(all.map(({ waitP95 }) => waitP95)),
  };
}

/** Unknown where one of the sources with failures does not know it. */
function lastFailure(all: readonly NameFigures[]): Date | null {
  const failing = all.filter(({ failed }) => failed > 0);
  const last = Math.max(...failing.map(({ lastFailedAt }) => lastFailedAt?.getTime() ?? Number.NaN));
  return Number.isFinite(last) ? new Date(last) : null;
}

function union(lists: readonly (readonly string[])[]): readonly string[] {
  return [...new Set(lists.flat())].sort();
}

type Totals = Required<Pick<TaskStats, 'totals'>> & Pick<TaskStats, 'runtimeHistogram' | 'waitHistogram'>;

/**
 * Percentiles on which sources differ are those of all histograms together.
 *
 * @param all at least one
 * @param series of all together
 */
function mergeTotals(all: readonly TaskStats[], series: TaskStats['series']): Totals {
  const runs = mergeBuckets(all.map(({ runtimeHistogram }) => runtimeHistogram));
  const waits = mergeBuckets(all.map(({ waitHistogram }) => waitHistogram));
  const known = all.flatMap(({ totals }) => totals ?? []);
  const same = mergePercentiles(known);
  const together = percentilesIn(runs ?? NOTHING, waits ?? NOTHING);
  // A source without totals may have durations of which nothing is known.
  const percentile = (name: keyof DurationFigures): number | null =>
    known.length < all.length ? null : (same[name] ?? together[name]);
  return {
    totals: { ...totalsIn(series), ...percentiles(percentile) },
    ...(runs !== null && { runtimeHistogram: bucketsOf(runs) }),
    ...(waits !== null && { waitHistogram: bucketsOf(waits) }),
  };
}

const NOTHING = new Float64Array(BUCKETS);

/** `null`: one of them is not known. */
function mergeBuckets(all: readonly (readonly HistogramBucket[] | undefined)[]): Float64Array | null {
  const counts = new Float64Array(BUCKETS);
  for (const buckets of all) {
    if (buckets === undefined) return null;
    addBuckets(counts, buckets);
  }
  return counts;
}

/** The percentiles on which all agree. */
function mergePercentiles(all: readonly Partial<DurationFigures>[]): DurationFigures {
  return percentiles((name) => agreed(all.map(({ [name]: figure = null }) => figure)));
}

function percentiles(figure: (name: keyof DurationFigures) => number | null): DurationFigures {
  return {
    runtimeP50: figure('runtimeP50'),
    runtimeP95: figure('runtimeP95'),
    runtimeP99: figure('runtimeP99'),
    waitP50: figure('waitP50'),
    waitP95: figure('waitP95'),
    waitP99: figure('waitP99'),
  };
}

/** The common value; `null` for a figure means that the source has no runs, so it does not count. */
function agreed(figures: readonly (number | null)[]): number | null {
  const [figure = null, ...others] = new Set(figures.filter((value) => value !== null));
  return others.length === 0 ? figure : null;
}

/**
 * Adds up known ends of tasks even where others are unknown: stored results report ends where no events were heard. The
 * sum is only 0 if all parts are known; else it is `null`.
 *
 * @param sum `undefined`: of nothing
 */
function addEnds(figure: number | null, sum: number | null | undefined): number | null {
  return addKnown(figure, sum) ?? ((figure ?? 0) + (sum ?? 0) || null);
}

/** A sum with a part that is not known is not known either. @param sum `undefined`: of nothing */
function addKnown(figure: number | null, sum: number | null | undefined): number | null {
  if (sum === undefined) return figure;
  return figure === null || sum === null ? null : figure + sum;
}
