/**
 * One queue's stream as a page of the feed reads it, from a position towards its end, and the positions in all streams
 * as a cursor keeps them, so that it is valid on any instance and after any restart.
 */

import { createHash } from 'node:crypto';
import { readMark, writeMark } from '../../../cursor.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { FeedItem } from './feed-items.ts';
import type { FeedTails } from './feed-tails.ts';
import { idBefore, indexBehind, lastIdOf, type StreamTail } from './feed-tails.ts';
import { BEGINNING, compareIds, isStreamId, type StreamPosition, timeOf } from './stream-entry.ts';

/** A position in all streams. */
export interface FeedPosition {
  /** Streams that are not in `read` have been read up to and including this millisecond. */
  readonly floor: number;
  /** By {@link queueKeyOf} a queue: the entry that was read last. It existed then. */
  readonly read: ReadonlyMap<string, string>;
}

const KIND = 'feed';
/** The last moment that a `Date` can hold, in milliseconds. */
const LATEST = 8.64e15;
/** In characters. Cursors of more than 8,192 are refused, and a quarter is needed for the encoding. */
const LONGEST = 4_500;
/**
 * How far entries of a stream that is not in the cursor may be behind those of others, in milliseconds: streams
 * are read at different moments and, in a cluster, have different clocks.
 */
export const SLACK_MS = 60_000;

/** Names a queue in cursors, in nine characters. */
export function queueKeyOf(queue: string): string {
  return createHash('sha256').update(queue).digest('base64url').slice(0, 9);
}

/**
 * @param floor the floor if nothing has been read
 * @param highest the highest floor, because entries after it have not been read
 */
export function positionOf(read: ReadonlyMap<string, string>, floor: number, highest: number): FeedPosition {
  const newest = Math.max(...[...read.values()].map(timeOf));
  return { floor: read.size === 0 ? floor : Math.max(0, Math.min(newest - SLACK_MS, highest)), read };
}

export function writeCursor({ floor, read }: FeedPosition): string {
  const latest = [...read].sort(([a, x], [b, y]) => timeOf(y) - timeOf(x) || (a < b ? -1 : 1));
  const entries = latest.map(([key, id]) => key + id);
  let length = 0;
  const fits = entries.filter((entry) => {
    length += entry.length + 1;
    return length <= LONGEST;
  });
  // Streams that have been idle longest are left out. They were read up to below the floor.
  const [, first = BEGINNING] = latest[fits.length] ?? [];
  return writeMark(KIND, [Math.min(LATEST, Math.max(floor, timeOf(first))), fits.join()]);
}

/** @returns `null` if it is not a cursor of a feed */
export function readCursor(text: string): FeedPosition | null {
  const [floor, entries] = readMark(KIND, text) ?? [];
  if (!Number.isInteger(floor) || Number(floor) < 0 || typeof entries !== 'string') return null;
  const read = new Map<string, string>();
  for (const entry of entries === '' ? [] : entries.split(',')) {
    const [key, id] = [entry.slice(0, 9), entry.slice(9)];
    if (!/^[\w-]{9}$/.test(key) || !isStreamId(id) || id === BEGINNING) return null;
    read.set(key, id);
  }
  return { floor: Math.min(Number(floor), LATEST), read };
}

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
interface StreamItem {
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
  access: QueueAccess,
  tails: FeedTails,
  stream: FeedStream,
  batch: () => number,
): AsyncGenerator<StreamItem, void, undefined> {
  for (;;) {
    const item = stream.items[stream.index];
    if (item !== undefined) yield { stream, item };
    else if (stream.isEnd) return;
    else if (!fillFromTail(stream)) await fillFromRedis(access, tails, stream, batch());
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
  access: QueueAccess,
  tails: FeedTails,
  stream: FeedStream,
  batch: number,
): Promise<void> {
  const { tail, position } = stream;
  const part = await tails.readBehind(access, tail.queue, position, Math.min(batch, tail.batch));
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
