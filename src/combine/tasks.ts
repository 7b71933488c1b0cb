/** Combines the tasks of several sources. */

import { readMark, writeMark } from '../cursor.ts';
import { isMonitorError, MonitorError } from '../errors.ts';
import type { Task, TaskDetail, TaskTree } from '../model.ts';
import { comparePositions, queryOfSource, sortKeyOf } from '../select/apply-query.ts';
import { type FanOut, fanOutOf, type Reply } from '../source/combined-part.ts';
import { isTaskPage, isTaskPosition } from '../source/task-query.ts';
import type {
  Awaitable,
  ReadContext,
  TaskPage,
  TaskPosition,
  TaskQuery,
  TaskSort,
  TaskSource,
} from '../source.ts';
import { recordOf } from '../values.ts';
import { answerOf, mergeItems, type Positioned, requireAnswer, type SortedItems } from './merge-items.ts';
import { getMergedStats } from './task-stats.ts';

/** The reads of a combined part for tasks. */
export function combineTasks(parts: readonly TaskSource[]): Omit<TaskSource, 'name'> {
  const withTrees = parts.some(({ getTaskTree }) => getTaskTree !== undefined);
  const withStats = parts.every(({ getTaskStats }) => getTaskStats !== undefined);
  return {
    listTasks: (query, context) => listAllTasks(parts, query, context),
    getTask: (id, context) => findTask(parts, id, fanOutOf(context)),
    ...(withTrees && { getTaskTree: (id, context) => findTree(parts, id, fanOutOf(context)) }),
    // Figures that silently leave out a source would be wrong.
    ...(withStats && {
      getTaskStats: (query, context) => getMergedStats(parts, query, fanOutOf(context)),
    }),
  };
}

async function findTask(
  parts: readonly TaskSource[],
  id: string,
  fanOut: FanOut,
): Promise<TaskDetail | null> {
  const found = await firstKnown(
    parts.map((part) => ask(part, 'getTask', fanOut, (context) => part.getTask(id, context))),
  );
  return found === null ? null : fanOut.attribute(found.value, parts[found.index] as TaskSource);
}

async function findTree(parts: readonly TaskSource[], id: string, fanOut: FanOut): Promise<TaskTree | null> {
  const found = await firstKnown<TaskTree | 'none'>(
    parts.map((part) =>
      part.getTaskTree === undefined
        ? ask(part, 'getTask', fanOut, async (context) => (await part.getTask(id, context)) && 'none')
        : ask(part, 'getTaskTree', fanOut, async (context) => part.getTaskTree?.(id, context)),
    ),
  );
  // A source without workflows knows the task.
  if (found?.value === 'none') throw new MonitorError('source_not_configured');
  return found?.value ?? null;
}

/** Reads one task or workflow from a part; `null` when the part does not know the task. */
function ask<Found>(
  part: TaskSource,
  call: string,
  fanOut: FanOut,
  read: (context: ReadContext) => Awaitable<Found | null | undefined>,
): Promise<Reply<Found | null>> {
  return fanOut.ask<Found | null>({
    part,
    call,
    async read(context) {
      try {
        return (await read(context)) ?? null;
      } catch (error) {
        if (isMonitorError(error) && error.code === 'task_not_found') return null;
        throw error;
      }
    },
    count(found) {
      if (typeof found !== 'object' && found !== 'none') {
        throw new TypeError(`${call}() must return an object, or null.`);
      }
      const { tasks } = (found ?? {}) as Partial<TaskTree>;
      return Array.isArray(tasks) ? tasks.length : 1;
    },
  });
}

/**
 * The first result that is not `null`, in the order of the parts and not of their replies, so that the same
 * request always gets the same result. Does not wait for later parts.
 *
 * @returns `null` when no part has a result
 * @throws the first error when no part has a result: the failed part might have had one
 */
async function firstKnown<Found>(
  asked: readonly Promise<Reply<Found | null>>[],
): Promise<{ readonly value: Found; readonly index: number } | null> {
  // A later part that fails must not be an unhandled rejection.
  for (const reply of asked) reply.catch(() => {});
  let failure: { readonly error: unknown } | null = null;
  for (const [index, pending] of asked.entries()) {
    const reply = await pending;
    if ('error' in reply) failure ??= reply;
    else if (reply.raw !== null) return { value: reply.raw, index };
  }
  if (failure !== null) throw failure.error;
  return null;
}

