/**
 * Entries of a queue's event stream, as XRANGE and XREVRANGE return them. Other programs may write to the stream:
 * anything that is not an entry is ignored, and long values are cut.
 */
import type { ReadOptions } from '../../../redis/reader.ts';
import { asNumber } from '../../../redis/replies.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { QueueCommand, QueueRef } from '../access/queue-reads.ts';

/** One entry. */
export interface StreamEntry {
  /** `<milliseconds>-<sequence>`, as Redis has it. */
  readonly id: string;
  /** Milliseconds since 1970, by the clock of Redis. */
  readonly time: number;
  /** Its values by name, without return values, which may be large and are part of the task itself. */
  readonly fields: ReadonlyMap<string, string>;
  /** The whole return value of a completed job, as JSON; `null`: it has none. */
  readonly returnValue: string | null;
  /** Characters that were read for it. */
  readonly size: number;
}

/** The id before all others. */
export const BEGINNING = '0-0';

const LARGEST = 2n ** 64n - 1n;
const LONGEST = 4_096;
/** A cut keeps no more of a word than this, as a secret may be recognizable only by its end. */
const LONGEST_WORD = 1_024;
const MOST_FIELDS = 32;

/** Entries in the order of the reply. */
export function entriesOf(reply: unknown): readonly StreamEntry[] {
  return Array.isArray(reply) ? reply.flatMap((item) => entryOf(item) ?? []) : [];
}

function entryOf(item: unknown): StreamEntry | null {
  const [id, values]: readonly unknown[] = Array.isArray(item) ? item : [];
  if (typeof id !== 'string' || !isStreamId(id) || !Array.isArray(values)) return null;
  const fields = new Map<string, string>();
  let size = id.length;
  let returnValue: string | null = null;
  for (let at = 0; at + 1 < values.length; at += 2) {
    const [name, value]: readonly unknown[] = [values[at], values[at + 1]];
    if (typeof name !== 'string' || typeof value !== 'string') continue;
    size += name.length + value.length;
    if (name === 'returnvalue') returnValue = value;
    else if (fields.size < MOST_FIELDS) fields.set(shorten(name), shorten(value));
  }
  return { id, time: timeOf(id), fields, returnValue, size };
}

/** Whether Redis accepts it as an id: two whole numbers of 64 bits. */
export function isStreamId(text: string): boolean {
  return /^\d{1,20}-\d{1,20}$/.test(text) && text.split('-').every((part) => BigInt(part) <= LARGEST);
}

/** The milliseconds of an id. */
export function timeOf(id: string): number {
  return Number(id.slice(0, id.indexOf('-')));
}

/** Less than 0 when `a` comes first. The parts may exceed what a number holds exactly. */
export function compareIds(a: string, b: string): number {
  const [aTime = '', aCount = ''] = a.split('-');
  const [bTime = '', bCount = ''] = b.split('-');
  return compareDigits(aTime, bTime) || compareDigits(aCount, bCount);
}

function compareDigits(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

function shorten(text: string): string {
  if (text.length <= LONGEST) return text;
  const kept = text.slice(0, LONGEST);
  const end = Math.max(kept.search(/\s\S*$/), LONGEST - LONGEST_WORD);
  // A slice would keep the whole text in memory.
  return `${Buffer.from(kept.slice(0, end)).toString()}…`;
}

/** Where to continue: behind an entry that was there, or behind a millisecond. */
export type StreamPosition = { readonly id: string } | { readonly floor: number };

/** Entries behind a position. */
export interface StreamPart {
  /** Oldest first. */
  readonly entries: readonly StreamEntry[];
  /** Whether there are no more now. */
  readonly isEnd: boolean;
  /** Whether entries between the position and these were removed, or may have been. */
  readonly hasGap: boolean;
  /** The entry right before these; `null` when it is not known. */
  readonly before: string | null;
}

/** The newest entries, or those right before one. */
export function backwardCommand(queue: QueueRef, before: string | null, count: number): QueueCommand {
  const end = before === null ? '+' : `(${before}`;
  return { queue, command: ['XREVRANGE', queue.key('events'), end, '-', 'COUNT', String(count)] };
}

/** Entries from this id on, itself included. */
export function forwardCommand(queue: QueueRef, start: string, count: number): QueueCommand {
  return { queue, command: ['XRANGE', queue.key('events'), start, '+', 'COUNT', String(count)] };
}

/** Reads up to `count` entries behind a position. */
export async function readBehind(
  access: QueueAccess,
  queue: QueueRef,
  position: StreamPosition,
  count: number,
  options: ReadOptions,
): Promise<StreamPart> {
  if ('floor' in position) return readBehindTime(access, queue, position.floor, count, options);
  // The entry at the position is read again: while it is there, nothing behind it has been removed.
  const [reply] = await access.read([forwardCommand(queue, position.id, count + 1)], options);
  const entries = entriesOf(reply);
  const isThere = entries[0]?.id === position.id;
  return {
    entries: isThere ? entries.slice(1) : entries,
    isEnd: entries.length <= count,
    hasGap: !isThere,
    before: isThere ? position.id : null,
  };
}

/** @param floor in milliseconds since 1970 */
async function readBehindTime(
  access: QueueAccess,
  queue: QueueRef,
  floor: number,
  count: number,
  options: ReadOptions,
): Promise<StreamPart> {
  const [behind, earlier] = await access.read(
    [
      forwardCommand(queue, String(floor + 1), count),
      { queue, command: ['XREVRANGE', queue.key('events'), String(floor), '-', 'COUNT', '1'] },
    ],
    options,
  );
  const entries = entriesOf(behind);
  const before = entriesOf(earlier)[0]?.id ?? null;
  const hasGap = before === null && (await isTrimmed(access, queue, options));
  return { entries, isEnd: entries.length < count, hasGap, before };
}

/**
 * Whether the stream has lost entries since it began, or may have: Redis before 7 does not count them. A
 * stream that does not exist has lost none.
 */
async function isTrimmed(access: QueueAccess, queue: QueueRef, options: ReadOptions): Promise<boolean> {
  const [reply] = await access.read([{ queue, command: ['XINFO', 'STREAM', queue.key('events')] }], options);
  const facts = factsOf(reply);
  const [length, added] = [asNumber(facts.get('length')), asNumber(facts.get('entries-added'))];
  return length !== null && (added === null || added > length);
}

/** Pairs in RESP 2; in RESP 3 a map, which each client represents in its own way. */
function factsOf(reply: unknown): ReadonlyMap<unknown, unknown> {
  if (reply instanceof Map) return reply;
  if (!Array.isArray(reply)) return new Map(Object.entries(reply ?? {}));
  const facts = new Map<unknown, unknown>();
  for (let at = 0; at + 1 < reply.length; at += 2) facts.set(reply[at], reply[at + 1]);
  return facts;
}
