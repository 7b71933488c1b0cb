/** Answers reads of the feed for events that Redis has removed from its streams. */
import type { EventLog } from '../../../../history/stored-history.ts';
import type { ReadOptions } from '../../../../redis/reader.ts';
import type { FeedItem } from '../../events/feed-items.ts';
import type { FeedLog, LoggedPart } from '../../events/feed-log.ts';
import { compareIds, timeOf } from '../../events/stream-entry.ts';
import type { StreamPosition } from '../../events/stream-reads.ts';
import { createLogChunks, type LogChunks } from './log-chunks.ts';

/** How far chunks may be out of order when another instance takes over, and clocks of servers may differ. */
const SLACK_MS = 60_000;
/** Items and chunks that are looked at for one answer. */
const MOST_ITEMS = 40_000;
const MOST_CHUNKS = 1_000;
/** Above every entry of a millisecond. */
const LAST_OF_MS = String(2n ** 64n - 1n);

export function createFeedLog(log: Pick<EventLog, 'newest' | 'read'>): FeedLog {
  const chunks = createLogChunks(log);
  return {
    readBehind: (queue, position, count, { signal }) =>
      readBehind(chunks, queue, position, count, signal).catch(() => UNKNOWN),
    readBefore: (queue, id, count, { signal }) =>
      readBefore(chunks, queue, id, count, signal).catch(() => []),
  };
}

const UNKNOWN: LoggedPart = { items: [], hasGap: true };

async function readBehind(
  chunks: LogChunks,
  queue: string,
  position: StreamPosition,
  count: number,
  signal: ReadOptions['signal'],
): Promise<LoggedPart> {
  const items: FeedItem[] = [];
  let hasGap = false;
  let reached = 'id' in position ? position.id : `${Math.floor(position.floor)}-${LAST_OF_MS}`;
  let [scanned, read] = [0, 0];
  let next = await chunks.search(timeOf(reached) - SLACK_MS);
  while (items.length < count && scanned < MOST_ITEMS && read < MOST_CHUNKS) {
    signal?.throwIfAborted();
    const found = await chunks.from(next);
    const last = found.at(-1);
    if (last === undefined) return { items, hasGap };
    for (const part of found.flatMap(({ parts }) => parts)) {
      scanned += part.items.length;
      if (part.queue !== queue || compareIds(part.after, reached) <= 0) continue;
      // Each part begins where the one before ended, unless something is missing.
      const begin = part.before ?? part.items[0]?.id ?? part.after;
      const isBroken = compareIds(begin, reached) > 0;
      // Items after a gap are in the next part, so that the gap is reported at its position.
      if (isBroken && items.length > 0) return { items, hasGap };
      hasGap ||= isBroken;
      const from = reached;
      items.push(...part.items.filter(({ id }) => compareIds(id, from) > 0));
      reached = part.after;
    }
    next = last.number + 1;
    read += found.length;
  }
  return items.length > 0 ? { items, hasGap } : UNKNOWN;
}

async function readBefore(
  chunks: LogChunks,
  queue: string,
  id: string,
  count: number,
  signal: ReadOptions['signal'],
): Promise<readonly FeedItem[]> {
  const newestFirst: FeedItem[] = [];
  /** The next items must reach up to this entry, or something is missing. */
  let [lowest, needed] = [id, id];
  let [scanned, read] = [0, 0];
  let next = await chunks.search(timeOf(id) + SLACK_MS);
  while (newestFirst.length < count && scanned < MOST_ITEMS && read < MOST_CHUNKS) {
    signal?.throwIfAborted();
    const found = await chunks.upTo(next);
    const last = found.at(-1);
    if (last === undefined) break;
    for (const part of found.flatMap(({ parts }) => parts.toReversed())) {
      scanned += part.items.length;
      if (part.queue !== queue) continue;
      if (compareIds(part.after, needed) < 0) return newestFirst.toReversed();
      for (const item of part.items.toReversed()) {
        if (compareIds(item.id, lowest) >= 0) continue;
        newestFirst.push(item);
        lowest = item.id;
      }
      if (part.before === null && compareIds(part.after, needed) >= 0 && compareIds(lowest, needed) < 0)
        return newestFirst.toReversed();
      if (part.before !== null && compareIds(part.before, needed) < 0) needed = part.before;
    }
    next = last.number - 1;
    read += found.length;
  }
  return newestFirst.toReversed();
}
