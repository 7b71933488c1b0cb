import type { TaskQuery, TaskSort } from './task-query.ts';

/** A member of a {@link TaskQuery} by which a source may be unable to filter. */
export type TaskFilter = keyof Pick<
  TaskQuery,
  | 'states'
  | 'engineStates'
  | 'names'
  | 'workers'
  | 'queues'
  | 'causes'
  | 'rootId'
  | 'parentId'
  | 'groupId'
  | 'conditions'
  | 'since'
  | 'until'
>;

/**
 * What the list of tasks of a source supports. The router answers 400 to a request that needs more, and never passes
 * such a query to the source. Everything that is omitted here is supported.
 */
export interface TaskCapabilities {
  /** Fields that it sorts by, `timestamp` among them. Default: all. */
  readonly sorts?: readonly TaskSort[];
  /**
   * What it filters by. Without `conditions`, requests to a source that does not apply conditions may not use them:
   * exclusions, prefixes and ranges. Default: all.
   */
  readonly filters?: readonly TaskFilter[];
  /** Whether it can be searched, by passing each task to `query.search`. Default true. */
  readonly search?: boolean;
  /** Whether it counts all matching tasks; if not, `total` is always `null`. Default true. */
  readonly total?: boolean;
}

/** {@link TaskCapabilities} without gaps. */
export type AllCapabilities = Required<TaskCapabilities>;

/** Every field that a list can be sorted by. */
export const TASK_SORTS = [
  'timestamp',
  'received',
  'started',
  'finished',
  'runtime',
  'name',
  'state',
] as const satisfies readonly TaskSort[];

/** Everything that a list can be filtered by. */
export const TASK_FILTERS = [
  'states',
  'engineStates',
  'names',
  'workers',
  'queues',
  'causes',
  'rootId',
  'parentId',
  'groupId',
  'conditions',
  'since',
  'until',
] as const satisfies readonly TaskFilter[];

/** What a source supports, including defaults. */
export function capabilitiesOf({
  sorts = TASK_SORTS,
  filters = TASK_FILTERS,
  search = true,
  total = true,
}: TaskCapabilities = {}): AllCapabilities {
  return { sorts, filters, search, total };
}

/** What all of them support. */
export function commonCapabilities(all: readonly AllCapabilities[]): AllCapabilities {
  return {
    sorts: TASK_SORTS.filter((sort) => all.every(({ sorts }) => sorts.includes(sort))),
    filters: TASK_FILTERS.filter((filter) => all.every(({ filters }) => filters.includes(filter))),
    search: all.every(({ search }) => search),
    total: all.every(({ total }) => total),
  };
}
