/** Statistics in columns as lists of objects, as charts and tables take them. */
import type { StatsBeforeBody, StatsColumnsBody } from '../../wire.ts';

/** Result of {@link figuresOf}. */
export type Figures = ReturnType<typeof figuresOf>;

/** The figures of a period and of the previous one, which is `null` if too little of it is known. */
export function figuresOf(stats: StatsColumnsBody) {
  const { start, series, names, causes, queue_depths: depths, before, ...others } = stats;
  const { offset, ...counts } = series;
  const first = Date.parse(start ?? '');
  const t = offset.map((seconds) => new Date(first + seconds * 1_000).toISOString());
  return {
    now: {
      ...others,
      series: rowsOf({ t, ...counts }),
      names: rowsOf(names).map((name) => ({ ...name, last_failed_at: null })),
      causes: causes && rowsOf(causes),
      queue_depths:
        depths &&
        rowsOf(depths).map(({ waiting, oldest_seconds, oldest_step, ...depth }) => ({
          ...depth,
          waiting: [waiting],
          oldest_seconds: t.map((_, step) => (step === oldest_step ? oldest_seconds : null)),
          sent: [],
          received: [],
          growing_since: null,
        })),
    },
    before: before && beforeOf(stats, before),
  };
}

/** What the previous period had of the same names, causes and queues. Unknown names and causes are left out. */
function beforeOf(
  { names, causes, queue_depths: depths }: StatsColumnsBody,
  { totals, ...before }: StatsBeforeBody,
) {
  return {
    totals,
    names: rowsOf({ name: names.name, ...before.names }).flatMap(({ count, failed, ...name }) =>
      failed === null ? [] : [{ ...name, count, failed }],
    ),
    causes:
      causes &&
      before.causes &&
      rowsOf({ cause: causes.cause, ...before.causes }).flatMap(({ cause, count }) =>
        count === null ? [] : [{ cause, count }],
      ),
    causes_truncated: true,
    queue_depths: depths && before.queue_depths && rowsOf({ queue: depths.queue, ...before.queue_depths }),
  };
}

/** The rows of lists of equal length. */
function rowsOf<Columns extends object>(columns: Columns) {
  const lists = Object.entries(columns as Record<string, readonly unknown[]>);
  return Array.from(
    { length: lists[0]?.[1].length ?? 0 },
    (_, index) =>
      Object.fromEntries(lists.map(([name, list]) => [name, list[index]])) as {
        [Name in keyof Columns]: Columns[Name] extends readonly (infer Value)[] ? Value : never;
      },
  );
}
