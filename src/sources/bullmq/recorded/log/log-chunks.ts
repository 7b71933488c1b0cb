/** The chunks of the log: found by time, and kept for a while once they were read. */

import type { FeedChunk } from '../../../../history/store.ts';
import type { EventLog } from '../../../../history/stored-history.ts';
import { createLruCache, type LruCache } from '../../../../lru-cache.ts';
import { scheduler } from '../../../../scheduler.ts';
import { type LoggedChunk, readChunk } from './log-text.ts';

/** A chunk and its number, which grows with each chunk. */
export interface NumberedChunk extends LoggedChunk {
  readonly number: number;
}

/** Reads of chunks. They reject when the store does not answer. */
export interface LogChunks {
  /** The chunks from a number on, oldest first: some of them, none behind the newest. */
  from(number: number): Promise<readonly NumberedChunk[]>;
  /** The chunks up to a number, newest first: some of them, none before the oldest. */
  upTo(number: number): Promise<readonly NumberedChunk[]>;
  /** The number of the first chunk whose `through` is a time or later; one behind the newest when there is none. */
  search(time: number): Promise<number>;
}

/** Chunks that are read at once: of 500 items each at most. */
const AT_ONCE = 16;
const MOST_CHUNKS = 200;
const MOST_SIZE = 8 * 1024 * 1024;
/** Times of chunks that are remembered. */
const MOST_TIMES = 5_000;

interface ChunksState {
  readonly log: Pick<EventLog, 'newest' | 'read'>;
  readonly chunks: LruCache<NumberedChunk & { readonly size: number }>;
  /** By number: `through` of chunks that were read. */
  readonly times: LruCache<number>;
}

export function createLogChunks(log: Pick<EventLog, 'newest' | 'read'>): LogChunks {
  const state: ChunksState = {
    log,
    chunks: createLruCache({ entries: MOST_CHUNKS, bytes: MOST_SIZE, sizeOf: ({ size }) => size }),
    times: createLruCache({ entries: MOST_TIMES }),
  };
  return {
    from: (number) => readFrom(state, number, AT_ONCE),
    upTo: (number) => readUpTo(state, number),
    search: (time) => search(state, time),
  };
}

async function readFrom(state: ChunksState, number: number, most: number): Promise<readonly NumberedChunk[]> {
  const known: NumberedChunk[] = [];
  for (let next = number; known.length < most; next++) {
    const chunk = state.chunks.get(String(next));
    if (chunk === undefined) break;
    known.push(chunk);
  }
  if (known.length > 0) return known;
  return (await state.log.read(number - 1, most)).map((chunk) => take(state, chunk));
}

async function readUpTo(state: ChunksState, number: number): Promise<readonly NumberedChunk[]> {
  const known = state.chunks.get(String(number));
  if (known !== undefined) return [known];
  const chunks = await state.log.read(Math.max(0, number - AT_ONCE), AT_ONCE);
  const taken = chunks.filter((chunk) => chunk.number <= number).map((chunk) => take(state, chunk));
  return taken.toReversed();
}

function take({ chunks, times }: ChunksState, { number, items }: FeedChunk): NumberedChunk {
  const read = scheduler.measure(() => readChunk(items));
  // An unreadable chunk has no items and no order.
  const chunk = { ...(read ?? { through: Number.NEGATIVE_INFINITY, parts: [] }), number };
  chunks.set(String(number), { ...chunk, size: 3 * items.length });
  times.set(String(number), chunk.through);
  return chunk;
}

async function search(state: ChunksState, time: number): Promise<number> {
  const { log, times } = state;
  const [newest, [oldest]] = await Promise.all([log.newest(), log.read(0, 1)]);
  if (newest === null || oldest === undefined) return 0;
  let [low, high] = [oldest.number, newest.number + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const through = times.get(String(middle)) ?? (await readFrom(state, middle, 1))[0]?.through;
    if (through !== undefined && through < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
