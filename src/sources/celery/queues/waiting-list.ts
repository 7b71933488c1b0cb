/** Lists waiting tasks after those of a history. */
import { readMark, writeMark } from '../../../cursor.ts';
import type { Task } from '../../../model.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import { comparePositions, passesFilters, sortKeyOf } from '../../../select/apply-query.ts';
import { selectTasks } from '../../../select.ts';
import type { ReadContext, TaskPage, TaskPosition, TaskQuery } from '../../../source.ts';
import type { MessagePosition, WaitingMessage } from '../broker.ts';

/** The position before all messages. */
const FIRST_POSITION: MessagePosition = { tag: '', part: '', takenAt: Number.NEGATIVE_INFINITY };

/** The kind of cursor, and the longest text in one. */
const KIND = 'waiting';
const MAX_TEXT = 600;
/** Longest search between two pauses, in milliseconds. */
const SEARCH_MS = 1;

/** The data from which a list is made. */
interface WaitingListParts {
  /** Lists tasks of the history. */
  readonly listHistory: (query: TaskQuery, context: ReadContext) => Promise<TaskPage>;
  /** Messages of tasks that the history does not know, in the order in which they will run. */
  readonly unknownMessages: (context: ReadContext) => Promise<readonly WaitingMessage[]>;
  /** Whether those are all messages. */
  readonly isComplete: () => boolean;
  readonly row: (message: WaitingMessage) => Task | null;
}

/** Tasks of the history first, then waiting ones: the next to run first, or in the requested order. */
export async function listWithWaiting(
  parts: WaitingListParts,
  query: TaskQuery,
  context: ReadContext,
): Promise<TaskPage> {
  if (!mayWait(query)) return parts.listHistory(query, context);
  return query.sort === 'timestamp' ? listByTime(parts, query, context) : listBySort(parts, query, context);
}

async function listByTime(
  parts: WaitingListParts,
  query: TaskQuery,
  context: ReadContext,
): Promise<TaskPage> {
  const after = query.after?.mark === undefined ? null : readWaitingCursor(query.after.mark);
  // After a waiting task there are only waiting ones.
  const page = await parts.listHistory(after === null ? query : { ...query, limit: 0, after: null }, context);
  const messages = await parts.unknownMessages(context);
  const start = indexBehind(messages, after ?? FIRST_POSITION);
  const matching = await matcherOf(parts, messages, start, query, context);
  const count = countMatching(parts, messages, query, matching);
  const total = page.total === null || count === null ? null : page.total + count;
  const room = query.limit - page.tasks.length;
  if (page.next !== null || query.limit === 0 || count === 0) return { ...page, total };
  if (after === null && room <= 0) return { ...page, next: positionOf(FIRST_POSITION), total };
  const { listed, next } = collect(messages, query, after ?? FIRST_POSITION, room, matching);
  const known = page.tasks.length;
  return {
    tasks: [...page.tasks, ...listed.map(({ row }) => row)],
    next: next === null ? null : positionOf(next),
    total,
    endAt: (count) => {
      const message = listed[count - known - 1]?.message;
      return {
        next: message === undefined ? rowPosition(page.tasks[count - 1] as Task, query) : positionOf(message),
      };
    },
  };
}

interface Listed {
  readonly row: Task;
  readonly message: WaitingMessage;
}

/** One page. Looks at no more messages than `query.scan`. */
function collect(
  messages: readonly WaitingMessage[],
  query: TaskQuery,
  after: MessagePosition,
  room: number,
  matching: Matcher,
): { listed: Listed[]; next: MessagePosition | null } {
  const listed: Listed[] = [];
  let last = after;
  const start = indexBehind(messages, after);
  for (const message of messages.slice(start, start + query.scan)) {
    const row = matching(message);
    if (row !== null && listed.length >= room) return { listed, next: last };
    if (row !== null) listed.push({ row, message });
    last = message;
  }
  return { listed, next: start + query.scan < messages.length ? last : null };
}

/** `null` when that is not known. */
function countMatching(
  parts: WaitingListParts,
  messages: readonly WaitingMessage[],
  query: TaskQuery,
  matching: Matcher,
): number | null {
  if (!parts.isComplete() || messages.length > query.scan) return null;
  return messages.reduce((sum, message) => sum + (matching(message) === null ? 0 : 1), 0);
}

/** The task of a message, if it passes the filters. */
type Matcher = (message: WaitingMessage) => Task | null;

/**
 * Prepares the filters of a query. A text is searched for beforehand, in steps, since that takes long.
 *
 * @param start the first message that a page looks at
 */
