/** Reads the entries that the event streams of all queues got since a position. */
import type { ReadOptions } from '../../../redis/reader.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { QueueRef } from '../access/queue-reads.ts';
import { entriesOf, forwardCommand, isStreamId, type StreamEntry } from '../events/stream-entry.ts';

import { FIRST_BATCH, fitBatch } from '../events/tail-news.ts';

/** How far the streams have been read: by queue name, the last entry. A queue that is missing has not been read. */
export type StreamPositions = Map<string, string>;

/** New entries of one stream. */
export interface StreamNews {
  readonly queue: QueueRef;
  /** Oldest first. */
  readonly entries: readonly StreamEntry[];
  /** Entries before these may have been removed before they were read. */
  readonly hasGap: boolean;
  /** There may be more. */
  readonly hasMore: boolean;
}

/** How many entries to read of each stream at once, by queue name. They are fitted to the size of its entries. */
export type BatchSizes = Map<string, { batch: number }>;

/** Approximate number of entries that are read from all streams at once. */
const MOST_AT_ONCE = 2_000;

/** Reads the streams that have new entries: one command for each queue, one more for each that has some. */
export async function readStreams(
  access: QueueAccess,
  queues: readonly QueueRef[],
  positions: StreamPositions,
  sizes: BatchSizes,
  options: ReadOptions,
): Promise<readonly StreamNews[]> {
  const share = Math.max(1, Math.ceil(MOST_AT_ONCE / Math.max(1, queues.length)));
  const counts = queues.map(({ name }) => Math.min(share, sizes.get(name)?.batch ?? FIRST_BATCH));
  const replies = await access.read(
    queues.map((queue, index) => {
      const last = positions.get(queue.name);
      return forwardCommand(queue, last === undefined ? '-' : `(${last}`, counts[index] ?? 1);
    }),
    options,
  );
  const found = queues.flatMap((queue, index) => {
    const entries = entriesOf(replies[index]);
    return entries.length === 0 ? [] : [{ queue, entries, hasMore: entries.length >= (counts[index] ?? 1) }];
  });
  const continued = found.filter(({ queue }) => positions.has(queue.name));
  // Streams are trimmed when entries are added, and the oldest go first.
  const witnesses = await access.read(
    continued.map(({ queue }) => {
      const id = positions.get(queue.name) ?? '-';
      return { queue, command: ['XRANGE', queue.key('events'), id, id] as const };
    }),
    options,
  );
  const trimmed = new Set(continued.filter((_, index) => entriesOf(witnesses[index]).length === 0));
  return found.map((news) => {
    const size = sizes.get(news.queue.name) ?? { batch: FIRST_BATCH };
    fitBatch(size, news.entries);
    sizes.set(news.queue.name, size);
    return { ...news, hasGap: trimmed.has(news) };
  });
}

export function writePositions(positions: StreamPositions): string {
  return JSON.stringify([...positions]);
}

/** @returns no positions for a text that has none */
export function readPositions(text: string | null): StreamPositions {
  const positions: StreamPositions = new Map();
  const parsed: unknown = text === null ? [] : JSON.parse(text);
  for (const entry of Array.isArray(parsed) ? parsed : []) {
    const [name, id]: readonly unknown[] = Array.isArray(entry) ? entry : [];
    if (typeof name === 'string' && typeof id === 'string' && isStreamId(id)) positions.set(name, id);
  }
  return positions;
}
