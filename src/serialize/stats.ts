import { type CauseGroup, MOST_CAUSES } from '../causes/cause-groups.ts';
import { totalsIn } from '../select/durations.ts';
import type {
  DurationFigures,
  HistogramBucket,
  QueueDepths,
  StatsTotals,
  TaskCaller,
  TaskStats,
} from '../source.ts';
import type {
  MarkerBody,
  StatsBeforeBody,
  StatsBucketBody,
  StatsCallerBody,
  StatsCauseBody,
  StatsColumnsBody,
  StatsNameBody,
  StatsQueueBody,
  StatsStepBody,
  StatsTotalsBody,
  TaskStatsBody,
} from '../wire.ts';
import { countsOf, figure, isoTime, label, labels, type ShowText, whole } from './shown-values.ts';

const MOST_STEPS = 1_500;
const MOST_DEPTHS = 20;
const MOST_NAMES = 50;
const MOST_BUCKETS = 100;

/** All members that the source itself supplies. */
export type StatsFigures = Omit<TaskStatsBody, 'markers'>;

/** The optional parts of statistics. */
export interface StatsAsked {
  /** Percentiles of steps, and histograms. Default: false. */
  readonly percentiles?: boolean;
  /** Default: false. */
  readonly callers?: boolean;
}

/**
 * @param show redacts the texts of causes
 * @returns `null` if the statistics have no valid step length
 */
export function statsBody(
  stats: TaskStats,
  show: ShowText,
  { percentiles: withPercentiles = false, callers: withCallers = false }: StatsAsked = {},
): StatsFigures | null {
  const given: Given<TaskStats> = stats;
  const step = figure(given.stepSeconds);
  if (step === null || step <= 0) return null;
  const series = rows<TaskStats['series'][number], StatsStepBody>(given.series, MOST_STEPS, (row) =>
    stepBody(row, withPercentiles),
  );
  return {
    step_seconds: step,
    series,
    totals: totalsBody(given.totals, series),
    ...(withPercentiles && {
      runtime_histogram: bucketsBody(given.runtimeHistogram),
      wait_histogram: bucketsBody(given.waitHistogram),
    }),
    states: countsOf(given.states) ?? {},
    names: rows<TaskStats['names'][number], StatsNameBody>(given.names, MOST_NAMES, nameBody),
    workers: labels(given.workers) ?? [],
    queues: labels(given.queues) ?? [],
    ...(withCallers && { callers: callersBody(given.callers), callees: callersBody(given.callees) }),
    ...causesBody(given, show),
    ...storedBody(given),
  };
}

/** The members that only some sources have. */
function storedBody({
  computedFrom,
  countedSince,
  queueDepths,
}: Given<TaskStats>): Pick<TaskStatsBody, 'computed_from' | 'counted_since' | 'queue_depths'> {
  const isStored = computedFrom === 'tasks' || computedFrom === 'rollups';
  return {
    ...(isStored && { computed_from: computedFrom, counted_since: isoTime(countedSince) }),
    ...(queueDepths !== undefined && {
      queue_depths: rows<QueueDepths, StatsQueueBody>(queueDepths, MOST_DEPTHS, depthsBody),
    }),
  };
}

function depthsBody(given: Given<QueueDepths>): StatsQueueBody | null {
  const { queue, waiting, oldestSeconds, sent, received, growingSince, oldestAtLeast } = given;
  const name = label(queue);
  if (name === null || !Array.isArray(waiting) || !Array.isArray(oldestSeconds)) return null;
  const counts = (list: unknown): (number | null)[] =>
    Array.isArray(list) ? list.slice(0, MOST_STEPS).map(whole) : waiting.slice(0, MOST_STEPS).map(() => null);
  return {
    queue: name,
    waiting: counts(waiting),
    oldest_seconds: oldestSeconds.slice(0, MOST_STEPS).map(figure),
    oldest_at_least: oldestAtLeast === true,
    sent: counts(sent),
    received: counts(received),
    growing_since: isoTime(growingSince),
  };
}

function stepBody(given: Given<TaskStats['series'][number]>, withPercentiles: boolean): StatsStepBody | null {
  const time = isoTime(given.t);
  if (time === null) return null;
  return { t: time, ...countsBody(given), ...(withPercentiles && percentilesBody(given)) };
}

