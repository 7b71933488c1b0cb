import { ALL_TASKS } from '../../src/source/task-query.ts';
import type { TaskQuery } from '../../src/source.ts';

/** A query as the router passes it, with only the given filters. */
export function queryOf(given: Partial<TaskQuery> = {}): TaskQuery {
  return { ...ALL_TASKS, limit: 100, scan: 20_000, ...given };
}
