/** One task list of several sources. */

import { readMark, writeMark } from '../cursor.ts';
import type { Task } from '../model.ts';
import { queryOfSource } from '../select/query-of-source.ts';
import { comparePositions, sortKeyOf } from '../select/task-order.ts';
import { type FanOut, fanOutOf, type Reply } from '../source/combined-part.ts';
import { isTaskPage, isTaskPosition } from '../source/pages.ts';
import type { ReadContext, TaskPage, TaskPosition, TaskQuery, TaskSort, TaskSource } from '../source.ts';
import { mergeItems, type Positioned, type SortedItems } from './merge-items.ts';
import { answerOf, requireAnswer } from './replies.ts';

/** The rows of one part for a page. */
interface PartRows extends SortedItems<Task, TaskPosition> {
  readonly part: TaskSource;
  readonly start: PartPosition;
  /** `null`: the part did not answer, or all its rows have been listed before. */
  readonly page: TaskPage | null;
  /** How many rows of the page can be listed. */
  readonly size: number;
}

/**
 * Answers `listTasks` from several sources. Each part is asked for one page from its own position on. A part
 * that does not answer keeps its position, so that its rows follow when it is back; when only such parts are
 * left, the read fails with their error.
 */
export async function listAllTasks(
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
      return start === 'ended'
        ? countOf(part, query, fanOut)
        : pageOf(part, { ...query, after: start, scan }, fanOut);
    }),
  );
  requireAnswer(replies.filter((_, index) => starts[index] !== 'ended'));
  const read = parts.map((part, index) =>
    rowsOf(part, starts[index] as PartPosition, replies[index], query, fanOut),
  );
  const { parts: listed, taken, rows } = await settle(read, query, scan, fanOut);
  const positions = listed.map(
    (part, index) => [part.part.name, positionAfter(part, taken[index] as number)] as const,
  );
  const isEnd = query.limit === 0 || positions.every(([, position]) => position === 'ended');
  const areExact = wasExact && listed.every(({ page }) => page?.cursorExact !== false);
  const next = isEnd ? null : writePartPositions(rows.at(-1)?.position ?? query.after, positions, areExact);
  return {
    tasks: rows.map(({ item }) => item),
    next: next?.position ?? null,
    total: totalOf(replies),
    cursorExact: next?.isExact ?? areExact,
  };
}

/** @param which distinguishes several calls to the same part within one read */
function pageOf(part: TaskSource, given: TaskQuery, fanOut: FanOut, which = ''): Promise<Reply<TaskPage>> {
  const query = Object.freeze(queryOfSource(part, given) ?? given);
  return fanOut.ask({
    part,
    call: 'listTasks',
    which,
    read: (context) => part.listTasks(query, context),
    count(page) {
      if (!isTaskPage(page)) throw new TypeError('listTasks() must return { tasks, next, total }.');
      return page.tasks.length;
    },
  });
}

/** A part whose rows have all been listed still adds to `total`. */
function countOf(part: TaskSource, query: TaskQuery, fanOut: FanOut): Promise<Reply<TaskPage>> {
  return pageOf(part, { ...query, limit: 0, after: null }, fanOut);
}

