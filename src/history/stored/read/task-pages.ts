/** Pages of the task list over memory and a store: one list by sort value and id, wherever a task is. */

import type { Task } from '../../../model.ts';
import { type Steps, scheduler, sortInSteps } from '../../../scheduler.ts';
import { passesFilters } from '../../../select/task-filter.ts';
import { comparePositions, sortKeyOf } from '../../../select/task-order.ts';
import type { Awaitable, ReadContext, TaskPage, TaskPosition, TaskQuery } from '../../../source.ts';
import { isThenable } from '../../../values.ts';
import { pause } from '../../../waiting.ts';
import type { DroppedTask } from '../../memory/tap.ts';
import type { StoredTask } from '../../store.ts';
import { nextReadSize } from './read-size.ts';
import type { ReaderContext } from './reader-context.ts';
import { asksForEngineState, isDecidedHere, storeQuery } from './store-query.ts';
import { isStoreAway } from './store-reads.ts';
import { positionOf, readStored, rowOf } from './stored-rows.ts';
import { countAll } from './task-total.ts';

/** Stored tasks that are made into rows between two pauses. */
const ROWS_AT_ONCE = 8;
/** Longest wait for a page of the store where memory has rows of its own, in milliseconds. */
const PAGE_MS = 3_000;
/** Longest wait for the number of tasks, once the page is there, in milliseconds. */
const COUNT_MS = 250;
/** Longest search of the store for one page, in milliseconds; the next page continues. */
const SEARCH_MS = 2_000;
/** Stored tasks of the first read of a long page or a search. */
const FIRST_BATCH = 250;

/** Answers at once where memory knows enough. */
export function listTasks(
  reader: ReaderContext,
  query: TaskQuery,
  context: ReadContext,
): Awaitable<TaskPage> {
  const page = reader.memory.reader.listTasks(query, context);
  return isThenable(page)
    ? page.then((known) => withStore(reader, query, known, context))
    : withStore(reader, query, page, context);
}

function withStore(
  reader: ReaderContext,
  query: TaskQuery,
  page: TaskPage,
  context: ReadContext,
): Awaitable<TaskPage> {
  // No recorded task has an engine state.
  if (asksForEngineState(query)) return page;
  const since = reader.droppedThrough();
  const isWholeList =
    since === Number.NEGATIVE_INFINITY || (query.since !== null && query.since.getTime() > since);
  if (isWholeList) return page;
  if (isBehind(page, query, since)) return { ...page, total: null };
  return listBoth(reader, query, page, context);
}

/** Whether all tasks of a page of memory, and all that could be between them, changed later than this. */
function isBehind({ next }: TaskPage, { sort, order }: TaskQuery, since: number): boolean {
  const isNewestFirst = sort === 'timestamp' && order === 'desc';
  return isNewestFirst && next !== null && typeof next.key === 'number' && next.key > since;
}

async function listBoth(
  reader: ReaderContext,
  query: TaskQuery,
  page: TaskPage,
  context: ReadContext,
): Promise<TaskPage> {
  const counting = countAll(reader, query, page, context).catch(() => null);
  if (query.limit === 0) return { tasks: [], next: null, total: await counting };
  try {
    const both = await mergePage(reader, query, page, context);
    const isWhole = query.after === null && both.next === null;
    const total = isWhole ? both.tasks.length : await Promise.race([counting, pause(COUNT_MS)]);
    return { ...both, total: total ?? null };
  } catch (error) {
    const last = page.tasks.at(-1);
    if (!isStoreAway(error) || last === undefined) throw error;
    // The list has no end, so that it does not appear complete.
    const next = page.next ?? { key: sortKeyOf(last, query.sort), id: last.id };
    return { tasks: page.tasks, next, total: null, cursorExact: false };
  }
}

/** A row and its position. */
interface Listed {
  readonly task: Task;
  readonly position: TaskPosition;
}

/** A page that is being assembled. */
interface Merge {
  readonly reader: ReaderContext;
  readonly query: TaskQuery;
  /** Rows after the start of the page, by id. */
  readonly rows: Map<string, Listed>;
  /** Tasks that are newer here than in the store, although they are not in memory. */
  readonly dropped: ReadonlyMap<string, DroppedTask>;
  /** How far the rows of memory are known; `null`: to their end. */
  readonly memoryEnd: TaskPosition | null;
  /** The same for the stored rows. */
  storeEnd: TaskPosition | null;
  /** Stored rows that a search has read. */
  examined: number;
}