/** The rows of one part for a page. */
interface PartRows extends SortedItems<Task, TaskPosition> {
  readonly start: PartPosition;
  /** `null`: the part did not answer, or all its rows have been listed before. */
  readonly page: TaskPage | null;
}

/**
 * Answers `listTasks` from several sources. Each part is asked for one page from its own position on. A part
 * that does not answer keeps its position, so that its rows follow when it is back; when only such parts are
 * left, the read fails with their error.
 */
async function listAllTasks(
  all: readonly TaskSource[],
  query: TaskQuery,
  context: ReadContext,
): Promise<TaskPage> {
  const fanOut = fanOutOf(context);
  const parts = all.filter((part) => queryOfSource(part, query) !== null);
  if (parts.length === 0) return { tasks: [], next: null, total: 0 };
  const names = parts.map(({ name }) => name);
  const { positions: starts, isExact: wasExact } = readPartPositions(query.after, names, query.sort);
  const open = starts.filter((start) => start !== 'ended').length;
  // The scan limit is for the whole answer: the parts share it.
  const scan = Math.max(1, Math.floor(query.scan / Math.max(1, open)));
  const replies = await Promise.all(
    parts.map((part, index) => {
      const start = starts[index] as PartPosition;
      // A part whose rows have all been listed still adds to `total`.
      const rest = start === 'ended' ? { limit: 0, after: null } : { after: start, scan };
      return pageOf(part, { ...query, ...rest }, fanOut);
    }),
  );
  requireAnswer(replies.filter((_, index) => starts[index] !== 'ended'));
  const read = parts.map((part, index) =>
    rowsOf(part, starts[index] as PartPosition, replies[index], query, fanOut),
  );
  const { items, taken } = mergeItems(read, query.limit, (a, b) => comparePositions(a, b, query.order));
  const ends = read.map((rows, index) => endOf(rows, taken[index] as number));
  const isEnd = query.limit === 0 || ends.every(({ position }) => position === 'ended');
  const areExact = wasExact && ends.every(({ isExact }) => isExact);
  const positions = ends.map(({ position }, index) => [names[index] as string, position] as const);
  const next = isEnd ? null : writePartPositions(items.at(-1)?.position ?? query.after, positions, areExact);
  return {
    tasks: items.map(({ item, part }) => fanOut.attribute(item, parts[part] as TaskSource)),
    next: next?.position ?? null,
    total: totalOf(replies),
    cursorExact: next?.isExact ?? areExact,
  };
}

function pageOf(part: TaskSource, given: TaskQuery, fanOut: FanOut): Promise<Reply<TaskPage>> {
  const query = Object.freeze(queryOfSource(part, given) ?? given);
  return fanOut.ask({
    part,
    call: 'listTasks',
    read: (context) => part.listTasks(query, context),
    count(page) {
      if (!isTaskPage(page)) throw new TypeError('listTasks() must return { tasks, next, total }.');
      return page.tasks.length;
    },
  });
}

function rowsOf(
  part: TaskSource,
  start: PartPosition,
  reply: Reply<TaskPage> | undefined,
  { sort, limit }: TaskQuery,
  fanOut: FanOut,
): PartRows {
  const page = start === 'ended' ? null : answerOf(reply);
  if (page === null) return { start, page, items: [], rest: null };
  const items: Positioned<Task, TaskPosition>[] = [];
  // A part may return more rows than the limit: they are left out, as they are for a single source.
  for (const task of page.tasks.slice(0, limit)) {
    const position = positionOf(task, sort);
    if (position !== null) items.push({ item: task, position });
  }
  fanOut.leaveOut(part, 'listTasks', page.tasks.length - items.length);
  return { start, page, items, rest: page.next };
}

/** `null` for a row without a position: it has no id, or cannot be read. */
function positionOf(task: Task, sort: TaskQuery['sort']): TaskPosition | null {
  try {
    const position = { key: sortKeyOf(task, sort), id: task.id };
    return isTaskPosition(position) ? position : null;
  } catch {
    return null;
  }
}

/**
 * Where a part continues after so many of its rows. Of a part whose positions have marks, only `endAt` knows the one of
 * a row within a page; without it, the part continues by key and id, which may miss rows.
 */