function rowsOf(
  part: TaskSource,
  start: PartPosition,
  reply: Reply<TaskPage> | undefined,
  { sort, limit }: TaskQuery,
  fanOut: FanOut,
): PartRows {
  const page = start === 'ended' ? null : answerOf(reply);
  if (page === null) return { part, start, page, items: [], size: 0, rest: null };
  const items: Positioned<Task, TaskPosition>[] = [];
  // A part may return more rows than the limit: they are left out, as they are for a single source.
  for (const task of page.tasks.slice(0, limit)) {
    const position = positionOf(task, sort);
    if (position !== null) items.push({ item: task, position });
  }
  fanOut.leaveOut(part, 'listTasks', page.tasks.length - items.length);
  return { part, start, page, items, size: items.length, rest: page.next };
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

interface Settled {
  readonly parts: readonly PartRows[];
  /** By part: how many of its rows are listed. */
  readonly taken: readonly number[];
  readonly rows: readonly Positioned<Task, TaskPosition>[];
}

/**
 * Merges the rows, and makes sure that every part can continue after its last listed row: a part whose
 * positions have marks is asked again for exactly the rows that are listed.
 */
async function settle(
  parts: readonly PartRows[],
  query: TaskQuery,
  scan: number,
  fanOut: FanOut,
): Promise<Settled> {
  const compare = (a: TaskPosition, b: TaskPosition): number => comparePositions(a, b, query.order);
  const first = mergeItems(parts, query.limit, compare);
  const exact = await Promise.all(
    parts.map(async (rows, index): Promise<PartRows> => {
      const limit = first.taken[index] as number;
      const items = rows.items.slice(0, limit);
      if (!needsMark(rows, limit)) return { ...rows, items, rest: null };
      const end = endOf(rows, limit);
      if (end !== null) return { ...rows, page: end, items, size: limit, rest: null };
      const { part, start } = rows;
      const asked = { ...query, after: start === 'ended' ? null : start, limit, scan };
      const reply = await pageOf(part, asked, fanOut, `first ${limit}`);
      return { ...rowsOf(part, start, reply, asked, fanOut), rest: null };
    }),
  );
  const { items } = mergeItems(exact, query.limit, compare);
  const rows = items.map(({ item, position, part }) => ({
    item: fanOut.attribute(item, (exact[part] as PartRows).part),
    position,
  }));
  return { parts: exact, taken: exact.map(({ items: own }) => own.length), rows };
}

/** The page as if it had only its first `taken` rows; `null` when the part cannot tell. */
function endOf({ page, items }: PartRows, taken: number): TaskPage | null {
  // A row that was left out shifts the others.
  if (page?.endAt === undefined || page.tasks[taken - 1] !== items[taken - 1]?.item) return null;
  const end = page.endAt(taken);
  if (end === null || !(end.next === null || isTaskPosition(end.next))) return null;
  const { next, cursorExact = page.cursorExact ?? true } = end;
  return { ...page, next, cursorExact };
}

/** Whether the position after this many rows may need a mark in addition to key and id. */
function needsMark({ items, page, start }: PartRows, taken: number): boolean {
  if (page === null || taken === 0 || taken === items.length) return false;
  const hadMark = start !== null && start !== 'ended' && start.mark !== undefined;
  return page.next === null || page.next.mark !== undefined || hadMark;
}

/** Where a part continues after so many of its rows. */
function positionAfter({ page, start, items, size }: PartRows, taken: number): PartPosition {
  if (start === 'ended' || page === null) return start;
  if (taken === size) return page.next ?? 'ended';
  return items[taken - 1]?.position ?? start;
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

/** The position of each part, in their order. */
interface PartPositions {
  readonly positions: readonly PartPosition[];
  /** Whether no page before was one that may miss rows, see `TaskPage.cursorExact`. */
  readonly isExact: boolean;
}

/** Reads the position of each part. A part that the mark does not name continues after the last listed row. */
function readPartPositions(
  after: TaskPosition | null,
  names: readonly string[],
  sort: TaskSort,
): PartPositions {
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
 * @param last the last listed row; parts that do not fit into the mark continue after it
 * @param wasExact whether no page so far was one that may miss rows
 */
function writePartPositions(
  last: Pick<TaskPosition, 'key' | 'id'> | null,
  positions: readonly (readonly [name: string, PartPosition])[],
  wasExact: boolean,
): { readonly position: TaskPosition; readonly isExact: boolean } {
  const entries = positions.map(([name, position]) => [name, writeEntry(position)] as const);
  let isExact = wasExact;
  let mark = markOf(entries, isExact);
  // The longest entries are left out first: most of their length is a mark of their own.
  const byLength = entries.toSorted((a, b) => lengthOf(a) - lengthOf(b));
  const room = Math.min(LONGEST_MARK, LONGEST_POSITION - lengthOf([last?.key ?? null, last?.id ?? '']));
  while (lengthOf(mark) > room && byLength.length > 0) {
    byLength.pop();
    isExact = false;
    mark = markOf(byLength, isExact);
  }
  return { position: { key: last?.key ?? null, id: last?.id ?? '', mark }, isExact };
}

function markOf(entries: readonly (readonly [name: string, unknown])[], isExact: boolean): string {
  const positions = Object.fromEntries(entries);
  return writeMark(KIND, isExact ? [positions] : [positions, INEXACT]);
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
  const isRecord = typeof entries === 'object';
  return [isRecord ? (entries as Readonly<Record<string, unknown>> | null) : null, inexact];
}