function countsBody({ received, succeeded, failed, retried }: Given<StatsTotals>) {
  return {
    received: whole(received),
    succeeded: whole(succeeded),
    failed: whole(failed),
    retried: whole(retried),
  };
}

function percentilesBody(given: Given<DurationFigures>) {
  return {
    runtime_p50: figure(given.runtimeP50),
    runtime_p95: figure(given.runtimeP95),
    runtime_p99: figure(given.runtimeP99),
    wait_p50: figure(given.waitP50),
    wait_p95: figure(given.waitP95),
    wait_p99: figure(given.waitP99),
  };
}

/** The totals of a source; if it has none, those of its series. */
function totalsBody(totals: unknown, series: readonly StatsStepBody[]): StatsTotalsBody {
  const known = totalsIn(series);
  if (typeof totals !== 'object' || totals === null) return { ...known, ...percentilesBody({}) };
  const { since }: Given<StatsTotals> = totals;
  return {
    since: since === undefined ? known.since : isoTime(since),
    ...countsBody(totals),
    ...percentilesBody(totals),
  };
}

function bucketsBody(buckets: unknown): StatsBucketBody[] {
  return rows<HistogramBucket, StatsBucketBody>(buckets, MOST_BUCKETS, ({ le, count }) => {
    const known = whole(count);
    return known === null ? null : { le: figure(le), count: known };
  });
}

function callersBody(callers: unknown): StatsCallerBody[] | null {
  if (!Array.isArray(callers)) return null;
  return rows<TaskCaller, StatsCallerBody>(callers, MOST_NAMES, (given) => {
    const name = label(given.name);
    const count = whole(given.count);
    return name === null || count === null ? null : { name, count };
  });
}

function nameBody(given: Given<TaskStats['names'][number]>): StatsNameBody | null {
  const name = label(given.name);
  if (name === null) return null;
  return {
    name,
    count: whole(given.count),
    failed: whole(given.failed) ?? 0,
    last_failed_at: isoTime(given.lastFailedAt),
    runtime_p50: figure(given.runtimeP50),
    runtime_p95: figure(given.runtimeP95),
    wait_p50: figure(given.waitP50),
    wait_p95: figure(given.waitP95),
  };
}

const MOST_OF_CAUSE = 20;

/** The requested members that not every source has. */
function causesBody(
  { causes, causesTruncated }: Given<TaskStats>,
  show: ShowText,
): Pick<TaskStatsBody, 'causes' | 'causes_truncated'> {
  if (!Array.isArray(causes)) return {};
  return {
    causes: rows<CauseGroup, StatsCauseBody>(causes, MOST_CAUSES, (given) => causeBody(given, show)),
    causes_truncated: causesTruncated === true || causes.length > MOST_CAUSES,
  };
}

function causeBody(given: Given<CauseGroup>, show: ShowText): StatsCauseBody | null {
  const cause = label(given.id);
  if (cause === null) return null;
  const { isNew, activity } = given;
  return {
    cause,
    exception: show(given.exception, 'exception').text,
    message: show(given.message, 'exception').text,
    frame: show(given.frame, 'traceback').text,
    count: whole(given.count) ?? 0,
    first_seen: isoTime(given.firstSeen),
    last_seen: isoTime(given.lastSeen),
    names: (labels(given.names) ?? []).slice(0, MOST_OF_CAUSE),
    workers: (labels(given.workers) ?? []).slice(0, MOST_OF_CAUSE),
    sample: label(given.sample),
    is_new: typeof isNew === 'boolean' ? isNew : null,
    activity: Array.isArray(activity) ? activity.slice(0, MOST_STEPS).map((count) => whole(count) ?? 0) : [],
  };
}

/** The same fields with any values, as sources return them. */
type Given<T> = { readonly [Key in keyof T]?: unknown };

/** Serializes the readable items of a list. */
function rows<Item, Body>(list: unknown, most: number, bodyOf: (item: Given<Item>) => Body | null): Body[] {
  if (!Array.isArray(list)) return [];
  const bodies: Body[] = [];
  for (const item of list.slice(0, most)) {
    const body = typeof item === 'object' && item !== null ? bodyOf(item as Given<Item>) : null;
    if (body !== null) bodies.push(body);
  }
  return bodies;
}

/**
 * Statistics in columns: without the names of members, which are most of a long list.
 *
 * @param earlier statistics of the previous window; `null`: unknown
 */
