/** The activity feed of all queues: their event streams, merged by time, from any position that Redis still has. */
import { createHash } from 'node:crypto';
import { readMark, writeMark } from '../../../cursor.ts';
import { mergeSortedAsync } from '../../../merge-sorted.ts';
import type { TaskEvent } from '../../../model.ts';
import type { TaskEventPage, TaskEventQuery, TaskEventSource } from '../../../source.ts';
import type { BullMQRedis, QueueAccess } from '../access/queue-access.ts';
import { createItemMemory, type FeedItem, type ItemMemory, readItems } from './feed-items.ts';
import { createStreamEnds, endAt, FRESH_MS, floorOf, lastIdOf, type WatchedStream } from './stream-ends.ts';
import {
  BEGINNING,
  backwardCommand,
  compareIds,
  entriesOf,
  fitBatch,
  isStreamId,
  readLost,
  readStreams,
  timeOf,
} from './stream-entry.ts';

/** Entries that are looked at for one answer. */
const MOST_SCANNED = 20_000;
/** After this many entries without a match, the cursor moves past them, so that they are not read again. */
const MOST_SKIPPED = 1_000;
/**
 * How far entries of a stream that is not in the cursor may be behind those of others, in milliseconds: streams
 * are read at different moments and, in a cluster, have different clocks.
 */
const SLACK_MS = 60_000;

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
      return listBehind(reads, await startOf(access, all, query.since), query);
    },
  };
}

/** Reads of items for one request. */
interface FeedReads {
  readonly access: QueueAccess;
  readonly memory: ItemMemory;
}

/** A stream that is being read. */
interface FeedStream {
  readonly watched: WatchedStream;
  /** The last entry that was taken; {@link BEGINNING}: none. */
  position: string;
  /** Whether it began at the end. */
  readonly isEnd: boolean;
  /** Whether an item was found behind that. */
  hasItems: boolean;
  /** Whether entries behind the position were removed before they could be read. */
  hasGap: boolean;
}

/** Where a page begins in every stream. */
interface Start {
  readonly streams: readonly FeedStream[];
  /** Milliseconds since 1970 up to which streams have been read that have no position of their own. */
  readonly floor: number;
  readonly hasGap: boolean;
  /** The cursor of the request. */
  readonly cursor: string | null;
}

async function startOf(
  access: QueueAccess,
  all: readonly WatchedStream[],
  since: NonNullable<TaskEventQuery['since']>,
): Promise<Start> {
  if ('time' in since) {
    const time = Math.min(since.time.getTime(), Date.now());
    const hasGap = all.some(({ lostAt }) => lostAt >= time);
    const streams = await streamsAt(access, all, floorOf(time), (watched) => endAt(watched, time));
    return { streams, floor: Math.max(0, floorOf(time) - SLACK_MS), hasGap, cursor: null };
  }
  const cursor = readCursor(since.cursor);
  const { floor, read } = cursor ?? { floor: 0, read: new Map<string, string>() };
  const streams = await streamsAt(access, all, floor, ({ queue }) => read.get(queueKeyOf(queue.name)));
  const keys = new Set(all.map(({ queue }) => queueKeyOf(queue.name)));
  // The entries of a queue that has been removed are gone.
  const hasGap = cursor === null || [...read.keys()].some((key) => !keys.has(key));
  return { streams, floor, hasGap, cursor: cursor === null ? null : since.cursor };
}

/**
 * The streams at their positions.
 *
 * @param floor those that have none were read up to and including this millisecond
 */
async function streamsAt(
  access: QueueAccess,
  all: readonly WatchedStream[],
  floor: number,
  positionOf: (watched: WatchedStream) => string | undefined,
): Promise<readonly FeedStream[]> {
  const ends = all.map((watched) => {
    const last = lastIdOf(watched) ?? BEGINNING;
    return { watched, last, id: positionOf(watched) ?? (timeOf(last) <= floor ? last : null) };
  });
  const others = ends.filter(({ id }) => id === null).map(({ watched }) => watched);
  const before = await access.read(others.map(({ queue }) => backwardCommand(queue, String(floor), 1)));
  const found = new Map(others.map((watched, index) => [watched, entriesOf(before[index])[0]?.id]));
  const places = ends.map(({ watched, last, id }) => {
    const position = id ?? found.get(watched) ?? BEGINNING;
    return { watched, position, isEnd: position === last };
  });
  const isFromBeginning = ({ position, isEnd }: (typeof places)[number]): boolean =>
    position === BEGINNING && !isEnd;
  const lost = await readLost(
    access,
    places.filter(isFromBeginning).map(({ watched: { queue } }) => queue),
  );
  return places.map((place) => ({ ...place, hasItems: false, hasGap: lost.has(place.watched.queue) }));
}

