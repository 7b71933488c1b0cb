import { ALL_TASKS } from '../../src/source/task-query.ts';
import type { TaskQuery } from '../../src/source.ts';

/** A query as the router passes it, with only the given filters. */
export function queryOf(given: Partial<TaskQuery> = {}): TaskQuery {
  return { ...ALL_TASKS, limit: 100, scan: 20_000, ...given };
}

const SORT_KEYS: Readonly<Record<TaskQuery['sort'], true>> = {
  timestamp: true,
  received: true,
  started: true,
  finished: true,
  runtime: true,
  name: true,
  state: true,
};

/** Every sort of a list. */
export const SORTS = Object.keys(SORT_KEYS) as readonly TaskQuery['sort'][];
