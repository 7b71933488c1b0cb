/**
 * The query for a list of tasks, what a source supports of it, and its result with the checks that it has the right
 * type.
 */
import { causeOfTask, createCauseFinder } from '../causes/find-cause.ts';
import type { Task, TaskCause } from '../model.ts';
import type { TaskEventPage } from '../source.ts';
import type { TaskCondition } from './task-condition.ts';

/** Fields that the task list can be sorted by. */
export type TaskSort = 'timestamp' | 'received' | 'started' | 'finished' | 'runtime' | 'name' | 'state';

/** A position in a sorted list: the sort value and id of a row. The page begins after it. */
export interface TaskPosition {
  /** Milliseconds for times, seconds for `runtime`, text for `name` and `state`; `null` when the row has none. */
  readonly key: number | string | null;
  readonly id: string;
  /**
   * The source's own addition, for rows whose position key and id do not determine: any text, at most 5,000 bytes as
   * JSON, which combined sources share.
   */
  readonly mark?: string;
}

/** Which tasks to list. Every filter has been validated; an empty array or `null` filters nothing. */
export interface TaskQuery {
  /** 0 to 1000; 0 requests only counts. */
  readonly limit: number;
  /** The position after which to list; `null`: from the start. */
  readonly after: TaskPosition | null;
  /** Any of them matches. */
  readonly states: readonly string[];
  /** On `engineState`. A source whose tasks have none returns no tasks. */
  readonly engineStates: readonly string[];
  readonly names: readonly string[];
  readonly workers: readonly string[];
  readonly queues: readonly string[];
  /** Ids of {@link TaskCause}; check them with {@link TaskQuery.causeOf}. */
  readonly causes: readonly string[];
  readonly rootId: string | null;
  readonly parentId: string | null;
  readonly groupId: string | null;
  /** All of them must be met; check them with `passesConditions`. Every task meets an empty list. */
  readonly conditions: readonly TaskCondition[];
  /**
   * A searched text in lower case, the longest of several. Empty: there is none, but `search` must still be called,
   * for example for excluded texts. `null`: `search` need not be called. Check it with {@link TaskQuery.search}.
   */
  readonly q: string | null;
  /**
   * Whether a task contains all searched texts and none of the excluded ones, in the text that a list row shows
   * (redacted and cut). Only this function may decide: matching raw values would let a search find secrets.
   */
  search(task: Task): boolean;
  /**
   * The cause of a task that failed, from its texts without secrets; `null`: it has none. Only this function may
   * decide: the causes of raw values would distinguish secrets.
   */
  causeOf(task: Task): TaskCause | null;
  /** On `timestamp`, inclusive. */
  readonly since: Date | null;
  /** On `timestamp`, exclusive. */
  readonly until: Date | null;
  readonly sort: TaskSort;
  readonly order: 'asc' | 'desc';
  /** Examine at most this many rows for one answer where no index helps. */
  readonly scan: number;
}

const FIND = createCauseFinder(null);

/** The parts of a {@link TaskQuery} that select every task, in the default order. Shared: must not be changed. */
export const ALL_TASKS: Omit<TaskQuery, 'limit' | 'scan'> = {
  after: null,
  states: [],
  engineStates: [],
  names: [],
  workers: [],
  queues: [],
  causes: [],
  rootId: null,
  parentId: null,
  groupId: null,
  conditions: [],
  q: null,
  search: () => true,
  causeOf: (task) => causeOfTask(task, FIND),
  since: null,
  until: null,
  sort: 'timestamp',
  order: 'desc',
};

/** A page of tasks, in the requested order, ties by id ascending, rows without a sort value last. */
export interface TaskPage {
  readonly tasks: readonly Task[];
  /** Where the next page begins; `null` when this was the last. */
  readonly next: TaskPosition | null;
  /** How many tasks match; `null` if counting them would cost too much. */
  readonly total: number | null;
  /**
   * False when a walk to this page, or from it to the last one, may miss rows that do not change. Default: true.
   */
  readonly cursorExact?: boolean;
  /**
   * `next` and `cursorExact` of the page with only the first `count` of these rows: at least 1, fewer than all.
   * `null`: unknown. Without it, a list of several sources is not exact if positions have marks.
   */
  endAt?(count: number): PageEnd | null;
}

/** How a page of tasks ends. */
export type PageEnd = Pick<TaskPage, 'next' | 'cursorExact'>;

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

/** Fields that are sorted as text; the others are numbers. */
const TEXT_SORTS: ReadonlySet<TaskSort> = new Set(['name', 'state']);

/** Whether a value is a valid page position. @param sort the field that the list is sorted by. Default: any */
export function isTaskPosition(value: unknown, sort?: TaskSort): value is TaskPosition {
  if (typeof value !== 'object' || value === null) return false;
  const { key, id, mark } = value as Partial<Record<keyof TaskPosition, unknown>>;
  const isKey = typeof key === 'string' || (typeof key === 'number' && Number.isFinite(key));
  const isOfSort = sort === undefined || typeof key === (TEXT_SORTS.has(sort) ? 'string' : 'number');
  return (
    (key === null || (isKey && isOfSort)) &&
    typeof id === 'string' &&
    (mark === undefined || typeof mark === 'string')
  );
}

/** Whether a value is a page of tasks. Its rows are not checked. */
export function isTaskPage(page: unknown): page is TaskPage {
  if (typeof page !== 'object' || page === null) return false;
  const { tasks: rows, next, total, cursorExact, endAt } = page as Partial<Record<keyof TaskPage, unknown>>;
  return (
    Array.isArray(rows) &&
    (next === null || isTaskPosition(next)) &&
    (total === null || (Number.isSafeInteger(total) && Number(total) >= 0)) &&
    (cursorExact === undefined || typeof cursorExact === 'boolean') &&
    (endAt === undefined || typeof endAt === 'function')
  );
}

/** Whether a value is a page of the feed. Its items are not checked. */
export function isTaskEventPage(page: unknown): page is TaskEventPage {
  if (typeof page !== 'object' || page === null) return false;
  const { events: list, cursor, gap } = page as Partial<Record<keyof TaskEventPage, unknown>>;
  return Array.isArray(list) && typeof cursor === 'string' && typeof gap === 'boolean';
}
