/** Reads of event streams from any position, a bounded number of entries at a time. None of them blocks. */
import type { ReadOptions } from '../../../redis/reader.ts';
import { asNumber } from '../../../redis/replies.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { QueueCommand } from '../access/queue-reads.ts';
import type { QueueRef } from '../access/queue-ref.ts';
import { entriesOf, type StreamEntry } from './stream-entry.ts';

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
