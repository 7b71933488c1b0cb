/** Positions in the streams of all queues, as a cursor keeps them: valid on any instance and after any restart. */
import { createHash } from 'node:crypto';
import { readMark, writeMark } from '../../../cursor.ts';
import { BEGINNING, isStreamId, timeOf } from './stream-entry.ts';

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

/** Names a queue in cursors, in nine characters. */
export function queueKeyOf(queue: string): string {
  return createHash('sha256').update(queue).digest('base64url').slice(0, 9);
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