/** Lists the oldest matching items behind the start, newest first. */
async function listBehind(reads: FeedReads, start: Start, query: TaskEventQuery): Promise<TaskEventPage> {
  const { streams } = start;
  const matches = matcherOf(query);
  const found: TaskEvent[] = [];
  /** Positions before the items that were taken since the last one that matched. */
  let skipped: { readonly stream: FeedStream; readonly from: string }[] = [];
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
    stream.position = item.id;
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
  const cursor = isSame ? (start.cursor ?? '') : cursorAt(streams, start.floor);
  return { events: found.reverse(), cursor, gap };
}

/** How many entries of one stream to read: more each time when few of them match. */
function batchSize(count: number, streams: number): number {
  return Math.max(10, Math.ceil((2 * count) / Math.max(1, streams)));
}

/** @param floor up to when all streams have been read in any case */
function cursorAt(streams: readonly FeedStream[], floor: number): string {
  const read = new Map<string, string>();
  let highest = Number.POSITIVE_INFINITY;
  for (const { watched, position, hasItems } of streams) {
    if (position !== BEGINNING) read.set(queueKeyOf(watched.queue.name), position);
    // Nothing of this stream has been taken.
    else if (hasItems) highest = floor;
  }
  const newest = Math.max(...[...read.values()].map(timeOf));
  return writeCursor({
    floor: read.size === 0 ? floor : Math.max(0, Math.min(newest - SLACK_MS, highest)),
    read,
  });
}

/**
 * The items after the stream's position, oldest first.
 *
 * @param batch how many entries to read at a time
 */
async function* itemsBehind(
  { access, memory }: FeedReads,
  stream: FeedStream,
  batch: () => number,
): AsyncGenerator<{ readonly stream: FeedStream; readonly item: FeedItem }, void, undefined> {
  const { watched } = stream;
  const { queue } = watched;
  let { position, isEnd } = stream;
  while (!isEnd) {
    const mark = { id: position, witness: position };
    const [part] = await readStreams(access, [{ queue, mark, count: Math.min(batch(), watched.batch) }]);
    const { entries = [], hasGap = true } = part ?? {};
    isEnd = part?.isEnd ?? true;
    watched.batch = fitBatch(watched.batch, entries);
    const items = await readItems(access, memory, queue, entries);
    if (hasGap && position !== BEGINNING) {
      stream.hasGap = true;
      // The entry at the position was removed. If there are no newer ones, it continues with those that exist now.
      const last = lastIdOf(watched);
      const isBack = last !== null && compareIds(last, position) < 0;
      if (entries.length === 0) stream.position = isBack ? last : BEGINNING;
    }
    for (const item of items) {
      stream.hasItems = true;
      yield { stream, item };
      position = item.id;
    }
  }
}

/** Lists the newest matching items, and returns the position after all items. */
async function listNewest(
  reads: FeedReads,
  all: readonly WatchedStream[],
  query: TaskEventQuery,
): Promise<TaskEventPage> {
  const atEnd = all.map((watched) => {
    const position = lastIdOf(watched) ?? BEGINNING;
    return { watched, position, isEnd: true, hasItems: false, hasGap: false };
  });
  const cursor = cursorAt(atEnd, 0);
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

/** Items of a stream from its last look on, newest first. */
async function* itemsFromEnd(
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

/** Whether an item passes the filters of a query. */
function matcherOf({ states, workers, tasks }: TaskEventQuery): (event: TaskEvent) => boolean {
  const has = (values: readonly string[], value: string | null | undefined): boolean =>
    values.length === 0 || (value != null && values.includes(value));
  return ({ state, worker, task }) => has(states, state) && has(workers, worker) && has(tasks, task);
}

/** A position in all streams. */
interface FeedPosition {
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
function queueKeyOf(queue: string): string {
  return createHash('sha256').update(queue).digest('base64url').slice(0, 9);
}

function writeCursor({ floor, read }: FeedPosition): string {
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
function readCursor(text: string): FeedPosition | null {
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
