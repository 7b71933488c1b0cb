/** Answers the task list from the indexes. */
import type { Task } from '../../model.ts';
import { type Steps, sortInSteps } from '../../scheduler.ts';
import { comparePositions } from '../../select/apply-query.ts';
import type { TaskPage, TaskPosition, TaskQuery, TaskSort } from '../../source.ts';
import type { TaskIndex } from '../index/task-index.ts';
import { targetOf } from '../index/task-orders.ts';
import { readLife } from '../table/record-table.ts';
import type { Records } from '../table/records.ts';
import { type Candidates, candidatesOf, copyCandidates, walkCandidates } from './candidates.ts';
import type { Rows } from './rows.ts';

/** The task list. The indexes must have caught up. */
export type TaskList = ReturnType<typeof createTaskList>;

/** What the list is read from. */
interface ListContext {
  readonly records: Records;
  readonly index: TaskIndex;
  readonly rows: Rows;
  /** Brings indexes and records up to date. */
  readonly catchUp: () => void;
}

/** @param context what the list is read from */
export function createTaskList(context: ListContext) {
  const { records, index, rows } = context;
  return {
    /** Answers a query; `null`: the index of its order must be built first. */
    list: (query: TaskQuery): Steps<TaskPage | null> => listTasks(context, query),
    /** Visits every task that passes the filters but the text. */
    *visit(query: TaskQuery, visit: (slot: number) => void): Steps<void> {
      const candidates = candidatesOf(query, records, index);
      const accepts = acceptorOf(query, candidates, rows);
      const isSearch = query.q !== null;
      yield* visitSlots({ records, isSearch }, copyCandidates(candidates, query), (slot) => {
        if (isWithin(records, slot, query) && accepts(slot)) visit(slot);
      });
    },
  };
}

function* listTasks(context: ListContext, query: TaskQuery): Steps<TaskPage | null> {
  const { records, index, rows, catchUp } = context;
  const { sort, scan, since, until, q } = query;
  const candidates = candidatesOf(query, records, index);
  const { count, members, isExact, isAll } = candidates;
  const accepts = acceptorOf(query, candidates, rows);
  const isMatch = (slot: number): boolean => isWithin(records, slot, query) && accepts(slot);
  const order = listOrder(query, records);
  const walk = { records, order, isSearch: q !== null, from: walkByTime(context, query, candidates) };
  const page: PageContext = { walk, order, rows, catchUp };
  const isTimed = since !== null || until !== null;
  const isByTime = sort === 'timestamp';
  // The index of the order holds the tasks of the list and no others.
  const isIndexed = isExact && members === null && (isByTime || (isAll && !isTimed));
  if (!isIndexed && (members !== null || count <= scan)) {
    return yield* takeWholePage(query, copyCandidates(candidates, query), isMatch, page);
  }
  if (isByTime) return yield* takePage(query, isIndexed ? null : accepts, isIndexed ? count : null, page);
  const sorted = index.sorts.get(sort);
  if (sorted === null) return null;
  const from: TaskWalk['from'] = (after) => sorted.walk(query.order, after);
  const sortedPage = { ...page, walk: { ...walk, from } };
  return yield* takePage(query, isIndexed ? null : isMatch, isIndexed ? sorted.size : null, sortedPage);
}

/** Walks the candidates by time of the last change. */
function walkByTime(
  { records, index }: ListContext,
  query: TaskQuery,
  candidates: Candidates,
): TaskWalk['from'] {
  return (after) =>
    walkCandidates(candidates, query, after === null ? null : targetOf(after, records), records, index);
}

/** Whether a task passes the filters and contains the text. */
function acceptorOf(
  { q, search }: TaskQuery,
  { matches }: Candidates,
  rows: Rows,
): (slot: number) => boolean {
  return q === null ? matches : (slot) => matches(slot) && search(rows.brief(slot));
}