function endOf(
  { page, start, items }: PartRows,
  taken: number,
): { readonly position: PartPosition; readonly isExact: boolean } {
  if (start === 'ended' || page === null) return { position: start, isExact: true };
  const isExact = page.cursorExact !== false;
  if (taken === items.length) return { position: page.next ?? 'ended', isExact };
  const last = items[taken - 1];
  if (last === undefined) return { position: start, isExact };
  // A row that was left out shifts the others.
  const end = page.tasks[taken - 1] === last.item ? page.endAt?.(taken) : null;
  if (end && (end.next === null || isTaskPosition(end.next))) {
    return { position: end.next ?? 'ended', isExact: end.cursorExact ?? isExact };
  }
  const hasMarks = page.next?.mark !== undefined || start?.mark !== undefined;
  return { position: last.position, isExact: isExact && !hasMarks };
}

function totalOf(replies: readonly Reply<TaskPage>[]): number | null {
  let sum = 0;
  for (const reply of replies) {
    const total = answerOf(reply)?.total ?? null;
    if (total === null) return null;
    sum += total;
  }
  return sum;
}

/** Where the list of one part continues: after this position, at its start (`null`), or not at all. */
type PartPosition = TaskPosition | 'ended' | null;

const KIND = 'combined';

// In bytes of JSON. A cursor of more than 8,192 characters is refused, and its encoding adds a third to its length. Key
// and id of the last row are beside the mark.
const LONGEST_MARK = 5_000;
const LONGEST_POSITION = 6_100;
const ENDED = 0;
const INEXACT = 1;

/**
 * Reads the position of each part, in their order. A part that the mark does not name continues after the last listed
 * row. `isExact`: no page before was one that may miss rows, see `TaskPage.cursorExact`.
 */
function readPartPositions(
  after: TaskPosition | null,
  names: readonly string[],
  sort: TaskSort,
): { readonly positions: readonly PartPosition[]; readonly isExact: boolean } {
  if (after === null) return { positions: names.map(() => null), isExact: true };
  const [entries, inexact] = readEntries(after.mark);
  const { key, id } = after;
  const common = entries !== null && id === '' ? null : { key, id };
  const positions = names.map((name) =>
    entries !== null && Object.hasOwn(entries, name) ? readEntry(entries[name], common, sort) : common,
  );
  return { positions, isExact: inexact !== INEXACT };
}

/**
 * Writes one position for all parts.
 *
 * @param last the last listed row. If the mark has no room for all, parts with marks of their own continue after it;
 *   if it has none for the others either, all do
 * @param wasExact whether no page so far was one that may miss rows
 */
function writePartPositions(
  last: Pick<TaskPosition, 'key' | 'id'> | null,
  positions: readonly (readonly [name: string, PartPosition])[],
  wasExact: boolean,
): { readonly position: TaskPosition; readonly isExact: boolean } {
  const room = Math.min(LONGEST_MARK, LONGEST_POSITION - lengthOf([last?.key ?? null, last?.id ?? '']));
  const short = positions.filter(([, position]) => position === 'ended' || position?.mark === undefined);
  const marks = [markOf(positions, wasExact), markOf(short, false), markOf([], false)];
  const fitting = marks.findIndex((mark) => lengthOf(mark) <= room);
  return {
    position: { key: last?.key ?? null, id: last?.id ?? '', mark: marks.at(fitting) ?? '' },
    isExact: wasExact && fitting === 0,
  };
}

function markOf(positions: readonly (readonly [name: string, PartPosition])[], isExact: boolean): string {
  const entries = Object.fromEntries(positions.map(([name, position]) => [name, writeEntry(position)]));
  return writeMark(KIND, isExact ? [entries] : [entries, INEXACT]);
}

function lengthOf(entry: unknown): number {
  return Buffer.byteLength(JSON.stringify(entry));
}

function writeEntry(position: PartPosition): unknown {
  if (position === null) return null;
  if (position === 'ended') return ENDED;
  const { key, id, mark } = position;
  return mark === undefined ? [key, id] : [key, id, mark];
}

function readEntry(entry: unknown, common: TaskPosition | null, sort: TaskSort): PartPosition {
  if (entry === null) return null;
  if (entry === ENDED) return 'ended';
  if (!Array.isArray(entry)) return common;
  const [key, id, mark]: readonly unknown[] = entry;
  const position = { key, id, ...(mark !== undefined && { mark }) };
  return isTaskPosition(position, sort) ? position : common;
}

/** Clients can change a mark, so its shape is unknown. */
function readEntries(
  mark: string | undefined,
): readonly [entries: Readonly<Record<string, unknown>> | null, inexact: unknown] {
  const [entries, inexact] = (mark === undefined ? null : readMark(KIND, mark)) ?? [];
  return [recordOf(entries), inexact];
}
