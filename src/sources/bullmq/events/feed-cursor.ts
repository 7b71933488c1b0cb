/**
 * Where a reader of the feed stands in each queue's stream: part of a cursor, so that it holds on any
 * instance and after any restart.
 */
import { createHash } from 'node:crypto';
import { BEGINNING, isStreamId, timeOf } from './stream-entry.ts';

/** A place in all streams. */
export interface FeedPlace {
  /** Streams that are not listed have been read up to and with this millisecond. */
  readonly floor: number;
  /** By {@link markOf} a queue: the entry that was read last, which was there then. */
  readonly read: ReadonlyMap<string, string>;
}

/** The last moment that a `Date` can hold, in milliseconds. */
const LATEST = 8.64e15;
// A cursor of more than 8,192 characters is refused, and a third of it is lost to its encoding.
const LONGEST = 4_500;
/**
 * What comes to a stream that is not listed may be older than what another one has told already, as it is
 * read at another moment and, in a cluster, has another clock. In milliseconds.
 */
export const SLACK_MS = 60_000;

/** A queue in a cursor, whatever the length of its name. */
export function markOf(queue: string): string {
  return createHash('sha256').update(queue).digest('base64url').slice(0, 9);
}

/**
 * @param floor for when nothing has been read
 * @param highest no floor above it is right, as entries behind it have not been read
 */
export function placeOf(read: ReadonlyMap<string, string>, floor: number, highest: number): FeedPlace {
  const newest = Math.max(...[...read.values()].map(timeOf));
  return { floor: read.size === 0 ? floor : Math.max(0, Math.min(newest - SLACK_MS, highest)), read };
}

export function writeCursor({ floor, read }: FeedPlace): string {
  const latest = [...read].sort(([a, x], [b, y]) => timeOf(y) - timeOf(x) || (a < b ? -1 : 1));
  const parts = latest.map(([mark, id]) => `,${mark}${id}`);
  let length = 20;
  const fits = parts.filter((part) => {
    length += part.length;
    return length <= LONGEST;
  });
  // Those that have been idle the longest are left out; they stand below the floor.
  const [, first = BEGINNING] = latest[fits.length] ?? [];
  return `${Math.min(LATEST, Math.max(floor, timeOf(first)))}${fits.join('')}`;
}

/** @returns `null` for what is no cursor of a feed */
export function readCursor(text: string): FeedPlace | null {
  const [first = '', ...parts] = text.split(',');
  if (!/^\d{1,20}$/.test(first)) return null;
  const read = new Map<string, string>();
  for (const part of parts) {
    const [mark, id] = [part.slice(0, 9), part.slice(9)];
    if (!/^[\w-]{9}$/.test(mark) || !isStreamId(id) || id === BEGINNING) return null;
    read.set(mark, id);
  }
  return { floor: Math.min(Number(first), LATEST), read };
}
