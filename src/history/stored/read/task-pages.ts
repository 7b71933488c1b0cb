/** Pages of the task list over memory and a store: of memory alone if that suffices, else of the store with an overlay. */
import type { Task } from '../../../model.ts';
import { type Steps, scheduler, sortInSteps } from '../../../scheduler.ts';
import { comparePositions, passesFilters, sortKeyOf } from '../../../select/apply-query.ts';
import { isFigureCondition, type TaskCondition } from '../../../source/task-condition.ts';
import type { Awaitable, ReadContext, TaskPage, TaskPosition, TaskQuery } from '../../../source.ts';
import { isThenable } from '../../../values.ts';
import { pause } from '../../../waiting.ts';
import type { StoredQuery, StoredTask } from '../../store.ts';
import { isStoreAway, type ReaderContext } from './reader-context.ts';
import { nextReadSize, type Overlay, positionOf, readOverlay, readStored, rowOf } from './stored-tasks.ts';

/** Tasks that are made into rows between two pauses. */
const ROWS_AT_ONCE = 8;
/** Longest wait for a page of the store where memory may have one, in milliseconds. */
const PAGE_MS = 3_000;
/** Longest wait for the number of tasks, once the page is there, in milliseconds. */
const COUNT_MS = 250;
/** Longest search of the store for one page, in milliseconds; the next page continues. */
const SEARCH_MS = 2_000;
/** Stored tasks of the first read of a long page or a search. */
const FIRST_BATCH = 250;
/** Most stored tasks that are counted, and most unwritten tasks that are left out of it. */
const MOST_COUNTED = 10_000;
const MOST_EXCEPT = 2_000;

/** Answers at once where memory knows enough. */
export function listTasks(
  reader: ReaderContext,
  query: TaskQuery,
  context: ReadContext,
): Awaitable<TaskPage> {
  // No recorded task has an engine state.
  const isDecided = asksForEngineState(query) || isRecent(query, reader.droppedThrough());
  if (!isDecided && !mayBeRecent(query, reader.droppedThrough())) return listStored(reader, query, context);
  const page = reader.memory.reader.listTasks(query, context);
  const known = (given: TaskPage): Awaitable<TaskPage> => {
    const since = reader.droppedThrough();
    if (asksForEngineState(query) || isRecent(query, since)) return given;
    return isBehind(given, query, since)
      ? { ...given, total: null }
      : listStored(reader, query, context, given);
  };
  return isThenable(page) ? page.then(known) : known(page);
}

/** Whether memory has the whole list. @param since memory has everything that changed later */
function isRecent({ since }: TaskQuery, known: number): boolean {
  return known === Number.NEGATIVE_INFINITY || (since !== null && since.getTime() > known);
}

/** Whether memory may have the whole page. */
function mayBeRecent({ sort, order, after }: TaskQuery, known: number): boolean {
  if (sort !== 'timestamp' || order !== 'desc' || known === Number.POSITIVE_INFINITY) return false;
  return after === null || (typeof after.key === 'number' && after.key > known);
}

/** Whether all tasks of a page of memory, and all that could be between them, changed later than this. */
function isBehind({ next }: TaskPage, query: TaskQuery, known: number): boolean {
  return mayBeRecent({ ...query, after: next }, known) && next !== null;
}

