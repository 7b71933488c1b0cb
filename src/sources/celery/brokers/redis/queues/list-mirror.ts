/**
 * Copies one list, or its beginning. Clients push on the left and workers take from the right; kombu also puts
 * messages back on the right that a worker returns. So positions are counted from the right: a push changes
 * none of them, and the messages after a known message stay the same.
 */
import type { TakeMessage, WaitingMessage } from '../../../broker.ts';
import type { QueuedTask } from '../../../protocol/messages.ts';
import { decodeWaiting } from '../../../protocol/queue-message.ts';
import { tagOf } from '../../../queues/waiting-message.ts';
import type { ReadBudget } from './read-budget.ts';
import { createWindow, type Window } from './window.ts';

/** Pause between two complete readings of a list whose copy does not fit, in milliseconds. */
const REREAD_MS = 3000;
/** Messages that are read once more to find the position again after workers have taken some: usually, and at most. */
const OVERLAP = 10;
const LARGE_OVERLAP = 100;
/** A tag that is the same in JSON, such as kombu's UUIDs. */
const PLAIN_TAG = /^[\w-]+$/;
/** A message of more characters is decoded once. */
const LONG = 64 * 1024;
/** The newest messages of a list that is not copied whole: most in one look, and most that are kept. */
const MOST_NEW = 100;
const MOST_NEWEST = 500;

/** One list: a queue's, of one priority. */
export interface ListMirror {
  readonly key: string;
  readonly queue: string;
  /** See `MessagePosition`. */
  readonly part: string;
  readonly window: Window;
  /** Number of elements at the last look. */
  length: number;
  /** Whether the Redis user may not read the list. */
  isRefused: boolean;
  /** The elements that run next and last; `null` while the list is empty or was not looked at. */
  front: string | null;
  back: string | null;
  /** The ends are not read before this moment: large messages are looked at less often. */
  lookAt: number;
  /** The next to run comes first. */
  messages: readonly WaitingMessage[];
  /** Newest first; empty while `messages` has everything. */
  newest: readonly WaitingMessage[];
  /** The ends and the length that `messages` belongs to; `null`: none. */
  copied: Pick<ListMirror, 'length' | 'front' | 'back'> | null;
  /** The last long message that was decoded: it is met several times. */
  decoded: Decoded | null;
  mismatches: number;
  rereadAt: number;
}

/** An element of a list, and what it says. */
interface Decoded {
  readonly raw: string;
  readonly tag: string;
  readonly task: QueuedTask | null;
}

