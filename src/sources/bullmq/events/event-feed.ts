/**
 * The activity feed of all queues: their event streams, merged by time, from any position that Redis still has.
 * The newest items, which most requests are for, are read at most once a second and shared.
 */
import { mergeSortedAsync } from '../../../merge-sorted.ts';
import type { TaskEvent } from '../../../model.ts';
import type { TaskEventPage, TaskEventQuery, TaskEventSource } from '../../../source.ts';
import type { BullMQRedis, QueueAccess } from '../access/queue-access.ts';
import type { FeedItem } from './feed-items.ts';
import {
  createFeedStream,
  type FeedPosition,
  type FeedStream,
  itemsBehind,
  positionOf,
  queueKeyOf,
  readCursor,
  SLACK_MS,
  takeItem,
  writeCursor,
} from './feed-stream.ts';
import {
  type FeedTails,
  FRESH_MS,
  type HeldItem,
  indexBehind,
  lastIdOf,
  type StreamTail,
} from './feed-tails.ts';
import { BEGINNING, type StreamPosition } from './stream-entry.ts';

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

/** @param tails of the queues of `redis` */
export function createEventSource(name: string, redis: BullMQRedis, tails: FeedTails): TaskEventSource {
  return {
    name,
    status() {
      const status = redis.status();
      if (!status.ok) return status;
      const at = Date.now();
      // An overdue update begins with the next request.
      const due = tails.dueAt > at ? Math.min(tails.dueAt, at + FRESH_MS) : at + FRESH_MS;
      return { ...status, revision: tails.revision, changesAt: new Date(due) };
    },
    async listEvents(query, context) {
      const access = redis.within(context);
      const all = await tails.update(access, await access.queues());
      if (query.since === null) return listNewest(access, tails, all, query);
      return listBehind(access, tails, startOf(all, query.since, Date.now()), query);
    },
  };
}

function startOf(
  tails: readonly StreamTail[],
  since: NonNullable<TaskEventQuery['since']>,
  now: number,
): Start {
  if ('time' in since) {
    const time = Math.min(since.time.getTime(), now);
    const hasGap = tails.some(({ lostAt }) => lostAt >= time);
    const streams = tails.map((tail) => createFeedStream(tail, positionAt(tail, time)));
    return { streams, floor: Math.max(0, floorOf(time) - SLACK_MS), hasGap, cursor: null };
  }
  const position = readCursor(since.cursor);
  if (position === null) {
    const streams = tails.map((tail) => createFeedStream(tail, { floor: 0 }));
    return { streams, floor: 0, hasGap: true, cursor: null };
  }
  const { floor, read } = position;
  const streams = tails.map((tail) => {
    const id = read.get(queueKeyOf(tail.queue.name));
    return createFeedStream(tail, id === undefined ? { floor } : { id });
  });
  const keys = new Set(streams.map(({ key }) => key));
  // The entries of a queue that has been removed are gone.
  const hasGap = [...read.keys()].some((key) => !keys.has(key));
  return { streams, floor, hasGap, cursor: since.cursor };
}

/**
 * The position of a moment by our clock. It is usually the moment of an answer, which showed what had been found by
 * then. Entries that were in Redis before the first read are placed by the clock of Redis, less the maximum age of an
 * answer.
 */
function positionAt(tail: StreamTail, time: number): StreamPosition {
  const { items, base } = tail;
  const index = items.findIndex((item) => isAfter(item, time));
  const before = index < 0 ? items.at(-1)?.id : (items[index - 1]?.id ?? (index === 0 ? base : null));
  if (before === undefined || before === null) return { floor: floorOf(time) };
  // New entries may have an older time, unless the stream had never been read before.
  return before === BEGINNING && items[0]?.absentAt === Number.NEGATIVE_INFINITY
    ? { floor: floorOf(time) }
    : { id: before };
}

function isAfter({ foundAt, absentAt, time: at }: HeldItem, time: number): boolean {
  if (time > foundAt) return false;
  return time - absentAt <= FRESH_MS || at >= time - FRESH_MS;
}

function floorOf(time: number): number {
  return Math.max(0, Math.ceil(time) - FRESH_MS - 1);
}

/** Lists the oldest matching items behind the start, newest first. */
async function listBehind(
  access: QueueAccess,
  tails: FeedTails,
  start: Start,
  query: TaskEventQuery,
): Promise<TaskEventPage> {
  const { streams } = start;
  const matches = matcherOf(query);
  const found: TaskEvent[] = [];
  /** Positions before the items that were taken since the last one that matched. */
  let skipped: { readonly stream: FeedStream; readonly from: StreamPosition }[] = [];
  let scanned = 0;
  const batch = (): number => batchSize(query.limit + scanned, streams.length);
  const merged = mergeSortedAsync(
    streams.map((stream) => itemsBehind(access, tails, stream, batch)),
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
  access: QueueAccess,
  tails: FeedTails,
  all: readonly StreamTail[],
  query: TaskEventQuery,
): Promise<TaskEventPage> {
  const cursor = writeCursor(positionOf(lastIds(all), 0, Number.POSITIVE_INFINITY));
  const matches = matcherOf(query);
  const events: TaskEvent[] = [];
  // Among items of the same time, the one of the last queue is the newest.
  const merged = mergeSortedAsync(
    all.toReversed().map((tail) => itemsFromEnd(access, tails, tail)),
    (a, b) => b.time - a.time,
  );
  for (let scanned = 0; events.length < query.limit && scanned < MOST_SCANNED; scanned += 1) {
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
  access: QueueAccess,
  tails: FeedTails,
  tail: StreamTail,
): AsyncGenerator<FeedItem, void, undefined> {
  for (let items: readonly FeedItem[] = tail.items; items.length > 0; ) {
    yield* items.toReversed();
    const oldest = items[0]?.id ?? BEGINNING;
    // Another read may have added some meanwhile.
    if (itemsBefore(tail, oldest).length === 0 && tail.base !== BEGINNING) await tails.extend(access, tail);
    items = itemsBefore(tail, oldest);
  }
}

/** Items in memory that are older than this one. If the tail has dropped it meanwhile, there are none. */
function itemsBefore(tail: StreamTail, id: string): readonly FeedItem[] {
  return tail.items.slice(0, Math.max(0, (indexBehind(tail, { id }) ?? 0) - 1));
}

/** Whether an item passes the filters of a query. */
function matcherOf({ states, workers, tasks }: TaskEventQuery): (event: TaskEvent) => boolean {
  const has = (values: readonly string[], value: string | null | undefined): boolean =>
    values.length === 0 || (value != null && values.includes(value));
  return ({ state, worker, task }) => has(states, state) && has(workers, worker) && has(tasks, task);
}