/** @param known the page of memory, if it was read */
async function listStored(
  reader: ReaderContext,
  query: TaskQuery,
  context: ReadContext,
  known?: TaskPage,
): Promise<TaskPage> {
  try {
    return await readPage(reader, query, context);
  } catch (error) {
    if (!isStoreAway(error)) throw error;
    const page = known ?? (await reader.memory.reader.listTasks(query, context));
    const last = page.tasks.at(-1);
    if (last === undefined) throw error;
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

async function readPage(reader: ReaderContext, query: TaskQuery, context: ReadContext): Promise<TaskPage> {
  const overlay = await readOverlay(reader, context);
  const counting = countStored(reader, overlay, query, context).catch(() => null);
  if (query.limit === 0) {
    const stored = await counting;
    const own = stored === null ? [] : await scheduler.run('list', rowsOf(overlay, query), context);
    return { tasks: [], next: null, total: stored === null ? null : stored + own.length };
  }
  const { own, ...page } = await mergePage(reader, query, overlay, context);
  if (overlay.isCut) return { ...page, cursorExact: false };
  if (query.after === null && page.next === null) return { ...page, total: page.tasks.length };
  const stored = await Promise.race([counting, pause(COUNT_MS)]);
  return { ...page, total: typeof stored === 'number' ? stored + own : null };
}

/** The unwritten tasks of a list, wherever it begins. */
function* rowsOf(overlay: Overlay, query: TaskQuery): Steps<Listed[]> {
  const rows: Listed[] = [];
  let count = 0;
  for (const id of overlay.ids) {
    const task = overlay.row(id);
    if (task === null) overlay.ids.delete(id);
    else if (passesFilters(task, query))
      rows.push({ task, position: { key: sortKeyOf(task, query.sort), id } });
    if (++count % ROWS_AT_ONCE === 0) yield;
  }
  return rows;
}

/** How many stored tasks a list has beside the unwritten ones; `null`: unknown, or too many. */
async function countStored(
  { reads }: ReaderContext,
  overlay: Overlay,
  query: TaskQuery,
  context: ReadContext,
): Promise<number | null> {
  if (isDecidedHere(query) || overlay.isCut || overlay.ids.size > MOST_EXCEPT) return null;
  const asked = storeQuery({ ...query, after: null }, { except: [...overlay.ids] });
  const count = await reads.read((session) => session.tasks.count(asked, MOST_COUNTED + 1), context);
  return count > MOST_COUNTED ? null : count;
}

/** A page that is being assembled. */
interface Merge {
  readonly query: TaskQuery;
  /** Rows after the start of the page, by id. */
  readonly rows: Map<string, Listed>;
  /** How far the stored rows are read; `null`: to their end. */
  end: TaskPosition | null;
}

/** @returns the page, and how many unwritten tasks the whole list has */
async function mergePage(
  reader: ReaderContext,
  query: TaskQuery,
  overlay: Overlay,
  context: ReadContext,
): Promise<TaskPage & { readonly own: number }> {
  const { limit, scan } = query;
  const isSearch = isDecidedHere(query);
  const merge: Merge = { query, rows: new Map(), end: query.after };
  let own: readonly Listed[] | null = null;
  // One more than the page, to know whether another follows.
  const most = isSearch ? scan : limit + 1;
  let batch = Math.min(most, FIRST_BATCH);
  let examined = 0;
  const ms = reader.hearing() === 'nothing' ? undefined : PAGE_MS;
  const searchUntil = performance.now() + SEARCH_MS;
  for (;;) {
    const asked = storeQuery(query, { after: merge.end, limit: batch });
    const tasks = await reader.reads.read((session) => session.tasks.list(asked), context, ms);
    merge.end = tasks.length < batch ? null : positionOf(tasks.at(-1) as StoredTask, query.sort);
    examined += tasks.length;
    // Once the store has answered: while it is away, memory answers at once.
    if (own === null) {
      own = await scheduler.run('list', rowsOf(overlay, query), context);
      for (const row of own) list(merge, row);
    }
    await scheduler.run(isSearch ? 'search' : 'list', addStored(merge, reader, overlay, tasks), context);
    const isSearched = isSearch && (examined >= scan || performance.now() > searchUntil);
    if (merge.end === null || isSearched || countRead(merge) > limit)
      return { ...(await scheduler.run('list', cut(merge), context)), own: own.length };
    batch = Math.min(most, nextReadSize(tasks));
  }
}

function* addStored(
  merge: Merge,
  { memory }: ReaderContext,
  overlay: Overlay,
  tasks: readonly StoredTask[],
): Steps<void> {
  const { query } = merge;
  for (const [at, stored] of tasks.entries()) {
    if (at % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) yield;
    const cold = overlay.ids.has(stored.id) || merge.rows.has(stored.id) ? null : readStored(stored, false);
    const task = cold === null ? null : rowOf(cold, memory);
    if (task !== null && passesFilters(task, query))
      list(merge, { task, position: positionOf(stored, query.sort) });
  }
}

function list({ rows, query: { after, order } }: Merge, row: Listed): void {
  if (after === null || comparePositions(row.position, after, order) > 0) rows.set(row.task.id, row);
}

function isRead({ end, query }: Merge, { position }: Listed): boolean {
  return end === null || comparePositions(position, end, query.order) <= 0;
}

function countRead(merge: Merge): number {
  let count = 0;
  for (const row of merge.rows.values()) if (isRead(merge, row)) count++;
  return count;
}

/** The page of the rows up to where the stored ones are read. */
function* cut(merge: Merge): Steps<TaskPage> {
  const { rows, query } = merge;
  const { limit, order } = query;
  const known = [...rows.values()].filter((row) => isRead(merge, row));
  const sorted = yield* sortInSteps(known, (a, b) => comparePositions(a.position, b.position, order));
  const page = sorted.slice(0, limit);
  const next = sorted.length > limit ? (page.at(-1)?.position ?? null) : merge.end;
  return { tasks: page.map(({ task }) => task), next, total: null };
}

/** The filters, order and position of a query, without its text. */
export function storeQuery(query: Omit<TaskQuery, 'scan'>, changed: Partial<StoredQuery> = {}): StoredQuery {
  const { q, search, causeOf, engineStates, ...stored } = query;
  return {
    ...stored,
    conditions: query.conditions.filter(isStoredCondition),
    // A version without causes may have left one when the task did not fail after all.
    ...(query.causes.length > 0 && query.states.length === 0 && { states: ['FAILURE'] }),
    isOpen: false,
    hint: hintOf(q),
    ...changed,
  };
}

/** Decided by rows, since a stored task may have no cause yet. */
const NOT_STORED: ReadonlySet<string> = new Set(['engineState', 'cause', 'wait', 'retries']);

/** Whether a store decides a condition: it has the fields by which lists are filtered, and the run time. */
function isStoredCondition({ field }: TaskCondition): boolean {
  return !NOT_STORED.has(field);
}

/** Whether rows of the store have to be read to decide which of them belong to a list. */
export function isDecidedHere({ q, conditions }: Pick<TaskQuery, 'q' | 'conditions'>): boolean {
  return q !== null || !conditions.every(isStoredCondition);
}

/** Whether only tasks with an engine state pass: no recorded task has one. */
export function asksForEngineState({ engineStates, conditions }: TaskQuery): boolean {
  if (engineStates.length > 0) return true;
  return conditions.some(
    (condition) => !isFigureCondition(condition) && condition.field === 'engineState' && !condition.isNegated,
  );
}

/** Letters and digits that JSON, patterns of SQL and lower case leave as they are. */
const PLAIN = /[a-z0-9 ]+/g;
/** A shorter text is in most tasks. */
const SHORTEST_HINT = 3;

/**
 * The longest part of a text searched for that a store can look for: the stored text must contain it unchanged, and
 * databases differ from JavaScript in the lower case of letters beyond ASCII.
 */
function hintOf(q: string | null): string | null {
  let longest = '';
  for (const [part] of q?.matchAll(PLAIN) ?? []) if (part.length > longest.length) longest = part;
  return longest.length < SHORTEST_HINT ? null : longest;
}
