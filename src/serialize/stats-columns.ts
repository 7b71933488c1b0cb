/** Statistics in columns: without the names of members, which are most of a long list. */
import type {
  MarkerBody,
  StatsBeforeBody,
  StatsCauseBody,
  StatsColumnsBody,
  StatsNameBody,
  StatsQueueBody,
} from '../wire.ts';
import type { StatsFigures } from './stats.ts';

/** @param earlier statistics of the previous window; `null`: unknown */
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
    totals: countsOf(totals),
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
        })),
        ['queue', 'waiting', 'oldest_seconds', 'oldest_at_least'],
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
    totals: countsOf(totals),
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

function countsOf({ since, received, succeeded, failed, retried }: StatsFigures['totals']) {
  return { since, received, succeeded, failed, retried };
}

function lastOf(values: readonly (number | null)[] = []): number | null {
  return values.findLast((value) => value !== null) ?? null;
}

function indexOf<Row, Key extends keyof Row>(rows: readonly Row[], key: Key): Map<Row[Key], Row> {
  return new Map(rows.map((row) => [row[key], row]));
}

/** Some members of all rows, as one list for each member. */
function columnsOf<Row, const Key extends keyof Row>(rows: readonly Row[], keys: readonly Key[]) {
  const columns = keys.map((key) => [key, rows.map((row) => row[key])]);
  return Object.fromEntries(columns) as { [Name in Key]: Row[Name][] };
}
