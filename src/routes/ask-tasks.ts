/** Calls a source with a query that it understands. */
import { queryOfSource } from '../select/query-of-source.ts';
import { summarizeTasks } from '../select.ts';
import type {
  Awaitable,
  ReadContext,
  TaskPage,
  TaskQuery,
  TaskSource,
  TaskStats,
  TaskStatsQuery,
} from '../source.ts';

/** Lists tasks; none if a condition on `source` excludes this source. */
export function listTasks(source: TaskSource, query: TaskQuery, context: ReadContext): Awaitable<TaskPage> {
  const own = queryOfSource(source, query);
  return own === null ? { tasks: [], next: null, total: 0 } : source.listTasks(own, context);
}

/** Sums up tasks. @returns `null`: the source does not support it */
export function getTaskStats(
  source: TaskSource,
  query: TaskStatsQuery,
  context: ReadContext,
): Awaitable<TaskStats> | null {
  if (source.getTaskStats === undefined) return null;
  const filter = queryOfSource(source, query.filter);
  return filter === null ? summarizeTasks([], query) : source.getTaskStats({ ...query, filter }, context);
}
