/** The newest items of the feed. */
import { mergeSortedAsync } from '../../../merge-sorted.ts';
import type { TaskEvent } from '../../../model.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import type { TaskEventPage, TaskEventQuery } from '../../../source.ts';
import { positionOf, queueKeyOf, writeCursor } from './feed-cursor.ts';
import { matcherOf } from './feed-filter.ts';
import type { FeedItem } from './feed-items.ts';
import type { FeedTails } from './feed-tails.ts';
import { BEGINNING } from './stream-entry.ts';
import { indexBehind, lastIdOf, type StreamTail } from './stream-tail.ts';

/**
 * Lists the newest matching items, and returns the position after all items.
 *
 * @param most entries to examine
 */
export async function listNewest(
  tails: FeedTails,
  all: readonly StreamTail[],
  query: TaskEventQuery,
  most: number,
  options: ReadOptions,
): Promise<TaskEventPage> {
  const cursor = writeCursor(positionOf(lastIds(all), 0, Number.POSITIVE_INFINITY));
  const matches = matcherOf(query);
  const events: TaskEvent[] = [];
  // Among items of the same time, the one of the last queue is the newest.
  const merged = mergeSortedAsync(
    all.toReversed().map((tail) => itemsFromEnd(tails, tail, options)),
    (a, b) => b.time - a.time,
  );
  for (let scanned = 0; events.length < query.limit && scanned < most; scanned += 1) {
    const { value: item, done } = await merged.next();
    if (done || item === undefined) break;
    if (item.event !== null && matches(item.event)) events.push(item.event);
  }
  return { events, cursor, gap: false };
}

function lastIds(tails: readonly StreamTail[]): ReadonlyMap<string, string> {
  return new Map(
    tails.flatMap((tail) => {
      const id = lastIdOf(tail);
      return id === null ? [] : [[queueKeyOf(tail.queue.name), id] as const];
    }),
  );
}

/** Items of a tail, newest first. Older ones are read on demand, and kept for all requests. */
async function* itemsFromEnd(
  tails: FeedTails,
  tail: StreamTail,
  options: ReadOptions,
): AsyncGenerator<FeedItem, void, undefined> {
  for (let items: readonly FeedItem[] = tail.items; items.length > 0; ) {
    yield* items.toReversed();
    const oldest = items[0]?.id ?? BEGINNING;
    // Another read may have added some meanwhile.
    if (itemsBefore(tail, oldest).length === 0 && tail.base !== BEGINNING) await tails.extend(tail, options);
    items = itemsBefore(tail, oldest);
  }
}

/** Items in memory that are older than this one. If the tail has dropped it meanwhile, there are none. */
function itemsBefore(tail: StreamTail, id: string): readonly FeedItem[] {
  return tail.items.slice(0, Math.max(0, (indexBehind(tail, { id }) ?? 0) - 1));
}