/** Parameters of reading a list. */
export interface ListReading {
  /** Elements from a position counted from the right, next to run first. */
  readonly range: (mirror: ListMirror, start: number, count: number) => Promise<readonly string[]>;
  /** The newest elements, newest first. */
  readonly newest: (mirror: ListMirror, start: number, count: number) => Promise<readonly string[]>;
  readonly take: TakeMessage;
  readonly budget: ReadBudget;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** @param step which of the queue's priorities, counted in the order in which they run */
export function newListMirror(key: string, queue: string, step: number): ListMirror {
  return {
    key,
    queue,
    part: `${queue}\0${String(step).padStart(2, '0')}`,
    window: createWindow(),
    length: 0,
    isRefused: false,
    front: null,
    back: null,
    lookAt: Number.NEGATIVE_INFINITY,
    messages: [],
    newest: [],
    copied: null,
    decoded: null,
    mismatches: 0,
    rereadAt: Number.NEGATIVE_INFINITY,
  };
}

/** Whether the copy has every message of the list. */
export function isWhole(mirror: ListMirror): boolean {
  return !mirror.isRefused && mirror.messages.length >= mirror.length;
}

/**
 * Updates the copy as far as the budget allows; the next call continues.
 *
 * @param limit most messages to copy
 * @returns whether something changed
 * @throws RedisError when Redis is unreachable; the copy is then unchanged
 */
export async function syncList(mirror: ListMirror, reading: ListReading, limit: number): Promise<boolean> {
  const { length, front, back } = mirror;
  if (length === 0) {
    const wasEmpty = mirror.messages.length === 0;
    Object.assign(mirror, { messages: [], newest: [], copied: null, decoded: null, mismatches: 0 });
    return !wasEmpty;
  }
  if (front === null || back === null) return false;
  const wanted = Math.min(length, limit);
  const { copied } = mirror;
  const isCopied = copied?.length === length && copied.front === front && copied.back === back;
  if (isCopied && mirror.messages.length === wanted) return false;
  const isAgain = mirror.mismatches > 1 && reading.now - mirror.rereadAt >= REREAD_MS;
  const messages = await readFront(mirror, reading, wanted, isAgain ? [] : mirror.messages);
  if (isAgain) mirror.rereadAt = reading.now;
  const last = messages.at(-1);
  const isTrue =
    messages.length < length || (messages.length === length && last?.tag === decode(mirror, back).tag);
  // A single mismatch may be a push or a pop between two commands.
  mirror.mismatches = isTrue ? 0 : mirror.mismatches + 1;
  mirror.copied = isTrue ? { length, front, back } : null;
  mirror.messages = messages.slice(0, limit);
  if (isWhole(mirror)) mirror.newest = [];
  else await readNewest(mirror, reading, back);
  return true;
}

/** Reads from the right end until a message that is known, continues with those, and completes them. */
async function readFront(
  mirror: ListMirror,
  reading: ListReading,
  wanted: number,
  before: readonly WaitingMessage[],
): Promise<WaitingMessage[]> {
  const known = new Map(before.map(({ tag }, index) => [tag, index] as const).reverse());
  const messages: WaitingMessage[] = [];
  let isKnown = false;
  let elements: readonly string[] = [mirror.front as string];
  while (elements.length > 0) {
    for (const raw of elements) {
      const { tag, task } = decode(mirror, raw);
      const at = isKnown ? undefined : known.get(tag);
      if (at !== undefined) {
        messages.push(...before.slice(at));
        isKnown = true;
        break;
      }
      messages.push(take(mirror, reading, raw, tag, task));
    }
    if (messages.length >= wanted || !reading.budget.hasRoom()) break;
    elements = await readBehind(mirror, reading, messages, wanted);
  }
  return messages;
}

/** The elements after the known ones; none if the position cannot be found any more. */
async function readBehind(
  mirror: ListMirror,
  reading: ListReading,
  messages: readonly WaitingMessage[],
  wanted: number,
): Promise<readonly string[]> {
  const last = messages.at(-1)?.tag ?? '';
  const isPlain = PLAIN_TAG.test(last);
  for (const overlap of [mirror.window.size(OVERLAP), LARGE_OVERLAP]) {
    const start = Math.max(0, messages.length - overlap);
    const size = mirror.window.size(wanted - messages.length) + messages.length - start;
    const elements = await reading.range(mirror, start, size);
    mirror.window.saw(elements);
    // Looking for the text first saves decoding the others, which are decoded later.
    const at = elements.findLastIndex(
      (raw) => (!isPlain || raw.includes(last)) && decode(mirror, raw).tag === last,
    );
    if (at >= 0) return elements.slice(at + 1);
  }
  return [];
}

/** Reads the newest messages, because they announce tasks and workflows. */
async function readNewest(mirror: ListMirror, reading: ListReading, back: string): Promise<void> {
  const known = new Set(mirror.newest.map(({ tag }) => tag));
  const fresh: WaitingMessage[] = [];
  let elements: readonly string[] = [back];
  for (let isDone = false; !isDone && elements.length > 0; ) {
    for (const raw of elements) {
      const { tag, task } = decode(mirror, raw);
      isDone = known.has(tag) || fresh.length >= MOST_NEW;
      if (isDone) break;
      fresh.push(take(mirror, reading, raw, tag, task));
    }
    if (isDone || !reading.budget.hasRoom()) break;
    elements = await reading.newest(mirror, fresh.length, mirror.window.size(MOST_NEW - fresh.length + 1));
    mirror.window.saw(elements);
  }
  mirror.newest = [...fresh, ...mirror.newest].slice(0, MOST_NEWEST);
}

function decode(mirror: ListMirror, raw: string): Decoded {
  if (raw === mirror.decoded?.raw) return mirror.decoded;
  const task = decodeWaiting(raw, mirror.queue);
  const decoded = { raw, tag: tagOf(raw, task), task };
  if (raw.length > LONG) mirror.decoded = decoded;
  return decoded;
}

function take(
  mirror: ListMirror,
  { take: takeMessage, budget }: ListReading,
  raw: string,
  tag: string,
  task: QueuedTask | null,
): WaitingMessage {
  const message = takeMessage(task, { tag, part: mirror.part, takenAt: null });
  budget.spend(raw.length, message.bytes);
  return message;
}
