/** One queue's stream as a read of the feed goes along it, from a place towards its end. */
import type { ReadOptions } from '../../../redis/reader.ts';
import { markOf } from './feed-cursor.ts';
import type { FeedItem } from './feed-items.ts';
import type { FeedTails } from './feed-tails.ts';
import { compareIds } from './stream-entry.ts';
import type { StreamPlace } from './stream-reads.ts';
import { idBefore, indexBehind, lastIdOf, type StreamTail } from './stream-tail.ts';

/** A stream under way. */
export interface Lane {
  readonly tail: StreamTail;
  readonly mark: string;
  place: StreamPlace;
  /** Items to come; from `index` on they are yet to be passed. */
  items: readonly FeedItem[];
  index: number;
  /** Whether there are no others behind them. */
  isEnd: boolean;
  /** Whether some before them were missed. */
  hasGap: boolean;
}

export function createLane(tail: StreamTail, place: StreamPlace): Lane {
  const mark = markOf(tail.queue.name);
  return { tail, mark, place, items: [], index: 0, isEnd: false, hasGap: false };
}

/** Sees to it that each of the lanes has an item to come, or has come to its end. */
export async function fillLanes(
  tails: FeedTails,
  lanes: readonly Lane[],
  count: number,
  options: ReadOptions,
): Promise<void> {
  const empty = lanes.filter(({ index, items, isEnd }) => index >= items.length && !isEnd);
  const cold = empty.filter((lane) => !fillFromTail(lane));
  if (cold.length === 0) return;
  const parts = await tails.readBehind(
    cold.map(({ tail, place }) => ({ queue: tail.queue, place, count: Math.min(count, tail.batch) })),
    options,
  );
  for (const [at, lane] of cold.entries()) {
    const part = parts[at];
    if (part === undefined) continue;
    lane.items = part.items;
    lane.index = 0;
    lane.isEnd = part.isEnd;
    lane.hasGap ||= part.hasGap;
    if (part.before !== null) lane.place = { id: part.before };
    else if (part.hasGap && part.items.length === 0) settle(lane);
  }
}

/** @returns false when what is behind its place is not held */
function fillFromTail(lane: Lane): boolean {
  const { tail, place } = lane;
  const isEmpty = tail.items.length === 0 && 'floor' in place;
  const index = isEmpty ? 0 : indexBehind(tail, place);
  if (index === null) return false;
  const before = idBefore(tail, index);
  if (before !== null) lane.place = { id: before };
  else if ('id' in place) lane.place = { floor: 0 };
  lane.items = tail.items;
  lane.index = index;
  lane.isEnd = true;
  return true;
}

/** What it stood behind has gone, and nothing has come since: it goes on from what is there now. */
function settle(lane: Lane): void {
  const last = lastIdOf(lane.tail);
  if (!('id' in lane.place)) return;
  const isOlder = last !== null && compareIds(last, lane.place.id) < 0;
  lane.place = isOlder ? { id: last } : { floor: 0 };
}
