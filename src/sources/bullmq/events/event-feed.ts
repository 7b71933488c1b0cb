/** The activity feed of all queues: their event streams, merged by time, from any position that Redis still has. */
import { mergeSortedAsync } from '../../../merge-sorted.ts';
import type { TaskEvent } from '../../../model.ts';
import type { TaskEventPage, TaskEventQuery, TaskEventSource } from '../../../source.ts';
import type { BullMQRedis } from '../access/queue-access.ts';
import { createItemMemory } from './feed-items.ts';
import {
  createFeedStream,
  type FeedPosition,
  type FeedReads,
  type FeedStream,
  itemsBehind,
  itemsFromEnd,
  positionOf,
  queueKeyOf,
  readCursor,
  SLACK_MS,
  takeItem,
  writeCursor,
} from './feed-stream.ts';
import {
  createStreamEnds,
  FRESH_MS,
  floorOf,
  lastIdOf,
  positionAt,
  type WatchedStream,
} from './stream-ends.ts';
import type { StreamPosition } from './stream-entry.ts';

/** Entries that are looked at for one answer. */
const MOST_SCANNED = 20_000;
/** After this many entries without a match, the cursor moves past them, so that they are not read again. */
const MOST_SKIPPED = 1_000;

/** Where a page begins in every stream. */
interface Start {
  readonly streams: readonly FeedStream[];
  /** Milliseconds since 1970 up to which streams have been read that have no position of their own. */
  readonly floor: number;
  readonly hasGap: boolean;
  /** The cursor of the request. */
  readonly cursor: string | null;
}

export function createEventSource(name: string, redis: BullMQRedis): TaskEventSource {
  const ends = createStreamEnds(redis);
  const memory = createItemMemory();
  return {
    name,
    status() {
      const status = redis.status();
      if (!status.ok) return status;
      const at = Date.now();
      // An overdue look begins with the next request.
      const due = ends.dueAt > at ? Math.min(ends.dueAt, at + FRESH_MS) : at + FRESH_MS;
      return { ...status, revision: ends.revision, changesAt: new Date(due) };
    },
    async listEvents(query, context) {
      const access = redis.within(context);
      const all = await ends.look(access, await access.queues());
      const reads = { access, memory };
      if (query.since === null) return listNewest(reads, all, query);
      return listBehind(reads, startOf(all, query.since, Date.now()), query);
    },
  };
}

function startOf(
  all: readonly WatchedStream[],
  since: NonNullable<TaskEventQuery['since']>,
  now: number,
): Start {
  if ('time' in since) {
    const time = Math.min(since.time.getTime(), now);
    const hasGap = all.some(({ lostAt }) => lostAt >= time);
    const streams = all.map((watched) => createFeedStream(watched, positionAt(watched, time)));
    return { streams, floor: Math.max(0, floorOf(time) - SLACK_MS), hasGap, cursor: null };
  }
  const position = readCursor(since.cursor);
  if (position === null) {
    const streams = all.map((watched) => createFeedStream(watched, { floor: 0 }));
    return { streams, floor: 0, hasGap: true, cursor: null };
  }
  const { floor, read } = position;
  const streams = all.map((watched) => {
    const id = read.get(queueKeyOf(watched.queue.name));
    return createFeedStream(watched, id === undefined ? { floor } : { id });
  });
  const keys = new Set(streams.map(({ key }) => key));
  // The entries of a queue that has been removed are gone.
  const hasGap = [...read.keys()].some((key) => !keys.has(key));
  return { streams, floor, hasGap, cursor: since.cursor };
}

/** Lists the oldest matching items behind the start, newest first. */
async function listBehind(reads: FeedReads, start: Start, query: TaskEventQuery): Promise<TaskEventPage> {
  const { streams } = start;
  const matches = matcherOf(query);
  const found: TaskEvent[] = [];
  /** Positions before the items that were taken since the last one that matched. */
  let skipped: { readonly stream: FeedStream; readonly from: StreamPosition }[] = [];
  let scanned = 0;
  const batch = (): number => batchSize(query.limit + scanned, streams.length);
  const merged = mergeSortedAsync(
    streams.map((stream) => itemsBehind(reads, stream, batch)),
    (a, b) => a.item.time - b.item.time,
  );
  while (found.length < query.limit && scanned < MOST_SCANNED) {
    const { value: next, done } = await merged.next();
    if (done || next === undefined) break;
    const { stream, item } = next;
    skipped.push({ stream, from: stream.position });
    takeItem(next);
    scanned += 1;
    if (item.event === null || !matches(item.event)) continue;
    found.push(item.event);
    skipped = [];
  }
  const gap = start.hasGap || streams.some(({ hasGap }) => hasGap);
  // Where possible, the cursor of a page is that of its last item, so that it is valid with other filters too.
  const isFar = skipped.length >= MOST_SKIPPED;
  if (!isFar) for (const { stream, from } of skipped.toReversed()) stream.position = from;
  const isSame = start.cursor !== null && found.length === 0 && !gap && !isFar;
  const cursor = isSame ? (start.cursor ?? '') : writeCursor(endOf(streams, start.floor));
  return { events: found.reverse(), cursor, gap };
}

/** How many entries of one stream to read: more each time when few of them match. */
function batchSize(count: number, streams: number): number {
  return Math.max(10, Math.ceil((2 * count) / Math.max(1, streams)));
}

function endOf(streams: readonly FeedStream[], floor: number): FeedPosition {
  const read = new Map<string, string>();
  let highest = Number.POSITIVE_INFINITY;
  for (const { key, position, items } of streams) {
    if ('id' in position) read.set(key, position.id);
    // Nothing of this stream has been taken.
    else if (items.length > 0) highest = floor;
  }
  return positionOf(read, floor, highest);
}

/** Lists the newest matching items, and returns the position after all items. */
async function listNewest(
  reads: FeedReads,
  all: readonly WatchedStream[],
  query: TaskEventQuery,
): Promise<TaskEventPage> {
  const ids = all.flatMap((watched) => {
    const id = lastIdOf(watched);
    return id === null ? [] : [[queueKeyOf(watched.queue.name), id] as const];
  });
  const cursor = writeCursor(positionOf(new Map(ids), 0, Number.POSITIVE_INFINITY));
  const matches = matcherOf(query);
  const events: TaskEvent[] = [];
  // Among items of the same time, the one of the last queue is the newest.
  const merged = mergeSortedAsync(
    all.toReversed().map((watched) => itemsFromEnd(reads, watched, batchSize(query.limit, all.length))),
    (a, b) => b.time - a.time,
  );
  for (let scanned = 0; events.length < query.limit && scanned < MOST_SCANNED; scanned += 1) {
    const { value: item, done } = await merged.next();
    if (done || item === undefined) break;
    if (item.event !== null && matches(item.event)) events.push(item.event);
  }
  return { events, cursor, gap: false };
}

/** Whether an item passes the filters of a query. */
function matcherOf({ states, workers, tasks }: TaskEventQuery): (event: TaskEvent) => boolean {
  const has = (values: readonly string[], value: string | null | undefined): boolean =>
    values.length === 0 || (value != null && values.includes(value));
  return ({ state, worker, task }) => has(states, state) && has(workers, worker) && has(tasks, task);
}