function isWithin(records: Records, slot: number, { since, until }: TaskQuery): boolean {
  if (since === null && until === null) return true;
  const time = records.timestamp[slot] as number;
  if (Number.isNaN(time)) return false;
  return (since === null || time >= since.getTime()) && (until === null || time < until.getTime());
}

/** What pages are made of. */
export interface PageContext {
  readonly walk: TaskWalk;
  /** The order of the page. */
  readonly order: ListOrder;
  readonly rows: Rows;
  /** Updates the indexes. */
  catchUp(): void;
}

/**
 * The page at the start of a walk, whose `next` is `null` only when the walk has ended.
 *
 * @param accepts filters the tasks, of which no more than `scan` are examined; `null`: all belong to the list
 * @param total the length of the list, if it is known
 */
function* takePage(
  { limit, scan, after }: TaskQuery,
  accepts: ((slot: number) => boolean) | null,
  total: number | null,
  context: PageContext,
): Steps<TaskPage> {
  const { walk } = context;
  const found = new Map<string, Visited>();
  let examined = 0;
  const last = yield* walkTasks(walk, after, (slot) => {
    const isMatch = accepts === null || (examined < scan && accepts(slot));
    if (isMatch ? found.size >= limit : examined >= scan) return false;
    examined++;
    if (isMatch) note(context, found, slot);
    return true;
  });
  const next = limit > 0 ? last : null;
  return { tasks: yield* presentTasks([...found.values()], after, next, context), next, total };
}

/**
 * The page after `after`, and the number of all tasks that match.
 *
 * @param slots contain all tasks that match
 */
function* takeWholePage(
  { limit, after }: TaskQuery,
  slots: readonly ArrayLike<number>[],
  accepts: (slot: number) => boolean,
  context: PageContext,
): Steps<TaskPage> {
  const { walk, order } = context;
  const found = new Map<string, Visited>();
  yield* visitSlots(walk, slots, (slot) => {
    if (accepts(slot)) note(context, found, slot);
  });
  const sorted = yield* sortInSteps([...found.values()], (a, b) => order.compare(a.position, b.position));
  const start = after === null ? 0 : firstBehind(sorted, after, order);
  const page = sorted.slice(start, start + limit);
  const last = start + limit < sorted.length ? page.at(-1) : undefined;
  const next = last?.position ?? null;
  return { tasks: yield* presentTasks(page, after, next, context), next, total: sorted.length };
}

/** A task that is visited again keeps its first position: it is on one page only. */
function note({ walk, order }: PageContext, found: Map<string, Visited>, slot: number): void {
  const id = walk.records.ids[slot] as string;
  if (!found.has(id)) found.set(id, { slot, position: order.positionOf(slot) });
}

function firstBehind(sorted: readonly Visited[], after: TaskPosition, order: ListOrder): number {
  let start = 0;
  let end = sorted.length;
  while (start < end) {
    const middle = (start + end) >> 1;
    if (order.compare((sorted[middle] as Visited).position, after) > 0) end = middle;
    else start = middle + 1;
  }
  return start;
}

/**
 * The tasks of a page in their present order. One that has moved to another page meanwhile is left out: a later page
 * lists it, and on an earlier page clients find it by `since`.
 */
function* presentTasks(
  page: readonly Visited[],
  after: TaskPosition | null,
  next: TaskPosition | null,
  { walk: { records }, rows, order, catchUp }: PageContext,
): Steps<Task[]> {
  let isOver = createStretch({ isSearch: true });
  for (const entry of page) {
    // Makes the task in advance, since redacting its texts may take long. It stays cached until it changes.
    if (isHeld(records, entry)) rows.get(entry.slot);
    if (!isOver()) continue;
    yield;
    isOver = createStretch({ isSearch: true });
  }
  catchUp();
  return page
    .filter((entry) => isHeld(records, entry))
    .map(({ slot, position: before }) => ({ slot, before, position: order.positionOf(slot) }))
    .filter(({ position, before }) => {
      if (order.compare(position, before) === 0) return true;
      const isBehindStart = after === null || order.compare(position, after) > 0;
      return isBehindStart && (next === null || order.compare(position, next) <= 0);
    })
    .sort((a, b) => order.compare(a.position, b.position))
    .map(({ slot }) => rows.get(slot));
}

