/** Reads of event streams from any place, a bounded number of entries at a time; none of them blocks. */

import type { ReadOptions } from '../../../redis/reader.ts';
import { asNumber } from '../../../redis/replies.ts';
import type { QueueAccess, QueueCommand } from '../queue-access.ts';
import type { QueueRef } from '../queue-ref.ts';
import { entriesOf, type StreamEntry } from './stream-entry.ts';

/** Where to go on reading: behind an entry that was there, or behind a millisecond. */
export type StreamPlace = { readonly id: string } | { readonly floor: number };

/** Entries behind a place. */
export interface StreamPart {
  /** Oldest first. */
  readonly entries: readonly StreamEntry[];
  /** Whether there are no more now. */
  readonly isEnd: boolean;
  /** Whether entries between the place and these were removed, or may have been. */
  readonly hasGap: boolean;
  /** The entry right before these, where it is known. */
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

/** At most `count` entries behind each place. */
export async function readBehind(
  access: QueueAccess,
  wishes: readonly { readonly queue: QueueRef; readonly place: StreamPlace; readonly count: number }[],
  options: ReadOptions,
): Promise<readonly StreamPart[]> {
  // The entry at the place is read along: while it is there, nothing behind it has been removed.
  const commands = wishes.flatMap(({ queue, place, count }) =>
    'id' in place
      ? [forwardCommand(queue, place.id, count + 1)]
      : [forwardCommand(queue, String(place.floor + 1), count), beforeCommand(queue, place.floor)],
  );
  const replies = await access.read(commands, options);
  let next = 0;
  const parts = wishes.map(({ place, count }): StreamPart => {
    const entries = entriesOf(replies[next++]);
    if ('id' in place) {
      const isThere = entries[0]?.id === place.id;
      return {
        entries: isThere ? entries.slice(1) : entries,
        isEnd: entries.length <= count,
        hasGap: !isThere,
        before: isThere ? place.id : null,
      };
    }
    const before = entriesOf(replies[next++])[0]?.id ?? null;
    return { entries, isEnd: entries.length < count, hasGap: before === null, before };
  });
  const doubtful = wishes.filter(({ place }, at) => 'floor' in place && parts[at]?.hasGap);
  const trimmed = await trimmedQueues(
    access,
    doubtful.map(({ queue }) => queue),
    options,
  );
  return parts.map((part, at) => {
    const wish = wishes[at];
    return wish === undefined || 'id' in wish.place
      ? part
      : { ...part, hasGap: part.hasGap && trimmed.has(wish.queue) };
  });
}

function beforeCommand(queue: QueueRef, floor: number): QueueCommand {
  return { queue, command: ['XREVRANGE', queue.key('events'), String(floor), '-', 'COUNT', '1'] };
}

/**
 * Those of the queues whose streams have lost entries since they began, or may have: Redis before 7 does
 * not count them. One that is not there has lost none.
 */
async function trimmedQueues(
  access: QueueAccess,
  queues: readonly QueueRef[],
  options: ReadOptions,
): Promise<ReadonlySet<QueueRef>> {
  const replies = await access.read(
    queues.map((queue) => ({ queue, command: ['XINFO', 'STREAM', queue.key('events')] })),
    options,
  );
  return new Set(
    queues.filter((_, at) => {
      const facts = factsOf(replies[at]);
      const [length, added] = [asNumber(facts.get('length')), asNumber(facts.get('entries-added'))];
      return length !== null && (added === null || added > length);
    }),
  );
}

/** Pairs in RESP 2; in RESP 3 a map, which clients show in their own ways. */
function factsOf(reply: unknown): ReadonlyMap<unknown, unknown> {
  if (reply instanceof Map) return reply;
  if (!Array.isArray(reply)) return new Map(Object.entries(reply ?? {}));
  const facts = new Map<unknown, unknown>();
  for (let at = 0; at + 1 < reply.length; at += 2) facts.set(reply[at], reply[at + 1]);
  return facts;
}
