/** Answers `listTasks` for sources that have all their tasks in memory, or can only stream them. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Task } from '../model.ts';
import { type Steps, scheduler } from '../scheduler.ts';
import type { TaskPage, TaskPosition, TaskQuery } from '../source.ts';
import { comparePositions, passesFilters, sortKeyOf } from './apply-query.ts';

/**
 * Answers `listTasks` for a source that has all its tasks in memory: filters, sorts and pages them. It reads every
 * task, so use it for at most some thousands of tasks.
 *
 * @param tasks every task, in any order, each id once
 * @param query as given to `listTasks`
 * @returns the page, with the exact total
 *
 * @example
 * const source = { name: 'jobs', listTasks: (query) => selectTasks(jobs.map(toTask), query), … };
 */
export function selectTasks(tasks: Iterable<Task>, query: TaskQuery): TaskPage {
  const { sort, order, limit, after } = query;
  const rows: Row[] = [];
  for (const task of tasks) {
    if (passesFilters(task, query)) rows.push({ key: sortKeyOf(task, sort), id: task.id, task });
  }
  rows.sort((a, b) => comparePositions(a, b, order));
  const start = after === null ? 0 : rows.findIndex((row) => comparePositions(row, after, order) > 0);
  const rest = start < 0 ? [] : rows.slice(start, start + limit + 1);
  return { ...pageOf(rest, limit, rest.length > limit), total: rows.length };
}

/** How rows are streamed. */
export interface PageFromOptions {
  /**
   * Whether the rows arrive in the order of `query.sort` and `query.order`, ties by id ascending, rows without a value
   * last. Reading then stops at the end of the page, or after `query.scan` rows, and rows up to `query.after` may be
   * omitted. Default false: all rows are read, in any order.
   */
  readonly isSorted?: boolean;
  /** `context.signal` of the read: reading stops when no client waits any more. Default: reading goes on. */
  readonly signal?: AbortSignal;
}

/** A task and its position. */
interface Row extends TaskPosition {
  readonly task: Task;
}

/**
 * Answers `listTasks` for a source that can only stream its tasks, such as a cursor of a database: filters and sorts
 * them while they arrive, and keeps no more than a page in memory.
 *
 * @param tasks every task that may match, each id once
 * @param query as given to `listTasks`
 * @returns the page; its `total` is `null` unless all rows were read
 * @throws the reason of `signal`; and a MonitorError `overloaded` where there is a signal and too much other work waits
 *
 * @example
 * const source = { name: 'jobs', listTasks: (query, { signal }) => pageFrom(readJobs(), query, { signal }), … };
 */
export async function pageFrom(
  tasks: AsyncIterable<Task> | Iterable<Task>,
  query: TaskQuery,
  { isSorted = false, signal }: PageFromOptions = {},
): Promise<TaskPage> {
  const waiter = signal && { signal };
  const page: Page = { rows: [], matching: 0, read: 0, last: null };
  const reader = createRowReader();
  try {
    let batch: Task[] = [];
    // Of sorted rows, a page and one more row are enough, unless filters exclude some.
    let size = isSorted ? query.limit + 1 : Number.POSITIVE_INFINITY;
    for await (const task of tasks) {
      signal?.throwIfAborted();
      if (batch.length === 0) reader.begin();
      batch.push(task);
      if (batch.length < Math.min(size, reader.most())) continue;
      const whole = await scheduler.run('page', takeRows(page, batch, query, isSorted), waiter);
      if (whole !== null) return whole;
      await reader.rest();
      batch = [];
      size *= 2;
    }
    const whole = await scheduler.run('page', takeRows(page, batch, query, isSorted), waiter);
    if (whole !== null) return whole;
  } finally {
    reader.close();
  }
  const total = isSorted && query.after !== null ? null : page.matching;
  return { ...pageOf(page.rows, query.limit, page.rows.length > query.limit), total };
}

/** The state after some rows. */
interface Page {
  readonly rows: Row[];
  matching: number;
  /** Rows after `query.after`. */
  read: number;
  last: Row | null;
}

/** @returns `null`: there may be more rows of the page */
function* takeRows(
  page: Page,
  tasks: readonly Task[],
  query: TaskQuery,
  isSorted: boolean,
): Steps<TaskPage | null> {
  const { after, limit, order, scan, sort } = query;
  const { rows } = page;
  for (const task of tasks) {
    yield;
    const row = { key: sortKeyOf(task, sort), id: task.id, task };
    const isWanted = passesFilters(task, query);
    if (isWanted) page.matching += 1;
    if (after !== null && comparePositions(row, after, order) <= 0) continue;
    if (isSorted && isWanted && rows.length === limit) return { ...pageOf(rows, limit, true), total: null };
    if (isSorted && page.read === scan && page.last !== null) {
      return { ...pageOf(rows, limit, false), next: positionOf(page.last), total: null };
    }
    if (isWanted) keep(rows, row, query);
    page.last = row;
    page.read += 1;
  }
  return null;
}

/** Keeps the first rows of the page, and one more, which shows that there are more. */
function keep(rows: Row[], row: Row, { limit, order }: TaskQuery): void {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (comparePositions(rows[middle] as Row, row, order) < 0) low = middle + 1;
    else high = middle;
  }
  rows.splice(low, 0, row);
  if (rows.length > limit + 1) rows.pop();
}

function pageOf(rows: readonly Row[], limit: number, hasMore: boolean): Pick<TaskPage, 'tasks' | 'next'> {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    tasks: page.map(({ task }) => task),
    next: hasMore && last !== undefined ? positionOf(last) : null,
  };
}

function positionOf({ key, id }: Row): TaskPosition {
  return { key, id };
}

/** How long all readers together may read in one turn, in milliseconds. The scheduler adds filtering and sorting. */
const TURN_MS = 4;
/** Maximum number of rows in a batch of a single reader, and minimum with many readers. */
const [MOST_AT_ONCE, FEWEST_AT_ONCE] = [256, 16];

let readers = 0;
/** When the first row of this turn was read. */
let began: number | null = null;

/** Reads the rows of one page. */
function createRowReader() {
  readers += 1;
  return {
    /** Called with the first row of each batch. */
    begin(): void {
      if (began !== null) return;
      began = performance.now();
      setImmediate(forget);
    },
    /** Maximum number of rows in the next batch. */
    most: () => Math.max(FEWEST_AT_ONCE, Math.floor(MOST_AT_ONCE / readers)),
    /** Called after each batch. @returns a promise if the time of this turn is over */
    rest: () => (began !== null && performance.now() - began > TURN_MS ? nextTurn() : undefined),
    close(): void {
      readers -= 1;
    },
  };
}

function forget(): void {
  began = null;
}
