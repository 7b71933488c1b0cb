/**
 * The messages of one list that run next, and its newest: all of a list that is not long. Clients push on the left and
 * workers take from the right; kombu also puts messages back on the right that a worker returns. So positions are counted
 * from the right: a push changes none of them, and the messages after a known message stay the same.
 */
import { createHash } from 'node:crypto';
import type { RedisReader } from '../../../../../redis/reader.ts';
import { asTexts } from '../../../../../redis/replies.ts';
import type { TakeMessage, WaitingMessage } from '../../../broker.ts';
import type { QueuedTask } from '../../../protocol/messages.ts';
import { decodeWaiting } from '../../../protocol/queue-message.ts';
import { createReplySize, type ReadBudget } from './read-budget.ts';

/** Of a list that is not read whole, the newest messages that are read: they announce tasks and workflows. */
const MOST_NEWEST = 100;
/** Pause between two complete readings of a list whose messages do not fit, in milliseconds. */
const REREAD_MS = 3000;
/** Messages that are read once more to find the position again after workers have taken some. */
const OVERLAP = 20;
/** Tags are UUIDs. Longer ones are replaced by a digest. */
const LONGEST_TAG = 64;
/** Characters at each end of a message that its digest covers. */
const DIGESTED = 64 * 1024;

/** One list: a queue's, of one priority. */
export type ListWindow = ReturnType<typeof newListWindow>;