async function matcherOf(
  parts: WaitingListParts,
  messages: readonly WaitingMessage[],
  start: number,
  query: TaskQuery,
  context: ReadContext,
): Promise<Matcher> {
  const match = (message: WaitingMessage): Task | null => {
    const row = parts.row(message);
    return row !== null && passesFilters(row, query) ? row : null;
  };
  if (query.q === null) return match;
  const examined = messages.length > query.scan ? messages.slice(start, start + query.scan) : messages;
  const found = await scheduler.run('search', searchMessages(examined, match), context);
  return (message) => found.get(message) ?? null;
}

function* searchMessages(
  messages: readonly WaitingMessage[],
  match: Matcher,
): Steps<ReadonlyMap<WaitingMessage, Task>> {
  const found = new Map<WaitingMessage, Task>();
  let pauseAt = performance.now() + SEARCH_MS;
  for (const message of messages) {
    const row = match(message);
    if (row !== null) found.set(message, row);
    if (performance.now() < pauseAt) continue;
    yield;
    pauseAt = performance.now() + SEARCH_MS;
  }
  return found;
}

/** Both lists have the same order, so the first of both make a page. */
async function listBySort(
  parts: WaitingListParts,
  query: TaskQuery,
  context: ReadContext,
): Promise<TaskPage> {
  const page = await parts.listHistory(query, context);
  const messages = await parts.unknownMessages(context);
  if (!parts.isComplete() || messages.length > query.scan) return { ...page, total: null };
  const matching = await matcherOf(parts, messages, 0, query, context);
  const rows = messages.flatMap((message) => matching(message) ?? []);
  if (rows.length === 0) return page;
  const total = page.total === null ? null : page.total + rows.length;
  if (query.limit === 0) return { ...page, total };
  const { order, limit } = query;
  const positionOf = (task: Task): TaskPosition => rowPosition(task, query);
  const compare = (a: TaskPosition, b: TaskPosition): number => comparePositions(a, b, order);
  const waiting = selectTasks(rows, { ...query, q: null });
  const end = page.next;
  // After the position that the history has reached, one of its own rows may come first.
  const fitting = waiting.tasks.filter((task) => end === null || compare(positionOf(task), end) <= 0);
  const merged = [...page.tasks, ...fitting].sort((a, b) => compare(positionOf(a), positionOf(b)));
  const tasks = merged.slice(0, limit);
  const last = tasks.at(-1);
  if (merged.length > limit && last !== undefined) return { tasks, next: positionOf(last), total };
  return { tasks, next: end ?? waiting.next, total };
}

/** Whether a waiting task can pass these filters: it is PENDING, on no worker and has no time. */
function mayWait({ states, workers, since, until }: TaskQuery): boolean {
  const isPending = states.length === 0 || states.includes('PENDING');
  return isPending && workers.length === 0 && since === null && until === null;
}

function rowPosition(task: Task, { sort }: TaskQuery): TaskPosition {
  return { key: sortKeyOf(task, sort), id: task.id };
}

function positionOf(position: MessagePosition): TaskPosition {
  return { key: null, id: position.tag, mark: writeWaitingCursor(position) };
}

/** Writes a position as text. */
function writeWaitingCursor({ part, takenAt, tag }: MessagePosition): string {
  return writeMark(KIND, [part, takenAt, tag]);
}

/** @returns `null` if the text is not a position. Clients can send any text. */
function readWaitingCursor(text: string): MessagePosition | null {
  const [part, takenAt, tag] = readMark(KIND, text) ?? [];
  if (!isText(part) || !isText(tag)) return null;
  return { part, tag, takenAt: typeof takenAt === 'number' ? takenAt : Number.NEGATIVE_INFINITY };
}

/**
 * The index of the first message after a position. Messages leave a queue in order: if the message at the
 * position has left, all before it have left too, and the page continues with the first one in the queue. The same holds
 * for the newest of a long queue, which are no longer known when more have come.
 * Unacknowledged messages leave in any order; they are sorted by the time at which they were taken.
 */
function indexBehind(messages: readonly MessagePosition[], after: MessagePosition): number {
  const { part, tag } = after;
  const isTaken = part === '';
  const exact = messages.findIndex((message) => message.tag === tag && (message.part === '') === isTaken);
  if (exact >= 0) return exact + 1;
  const next = messages.findIndex(
    (message) =>
      message.part > part || (message.part === part && (part !== '' || isTakenAfter(message, after))),
  );
  return next < 0 ? messages.length : next;
}

function isTakenAfter(message: MessagePosition, after: MessagePosition): boolean {
  const [a, b] = [message.takenAt ?? 0, after.takenAt ?? 0];
  return a === b ? message.tag > after.tag : a > b;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_TEXT;
}
