/**
 * One queue's stream as a page of the feed reads it, from a position towards its end, and the positions in all streams
 * as a cursor keeps them, so that it is valid on any instance and after any restart.
 */

import { createHash } from 'node:crypto';
import { readMark, writeMark } from '../../../cursor.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { type FeedItem, type ItemMemory, readItems } from './feed-items.ts';
import { lastIdOf, type WatchedStream } from './stream-ends.ts';
import {
  BEGINNING,
  backwardCommand,
  compareIds,
  entriesOf,
  fitBatch,
  isStreamId,
  readBehind,
  type StreamPosition,
  timeOf,
} from './stream-entry.ts';

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

/** Reads of items for one request. */
export interface FeedReads {
  readonly access: QueueAccess;
  readonly memory: ItemMemory;
}

/** A stream that is being read. */
export interface FeedStream {
  readonly watched: WatchedStream;
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

export function createFeedStream(watched: WatchedStream, position: StreamPosition): FeedStream {
  const key = queueKeyOf(watched.queue.name);
  const last = lastIdOf(watched);
  const stream = { watched, key, items: [], index: 0, hasGap: false };
  // Most requests are for what comes behind the last entry.
  if (last !== null && 'floor' in position && timeOf(last) <= position.floor) {
    return { ...stream, position: { id: last }, isEnd: true };
  }
  return { ...stream, position, isEnd: 'id' in position ? position.id === last : last === null };
}

/**
 * The items after the stream's position, oldest first. After using one, call {@link takeItem}.
 *
 * @param batch how many entries to read at a time
 */
export async function* itemsBehind(
  reads: FeedReads,
  stream: FeedStream,
  batch: () => number,
): AsyncGenerator<StreamItem, void, undefined> {
  for (;;) {
    const item = stream.items[stream.index];
    if (item !== undefined) yield { stream, item };
    else if (stream.isEnd) return;
    else await readOn(reads, stream, batch());
  }
}

/** Moves the position of a stream behind its next item. */
export function takeItem({ stream, item }: StreamItem): void {
  stream.index += 1;
  stream.position = { id: item.id };
}

async function readOn({ access, memory }: FeedReads, stream: FeedStream, batch: number): Promise<void> {
  const { watched, position } = stream;
  const { queue } = watched;
  const part = await readBehind(access, queue, position, Math.min(batch, watched.batch));
  watched.batch = fitBatch(watched.batch, part.entries);
  stream.items = await readItems(access, memory, queue, part.entries);
  stream.index = 0;
  stream.isEnd = part.isEnd;
  stream.hasGap ||= part.hasGap;
  if (part.before !== null) stream.position = { id: part.before };
  else if (part.hasGap && stream.items.length === 0) restart(stream);
}

/**
 * The entry at the position was removed, and there are no newer ones: continues with the entries that exist
 * now.
 */
function restart(stream: FeedStream): void {
  const last = lastIdOf(stream.watched);
  if (!('id' in stream.position)) return;
  const isOlder = last !== null && compareIds(last, stream.position.id) < 0;
  stream.position = isOlder ? { id: last } : { floor: 0 };
}

/** Items of a stream from its last look on, newest first. */
export async function* itemsFromEnd(
  { access, memory }: FeedReads,
  watched: WatchedStream,
  batch: number,
): AsyncGenerator<FeedItem, void, undefined> {
  const { queue } = watched;
  for (let end = lastIdOf(watched); end !== null; ) {
    const count = Math.min(batch, watched.batch);
    const [reply] = await access.read([backwardCommand(queue, end, count)]);
    const entries = entriesOf(reply).toReversed();
    watched.batch = fitBatch(watched.batch, entries);
    const items = await readItems(access, memory, queue, entries);
    yield* items.toReversed();
    end = entries.length < count ? null : `(${items[0]?.id}`;
  }
}
