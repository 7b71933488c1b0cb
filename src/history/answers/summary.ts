/** Statistics over tasks. */
import type { Steps } from '../../scheduler.ts';
import { countCallers, type FamilyNames } from '../../select/callers.ts';
import { createStatsAccumulator, type StatsOptions } from '../../select/task-stats.ts';
import type { TaskStats, TaskStatsQuery } from '../../source.ts';
import type { Rows } from './rows.ts';
import type { TaskList } from './task-list.ts';

const MINUTE_MS = 60_000;

/**
 * Sums up the tasks that last changed within the window.
 *
 * @param names of all tasks
 * @param options which part of that time was observed
 */
export function* summarize(
  query: TaskStatsQuery,
  tasks: TaskList,
  rows: Rows,
  names: FamilyNames,
  options: StatsOptions,
): Steps<TaskStats> {
  const { now, minutes, filter } = query;
  const start = now.getTime() - minutes * MINUTE_MS;
  const since = filter.since !== null && filter.since.getTime() > start ? filter.since : new Date(start);
  const statistics = createStatsAccumulator(query, options);
  const window = { ...filter, since, after: null, sort: 'timestamp', order: 'desc' } as const;
  yield* tasks.visit(window, (slot) => statistics.add(rows.figures(slot)));
  const stats = yield* statistics.result();
  return query.callers === true ? { ...stats, ...(yield* countCallers(statistics.counted, names)) } : stats;
}
