/** Parameters of the statistics over tasks. */
import { moment } from '../http/moment-parameter.ts';
import { flag, integer, type ValuesOf } from '../http/parameter.ts';
import type { Fault } from '../http/route.ts';
import type { TaskStatsQuery } from '../source.ts';
import { CONDITION_NAMES } from './task-conditions.ts';

/** Part of the query of the list. */
export const STATS_QUERY = {
  stats: integer(
    'Adds statistics over this many minutes. Beyond 1440, only `name`, `worker`, `queue`, `cause` and `source` may filter.',
    { minimum: 1, maximum: 129_600 },
  ),
  stats_step: integer('Length of one step of `stats` in seconds, a multiple of 60. At most 1500 steps.', {
    minimum: 60,
    maximum: 7_776_000,
  }),
  stats_until: moment('End of the window of `stats`. Default: now.'),
  stats_percentiles: flag('Adds percentiles to each step of `stats`, and histograms of run times and waits.'),
  stats_callers: flag(
    'Adds to `stats` which tasks sent the tasks of this `name`, and which tasks these sent.',
  ),
  stats_causes: integer('Adds up to this number of the most frequent failure causes to `stats`.', {
    minimum: 0,
    maximum: 1_000,
    default: 0,
  }),
};

/** Filters of the list for which there are no stored counts. */
type Filters = Record<(typeof UNCOUNTED)[number], readonly string[] | string | number | Date | null>;
type Values = ValuesOf<typeof STATS_QUERY> & Filters & Names;

/** Filters that select the names whose callers are requested. */
type Names = Record<'name' | 'name_prefix', readonly string[]>;

/** Parameters that have no effect without `stats`. */
const ONLY_WITH_STATS = [
  'stats_step',
  'stats_until',
  'stats_percentiles',
  'stats_callers',
  'stats_causes',
] as const;

/** Beyond a day, statistics come from counts by name, worker and queue, or from the few tasks of a cause. */
export const COUNTED_MINUTES = 1_440;
const UNCOUNTED = [
  'state',
  'engine_state',
  'root_id',
  'parent_id',
  'group_id',
  'since',
  'until',
  ...CONDITION_NAMES.filter((name) => name !== 'source' && name !== 'not_source'),
] as const;
/** Maximum number of whole steps: the first and the last step may be incomplete. */
const MOST_STEPS = 1_499;

/** Checks that involve several parameters. @param faulty parameters with a fault of their own */
export function findStatsFaults(values: Values, faulty: ReadonlySet<string>, fault: Fault): void {
  const { stats, stats_step: step } = values;
  if (stats === null) {
    if (faulty.has('stats')) return;
    for (const name of ONLY_WITH_STATS) {
      if (values[name]) fault(name, 'It is allowed only with stats.');
    }
    return;
  }
  if (step !== null && step % 60 !== 0) fault('stats_step', 'Write a multiple of 60.');
  else if (step !== null && (stats * 60) / step > MOST_STEPS) {
    fault(
      'stats_step',
      `Write at least ${Math.ceil(stats / MOST_STEPS) * 60}: a window has at most 1500 steps.`,
    );
  }
  if (values.stats_callers && (values.name.length !== 1 || values.name_prefix.length > 0)) {
    fault('stats_callers', 'Add exactly one name, and no name_prefix.');
  }
  const other = UNCOUNTED.find((name) => hasValue(values[name]));
  if (stats > COUNTED_MINUTES && other !== undefined) {
    fault(
      'stats',
      `Write at most 1440 with ${other}: longer windows can be filtered by name, worker, queue, cause and source.`,
    );
  }
}

function hasValue(value: Values[(typeof UNCOUNTED)[number]]): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== null;
}

type WindowValues = Pick<Values, (typeof ONLY_WITH_STATS)[number]>;

/** The requested window. A time in the future counts as now. */
export function statsWindowOf(
  {
    stats_step: stepSeconds,
    stats_until: until,
    stats_percentiles: percentiles,
    stats_callers: callers,
    stats_causes: causes,
  }: WindowValues,
  minutes: number,
  now: number,
): Omit<TaskStatsQuery, 'filter'> {
  const end = new Date(Math.min(until?.getTime() ?? now, now));
  return { minutes, now: end, stepSeconds, percentiles, callers, causes };
}