/** Parameters of reading a list. */
interface ListReading {
  readonly reader: RedisReader;
  readonly take: TakeMessage;
  readonly budget: ReadBudget;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** @param step which of the queue's priorities, counted in the order in which they run */
export function newListWindow(key: string, queue: string, step: number) {
  return {
    key,
    queue,
    /** See `MessagePosition`. */
    part: `${queue}\0${String(step).padStart(2, '0')}`,
    replySize: createReplySize(),
    /** Number of elements at the last look. */
    length: 0,
    /** Whether the Redis user may not read the list. */
    isRefused: false,
    /** The elements that run next and last; `null` while the list is empty or was not looked at. */
    front: null as string | null,
    back: null as string | null,
    /** The ends are not read before this moment: large messages are looked at less often. */
    lookAt: Number.NEGATIVE_INFINITY,
    /** The next to run comes first. */
    next: [] as readonly WaitingMessage[],
    /** Newest first; empty while `next` has everything. */
    newest: [] as readonly WaitingMessage[],
    /** The ends and the length that the messages belong to; `null`: none. */
    readFrom: null as { length: number; front: string | null; back: string | null } | null,
    /** When all was read once more, because the messages did not fit: there may have been a push or a pop between commands. */
    rereadAt: Number.NEGATIVE_INFINITY,
  };
}

/** Whether every message of the list was read. */
export function isWhole({ isRefused, next, length }: ListWindow): boolean {
  return !isRefused && next.length >= length;
}

/** In the order in which they will run. */
export function messagesOf({ next, newest }: ListWindow): readonly WaitingMessage[] {
  return [...next, ...newest.toReversed()];
}

/**
 * Reads what has changed, as far as the budget allows; the next call continues.
 *
 * @param limit most messages to read of those that run next
 * @returns whether something changed
 * @throws RedisError when Redis is unreachable; nothing has changed then
 */
export async function readList(list: ListWindow, reading: ListReading, limit: number): Promise<boolean> {
  const { length } = list;
  if (length === 0) {
    const wasEmpty = list.next.length === 0;
    Object.assign(list, { next: [], newest: [], readFrom: null });
    return !wasEmpty;
  }
  if (list.front === null || list.back === null) {
    // It was empty until now. Of a list that is not due to be looked at, nothing is read.
    if (list.next.length > 0) return false;
    list.front = (await readNext(list, reading, 0, 1))[0] ?? null;
    list.back = (await readNewest(list, reading, 1))[0] ?? null;
    if (list.front === null || list.back === null) return false;
  }
  const { front, back, readFrom: before } = list;
  const wanted = length <= limit + MOST_NEWEST ? length : limit;
  const isSame = before?.length === length && before.front === front && before.back === back;
  if (isSame && list.next.length === wanted) return false;
  const isAgain = before === null && reading.now - list.rereadAt >= REREAD_MS;
  const next = await updateNext(list, reading, wanted, isAgain ? [] : list.next);
  if (isAgain) list.rereadAt = reading.now;
  const isRead = next.length === length && next.at(-1)?.tag === decode(list, back).tag;
  list.newest =
    next.length >= length
      ? []
      : before?.back === back && list.newest.length > 0
        ? list.newest
        : await updateNewest(list, reading);
  list.next = next.slice(0, wanted);
  list.readFrom = isRead || next.length < length ? { length, front, back } : null;
  return true;
}

/** Reads from the right end until a message that is known, continues with those, and completes them. */
async function updateNext(
  list: ListWindow,
  reading: ListReading,
  wanted: number,
  before: readonly WaitingMessage[],
): Promise<WaitingMessage[]> {
  const known = new Map(before.map(({ tag }, index) => [tag, index] as const).reverse());
  const messages: WaitingMessage[] = [];
  let isKnown = false;
  let elements: readonly string[] = [list.front as string];
  while (elements.length > 0) {
    for (const raw of elements) {
      const { tag, task } = decode(list, raw);
      const at = isKnown ? undefined : known.get(tag);
      if (at !== undefined) {
        messages.push(...before.slice(at));
        isKnown = true;
        break;
      }
      messages.push(take(list.part, reading, raw, tag, task));
    }
    if (messages.length >= wanted || !reading.budget.hasRoom()) break;
    elements = await readBehind(list, reading, messages, wanted);
  }
  return messages;
}

/** The elements after the known ones; none if the position cannot be found any more. */
async function readBehind(
  list: ListWindow,
  reading: ListReading,
  messages: readonly WaitingMessage[],
  wanted: number,
): Promise<readonly string[]> {
  const last = messages.at(-1)?.tag;
  const start = Math.max(0, messages.length - list.replySize.next(OVERLAP));
  const count = list.replySize.next(wanted - messages.length) + messages.length - start;
  const elements = await readNext(list, reading, start, count);
  const at = elements.findLastIndex((raw) => decode(list, raw).tag === last);
  return at < 0 ? [] : elements.slice(at + 1);
}

async function updateNewest(list: ListWindow, reading: ListReading): Promise<WaitingMessage[]> {
  const known = new Map(list.newest.map(({ tag }, index) => [tag, index]));
  const elements = await readNewest(list, reading, list.replySize.next(MOST_NEWEST));
  const messages: WaitingMessage[] = [];
  while (messages.length < elements.length) {
    const raw = elements[messages.length] as string;
    const { tag, task } = decode(list, raw);
    const at = known.get(tag);
    if (at === undefined) messages.push(take(`${list.part}\0newest`, reading, raw, tag, task));
    else messages.push(...list.newest.slice(at));
  }
  return messages.slice(0, elements.length);
}

/** Elements from a position counted from the right, next to run first. */
async function readNext(
  list: ListWindow,
  { reader }: ListReading,
  start: number,
  count: number,
): Promise<readonly string[]> {
  const reply = await reader.command(['LRANGE', list.key, String(-start - count), String(-start - 1)]);
  const elements = asTexts(reply).toReversed();
  list.replySize.saw(elements);
  return elements;
}

/** The newest elements, newest first. */
async function readNewest(
  list: ListWindow,
  { reader }: ListReading,
  count: number,
): Promise<readonly string[]> {
  const elements = asTexts(await reader.command(['LRANGE', list.key, '0', String(count - 1)]));
  list.replySize.saw(elements);
  return elements;
}

/** An element of a list, and what tells it apart: its delivery tag, or a digest where that is missing or too long. */
function decode(list: ListWindow, raw: string): { readonly tag: string; readonly task: QueuedTask | null } {
  const task = decodeWaiting(raw, list.queue);
  const tag = task?.deliveryTag ?? '';
  if (tag !== '' && tag.length <= LONGEST_TAG) return { tag, task };
  const text = tag === '' ? raw : tag;
  // The ends tell long messages apart.
  const ends = `${text.length} ${text.slice(0, DIGESTED)} ${text.slice(-DIGESTED)}`;
  return { tag: `#${createHash('sha1').update(ends).digest('base64url')}`, task };
}

function take(
  part: string,
  { take: takeMessage, budget }: ListReading,
  raw: string,
  tag: string,
  task: QueuedTask | null,
): WaitingMessage {
  const message = takeMessage(task, { tag, part, takenAt: null });
  budget.spend(raw.length, message.bytes);
  return message;
}