export function statsColumns(
  now: StatsFigures,
  earlier: StatsFigures | null,
  markers: MarkerBody[],
): StatsColumnsBody {
  const { step_seconds, series, totals, states, names, causes, computed_from, queue_depths: depths } = now;
  const start = series[0]?.t ?? null;
  return {
    step_seconds,
    start,
    series: {
      offset: series.map(({ t }) => (Date.parse(t) - Date.parse(start ?? t)) / 1_000),
      ...columnsOf(series, ['received', 'succeeded', 'failed', 'retried']),
    },
    totals: totalsOf(totals),
    markers,
    states,
    names: columnsOf(names.map(short), [
      'name',
      'count',
      'failed',
      'runtime_p50',
      'runtime_p95',
      'wait_p50',
      'wait_p95',
    ]),
    ...(causes && {
      causes: columnsOf(causes, ['cause', 'exception', 'message', 'frame', 'count', 'is_new', 'activity']),
    }),
    ...(computed_from && { computed_from }),
    ...(depths && {
      queue_depths: columnsOf(
        depths.map((queue) => ({
          ...queue,
          waiting: lastOf(queue.waiting),
          oldest_seconds: lastOf(queue.oldest_seconds),
          oldest_step: lastKnown(queue.oldest_seconds),
        })),
        ['queue', 'waiting', 'oldest_seconds', 'oldest_step', 'oldest_at_least'],
      ),
    }),
    before: earlier === null || !isKnown(earlier) ? null : beforeOf(now, earlier),
  };
}

/** Of less than half of a window, nobody can say what was usual. */
function isKnown({ series }: StatsFigures): boolean {
  return 2 * series.filter(({ succeeded }) => succeeded !== null).length >= series.length;
}

const NO_NAME = { count: null, failed: null, runtime_p95: null, wait_p95: null };

function beforeOf(now: StatsFigures, earlier: StatsFigures): StatsBeforeBody {
  const { totals, states } = earlier;
  const names = indexOf<StatsNameBody, 'name'>(earlier.names.map(short), 'name');
  const causes = indexOf<StatsCauseBody, 'cause'>(earlier.causes ?? [], 'cause');
  const depths = indexOf<StatsQueueBody, 'queue'>(earlier.queue_depths ?? [], 'queue');
  // Only the most frequent causes may be listed.
  const rest = earlier.causes_truncated === true || totals.failed === null ? null : 0;
  return {
    totals: totalsOf(totals),
    states,
    names: columnsOf(
      now.names.map(({ name }) => names.get(name) ?? NO_NAME),
      ['count', 'failed', 'runtime_p95', 'wait_p95'],
    ),
    ...(now.causes &&
      earlier.causes && {
        causes: { count: now.causes.map(({ cause }) => causes.get(cause)?.count ?? rest) },
      }),
    ...(now.queue_depths &&
      earlier.queue_depths && {
        queue_depths: { waiting: now.queue_depths.map(({ queue }) => lastOf(depths.get(queue)?.waiting)) },
      }),
  };
}

/** With times of four significant digits: more would be most of the body. */
function short(name: StatsNameBody): StatsNameBody {
  const { runtime_p50, runtime_p95, wait_p50, wait_p95 } = name;
  const times = Object.entries({ runtime_p50, runtime_p95, wait_p50, wait_p95 }).map(([key, time]) => [
    key,
    time === null ? null : Number(time.toPrecision(4)),
  ]);
  return { ...name, ...Object.fromEntries(times) };
}

function totalsOf({ since, received, succeeded, failed, retried }: StatsFigures['totals']) {
  return { since, received, succeeded, failed, retried };
}

function lastOf(values: readonly (number | null)[] = []): number | null {
  return values.findLast((value) => value !== null) ?? null;
}

/** The position of the last known value. */
function lastKnown(values: readonly (number | null)[]): number | null {
  const at = values.findLastIndex((value) => value !== null);
  return at < 0 ? null : at;
}

function indexOf<Row, Key extends keyof Row>(rows: readonly Row[], key: Key): Map<Row[Key], Row> {
  return new Map(rows.map((row) => [row[key], row]));
}

/** Some members of all rows, as one list for each member. */
function columnsOf<Row, const Key extends keyof Row>(rows: readonly Row[], keys: readonly Key[]) {
  const columns = keys.map((key) => [key, rows.map((row) => row[key])]);
  return Object.fromEntries(columns) as { [Name in Key]: Row[Name][] };
}
