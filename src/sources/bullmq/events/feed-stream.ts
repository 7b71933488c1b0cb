/** One queue's stream as a page of the feed reads it: from a position towards its end. */
import type { ReadOptions } from '../../../redis/reader.ts';
import { queueKeyOf } from './feed-cursor.ts';
import type { FeedItem } from './feed-items.ts';
import type { FeedTails } from './feed-tails.ts';
import { compareIds } from './stream-entry.ts';
import type { StreamPosition } from './stream-reads.ts';
import { idBefore, indexBehind, lastIdOf, type StreamTail } from './stream-tail.ts';

/** A stream that is being read. */
export interface FeedStream {
  readonly tail: StreamTail;
  /** Names the queue in cursors. */
  readonly key: string;
  /** Behind the last item that was taken. */
  position: StreamPosition;
  /** Items that were read; from `index` on they have not been taken. */
  items: readonly FeedItem[];
  index: number;
  /** Whether there are no others behind `items`. */
  isEnd: boolean;
  /** Whether entries behind the position were removed before they could be read. */
  hasGap: boolean;
}

/** An item of a stream that is merged with others. */
export interface StreamItem {
  readonly stream: FeedStream;
  readonly item: FeedItem;
}

export function createFeedStream(tail: StreamTail, position: StreamPosition): FeedStream {
  const key = queueKeyOf(tail.queue.name);
  return {
    tail,
    key,
    position,
    items: [],
    index: 0,
    isEnd: false,
    hasGap: false,
  };
}

/**
 * The items after the stream's position, oldest first. After using one, call {@link takeItem}.
 *
 * @param batch how many entries to read at a time
 */
export async function* itemsBehind(
  tails: FeedTails,
  stream: FeedStream,
  batch: () => number,
  options: ReadOptions,
): AsyncGenerator<StreamItem, void, undefined> {
  for (;;) {
    const item = stream.items[stream.index];
    if (item !== undefined) yield { stream, item };
    else if (stream.isEnd) return;
    else if (!fillFromTail(stream)) await fillFromRedis(tails, stream, batch(), options);
  }
}

/** Moves the position of a stream behind its next item. */
export function takeItem({ stream, item }: StreamItem): void {
  stream.index += 1;
  stream.position = { id: item.id };
}

/** @returns false when the items after the position are not in memory */
function fillFromTail(stream: FeedStream): boolean {
  const { tail, position } = stream;
  const isEmpty = tail.items.length === 0 && 'floor' in position;
  const index = isEmpty ? 0 : indexBehind(tail, position);
  if (index === null) return false;
  const before = idBefore(tail, index);
  if (before !== null) stream.position = { id: before };
  else if ('id' in position) stream.position = { floor: 0 };
  stream.items = tail.items;
  stream.index = index;
  stream.isEnd = true;
  return true;
}

async function fillFromRedis(
  tails: FeedTails,
  stream: FeedStream,
  batch: number,
  options: ReadOptions,
): Promise<void> {
  const { tail, position } = stream;
  const part = await tails.readBehind(tail.queue, position, Math.min(batch, tail.batch), options);
  stream.items = part.items;
  stream.index = 0;
  stream.isEnd = part.isEnd;
  stream.hasGap ||= part.hasGap;
  if (part.before !== null) stream.position = { id: part.before };
  else if (part.hasGap && part.items.length === 0) restart(stream);
}

/**
 * The entry at the position was removed, and there are no newer ones: continues with the entries that exist
 * now.
 */
function restart(stream: FeedStream): void {
  const last = lastIdOf(stream.tail);
  if (!('id' in stream.position)) return;
  const isOlder = last !== null && compareIds(last, stream.position.id) < 0;
  stream.position = isOlder ? { id: last } : { floor: 0 };
}
