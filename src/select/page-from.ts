import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Task } from '../model.ts';
import type { TaskPage, TaskPosition, TaskQuery } from '../source.ts';
import { passesFilters } from './task-filter.ts';
import { comparePositions, sortKeyOf } from './task-order.ts';

/** Longest work in one turn of the event loop, in milliseconds. */
const TURN_MS = 2;

/** How rows are streamed. */
export interface PageFromOptions {
  /**
   * Whether the rows come in the order of `query.sort` and `query.order`, ties by id ascending, rows without a value last.
   * Reading then stops at the end of the page, or after `query.scan` rows, and rows up to `query.after` may be left
   * out. Default false: all rows are read, in any order.
   */
  readonly isSorted?: boolean;
}

/** A task and where it stands. */
interface Row extends TaskPosition {
  readonly task: Task;
}

/**
 * Answers `listTasks` for a source that can only stream its tasks, such as a cursor of a database: filters and sorts them
 * while they arrive, and holds no more than a page.
 *
 * @param tasks every task that may match, each id once
 * @param query as given to `listTasks`
 * @returns the page; its `total` is `null` unless all rows were read
 *
 * @example
 * const source = { name: 'jobs', listTasks: (query) => pageFrom(readJobs(), query), … };
 */
export async function pageFrom(
  tasks: AsyncIterable<Task> | Iterable<Task>,
  query: TaskQuery,
  { isSorted = false }: PageFromOptions = {},
): Promise<TaskPage> {
  const { after, limit, order, scan, sort } = query;
  const rows: Row[] = [];
  let [matching, read] = [0, 0];
  let last: Row | null = null;
  let turnEnds = performance.now() + TURN_MS;
  for await (const task of tasks) {
    // Rows that are there already arrive without a turn of the event loop between them.
    if (performance.now() > turnEnds) {
      await nextTurn();
      turnEnds = performance.now() + TURN_MS;
    }
    const row = { key: sortKeyOf(task, sort), id: task.id, task };
    const isWanted = passesFilters(task, query);
    if (isWanted) matching += 1;
    if (after !== null && comparePositions(row, after, order) <= 0) continue;
    if (isSorted && isWanted && rows.length === limit) return { ...pageOf(rows, limit, true), total: null };
    if (isSorted && read === scan && last !== null) {
      return { ...pageOf(rows, limit, false), next: positionOf(last), total: null };
    }
    if (isWanted) keep(rows, row, query);
    last = row;
    read += 1;
  }
  const total = isSorted && after !== null ? null : matching;
  return { ...pageOf(rows, limit, rows.length > limit), total };
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
