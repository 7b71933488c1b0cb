/** Statistics in columns as lists of objects, as charts and tables take them. */
import type {
  StatsCauseBody,
  StatsColumnsBody,
  StatsCountsBody,
  StatsNameBody,
  StatsQueueBody,
  StatsTotalsBody,
  TaskStatsBody,
} from '../../wire.ts';

/** The figures of a period and of the previous one. What the columns lack is unknown or empty. */
export interface Figures {
  readonly now: TaskStatsBody;
  /** `null`: unknown, or too little of it is known. */
  readonly before: TaskStatsBody | null;
}

export function figuresOf(stats: StatsColumnsBody): Figures {
  const { start, series, totals, names, causes, queue_depths: depths, before, ...others } = stats;
  const { offset, ...counts } = series;
  const first = Date.parse(start ?? '');
  const t = offset.map((seconds) => new Date(first + seconds * 1_000).toISOString());
  return {
    now: {
      ...others,
      series: rowsOf({ t, ...counts }),
      totals: totalsOf(totals),
      names: rowsOf(names).map((name) => ({ ...name, last_failed_at: null })),
      workers: [],
      queues: [],
      ...(causes && { causes: rowsOf(causes).map((cause): StatsCauseBody => ({ ...NO_CAUSE, ...cause })) }),
      ...(depths && { queue_depths: rowsOf(depths).map(depthsOf) }),
    },
    before: before && beforeOf(stats, before),
  };
}

function beforeOf(
  { step_seconds, names, causes, queue_depths: depths }: StatsColumnsBody,
  before: NonNullable<StatsColumnsBody['before']>,
): TaskStatsBody {
  const { totals, states } = before;
  return {
    step_seconds,
    states,
    series: [],
    markers: [],
    workers: [],
    queues: [],
    totals: totalsOf(totals),
    names: rowsOf({ name: names.name, ...before.names }).flatMap(
      ({ count, failed, ...name }): StatsNameBody[] =>
        failed === null
          ? []
          : [{ ...name, count, failed, runtime_p50: null, wait_p50: null, last_failed_at: null }],
    ),
    ...(causes &&
      before.causes && {
        causes: rowsOf({ cause: causes.cause, ...before.causes }).flatMap(
          ({ cause, count }): StatsCauseBody[] => (count === null ? [] : [{ ...NO_CAUSE, cause, count }]),
        ),
        causes_truncated: true,
      }),
    ...(depths &&
      before.queue_depths && {
        queue_depths: rowsOf({ queue: depths.queue, ...before.queue_depths }).map((queue) =>
          depthsOf({ ...queue, oldest_seconds: null, oldest_at_least: false }),
        ),
      }),
  };
}

type Row<Columns> = {
  [Name in keyof Columns]: Columns[Name] extends readonly (infer Value)[] ? Value : never;
};

/** The rows of lists of equal length. */
function rowsOf<Columns extends object>(columns: Columns): Row<Columns>[] {
  const lists = Object.entries(columns as Record<string, readonly unknown[]>);
  const length = lists[0]?.[1].length ?? 0;
  return Array.from(
    { length },
    (_, index) => Object.fromEntries(lists.map(([name, list]) => [name, list[index]])) as Row<Columns>,
  );
}

function totalsOf(counts: StatsCountsBody): StatsTotalsBody {
  return {
    ...counts,
    runtime_p50: null,
    runtime_p95: null,
    runtime_p99: null,
    wait_p50: null,
    wait_p95: null,
    wait_p99: null,
  };
}

function depthsOf(last: Row<NonNullable<StatsColumnsBody['queue_depths']>>): StatsQueueBody {
  const { waiting, oldest_seconds } = last;
  const unknown = { sent: [], received: [], growing_since: null };
  return { ...last, waiting: [waiting], oldest_seconds: [oldest_seconds], ...unknown };
}

const NO_CAUSE: Omit<StatsCauseBody, 'cause' | 'count'> = {
  exception: null,
  message: null,
  frame: null,
  first_seen: null,
  last_seen: null,
  names: [],
  workers: [],
  sample: null,
  is_new: null,
  activity: [],
};