/** Most tasks visited between two pauses. */
const STRETCH = 128;
/** Longest search between two pauses, in milliseconds: texts may be long. */
const SEARCH_MS = 1;

/** An index and the order in which it is walked. */
export interface TaskWalk {
  readonly records: Records;
  readonly order: ListOrder;
  /** Whether texts of the visited tasks are searched. */
  readonly isSearch: boolean;
  /** @param after begin after this position; `null`: at the start */
  from(after: TaskPosition | null): Iterable<number>;
}

/** A task, and its position when it was visited. */
export interface Visited {
  readonly slot: number;
  readonly position: TaskPosition;
}

/**
 * Visits the tasks after a position. A task that changes meanwhile may be visited again, or not at all: it is then on
 * another page.
 *
 * @param visit returns false to end the walk before this task
 * @returns the position of the last visited task when `visit` has ended the walk, else `null`
 */
function* walkTasks(
  walk: TaskWalk,
  after: TaskPosition | null,
  visit: (slot: number) => boolean,
): Steps<TaskPosition | null> {
  for (let start = after; ; ) {
    const isOver = createStretch(walk);
    let last = -1;
    let isPaused = false;
    for (const slot of walk.from(start)) {
      if (!visit(slot)) return last === -1 ? start : walk.order.positionOf(last);
      last = slot;
      isPaused = isOver();
      if (isPaused) break;
    }
    if (!isPaused) return null;
    start = walk.order.positionOf(last);
    yield;
  }
}

/** Visits slots that were copied earlier. Some may belong to other tasks by now. */
export function* visitSlots(
  { records, isSearch }: Pick<TaskWalk, 'records' | 'isSearch'>,
  parts: readonly ArrayLike<number>[],
  visit: (slot: number) => void,
): Steps<void> {
  let isOver = createStretch({ isSearch });
  for (const slots of parts) {
    for (let at = 0; at < slots.length; at++) {
      const slot = slots[at] as number;
      if (records.indexed[slot] === 1) visit(slot);
      if (!isOver()) continue;
      yield;
      isOver = createStretch({ isSearch });
    }
  }
}

/** @returns a function that is called after each visited task, and says whether it is time to pause */
export function createStretch({ isSearch }: Pick<TaskWalk, 'isSearch'>): () => boolean {
  let count = 0;
  const end = isSearch ? performance.now() + SEARCH_MS : 0;
  return () => {
    count += 1;
    return count >= STRETCH || (isSearch && performance.now() >= end);
  };
}

/** Whether the task is still in memory: its slot may belong to another task by now. */
function isHeld({ indexed, ids }: Records, { slot, position }: Visited): boolean {
  return indexed[slot] === 1 && ids[slot] === position.id;
}

/** How a list is ordered. */
export interface ListOrder {
  /** The present position of a task. */
  positionOf(slot: number): TaskPosition;
  /** Negative where `a` comes first. */
  compare(a: TaskPosition, b: TaskPosition): number;
}

/** @returns the order of this query */
function listOrder({ sort, order }: TaskQuery, records: Records): ListOrder {
  return {
    positionOf: (slot) => ({ key: sortKey(sort, slot, records), id: records.ids[slot] as string }),
    compare: (a, b) => comparePositions(a, b, order),
  };
}

function sortKey(sort: TaskSort, slot: number, records: Records): number | string | null {
  if (sort === 'state') return records.states.text(records.state[slot] as number);
  if (sort === 'name') {
    const name = records.name[slot] as number;
    return name === 0 ? null : records.names.text(name);
  }
  if (sort !== 'timestamp') return readLife(records, slot)[sort];
  const time = records.timestamp[slot] as number;
  return Number.isNaN(time) ? null : time;
}