async function mergePage(
  reader: ReaderContext,
  query: TaskQuery,
  page: TaskPage,
  context: ReadContext,
): Promise<TaskPage> {
  const { limit, scan } = query;
  const isSearch = isDecidedHere(query);
  const dropped = new Map(reader.droppedTasks());
  const merge: Merge = {
    ...{ reader, query, rows: new Map(), dropped, memoryEnd: page.next, storeEnd: query.after, examined: 0 },
  };
  for (const task of page.tasks) list(merge, task, { key: sortKeyOf(task, query.sort), id: task.id });
  await scheduler.run('list', addBacklog(merge), context);
  // One more than the page, to know whether another follows.
  const most = isSearch ? scan : limit + 1;
  let batch = Math.min(most, FIRST_BATCH);
  const ms = page.tasks.length > 0 ? PAGE_MS : undefined;
  const searchUntil = performance.now() + SEARCH_MS;
  for (;;) {
    const asked = storeQuery(query, { after: merge.storeEnd, limit: batch });
    const tasks = await reader.reads.read((session) => session.tasks.list(asked), context, ms);
    merge.storeEnd = tasks.length < batch ? null : positionOf(tasks.at(-1) as StoredTask, query.sort);
    merge.examined += tasks.length;
    await scheduler.run(isSearch ? 'search' : 'list', addStored(merge, tasks), context);
    const end = endOf(merge);
    const isSearched = isSearch && (merge.examined >= scan || performance.now() > searchUntil);
    const isOver = merge.storeEnd === null || isSearched || end !== merge.storeEnd;
    if (isOver || countUpTo(merge, end) > limit) return await scheduler.run('list', cut(merge, end), context);
    batch = Math.min(most, nextReadSize(tasks));
  }
}

/** Up to where both are known; `null`: to the end of the list. */
function endOf({ memoryEnd, storeEnd, query }: Merge): TaskPosition | null {
  if (memoryEnd === null || storeEnd === null) return memoryEnd ?? storeEnd;
  return comparePositions(memoryEnd, storeEnd, query.order) <= 0 ? memoryEnd : storeEnd;
}

function isUpTo(position: TaskPosition, end: TaskPosition | null, { order }: TaskQuery): boolean {
  return end === null || comparePositions(position, end, order) <= 0;
}

function countUpTo({ rows, query }: Merge, end: TaskPosition | null): number {
  let count = 0;
  for (const { position } of rows.values()) if (isUpTo(position, end, query)) count++;
  return count;
}

function* addBacklog(merge: Merge): Steps<void> {
  const { reader, query, dropped } = merge;
  let count = 0;
  for (const [id, known] of dropped) {
    if (++count % ROWS_AT_ONCE === 0) yield;
    if (reader.memory.has(id)) continue;
    const task = rowOf(known.read(), reader.memory);
    if (passesFilters(task, query)) list(merge, task, { key: sortKeyOf(task, query.sort), id: task.id });
  }
}

function* addStored(merge: Merge, tasks: readonly StoredTask[]): Steps<void> {
  for (const [at, task] of tasks.entries()) {
    if (at % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) yield;
    addOne(merge, task);
  }
}

/** The data in memory is used, even if the task came into memory after its page was made. */
function addOne(merge: Merge, stored: StoredTask): void {
  const { reader, query, rows, dropped } = merge;
  const { memory } = reader;
  if (dropped.has(stored.id) || rows.has(stored.id)) return;
  const known = memory.row(stored.id);
  if (known !== null) {
    if (passesFilters(known, query)) list(merge, known, { key: sortKeyOf(known, query.sort), id: known.id });
    return;
  }
  const cold = readStored(stored, false);
  const task = cold === null ? null : rowOf(cold, memory);
  if (task !== null && passesFilters(task, query)) list(merge, task, positionOf(stored, query.sort));
}

function list({ rows, query: { after, order } }: Merge, task: Task, position: TaskPosition): void {
  if (after === null || comparePositions(position, after, order) > 0) rows.set(task.id, { task, position });
}

/** The page of the rows up to where both are known. */
function* cut({ rows, query }: Merge, end: TaskPosition | null): Steps<TaskPage> {
  const { limit, order } = query;
  const known = [...rows.values()].filter(({ position }) => isUpTo(position, end, query));
  const sorted = yield* sortInSteps(known, (a, b) => comparePositions(a.position, b.position, order));
  const page = sorted.slice(0, limit);
  const next = sorted.length > limit ? (page.at(-1)?.position ?? null) : end;
  return { tasks: page.map(({ task }) => task), next, total: null };
}
