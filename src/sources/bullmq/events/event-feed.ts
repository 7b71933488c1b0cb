/**
 * The activity feed of all queues: their event streams merged by time, read from any place that Redis still
 * holds. What is asked for most, the latest, is read once a second at most and held for all who ask.
 */
import type { TaskEvent } from '../../../model.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import type { SourceStatus, TaskEventPage, TaskEventQuery } from '../../../source.ts';
import type { QueueAccess } from '../queue-access.ts';
import { type FeedPlace, markOf, placeOf, readCursor, SLACK_MS, writeCursor } from './feed-cursor.ts';
import { matcherOf } from './feed-filter.ts';
import { createLane, fillLanes, type Lane } from './feed-lane.ts';
import { createFeedTails, type FeedTails, FRESH_MS } from './feed-tails.ts';
import { listNewest } from './newest-events.ts';
import { BEGINNING } from './stream-entry.ts';
import type { StreamPlace } from './stream-reads.ts';
import type { HeldItem, StreamTail } from './stream-tail.ts';

/** The feed. */
export interface EventFeed {
  /** Answers `listEvents`. Looks at no more than 20,000 entries for one answer. */
  list(query: TaskEventQuery, options: ReadOptions): Promise<TaskEventPage>;
  status(): SourceStatus;
}

/** Entries that are looked at for one answer. */
const MOST_SCANNED = 20_000;
/** Entries that match no filter: so many behind a cursor are not looked at again. */
const MOST_SKIPPED = 1_000;

/** What to go on from, in every stream. */
interface Start {
  readonly lanes: readonly Lane[];
  readonly floor: number;
  readonly hasGap: boolean;
  /** The cursor that was asked with. */
  readonly cursor: string | null;
}

export function createEventFeed(access: QueueAccess, now: () => number = Date.now): EventFeed {
  const tails = createFeedTails(access, now);
  return {
    async list(query, options) {
      const queues = await access.queues(options);
      const all = await tails.look(queues, options);
      if (query.since === null) return listNewest(tails, all, query, MOST_SCANNED, options);
      return listBehind(tails, startOf(all, query.since, now()), query, options);
    },
    status() {
      const status = access.status();
      if (!status.ok) return status;
      const at = now();
      // What is overdue is looked at as soon as somebody asks.
      const due = tails.dueAt > at ? Math.min(tails.dueAt, at + FRESH_MS) : at + FRESH_MS;
      return { ...status, revision: tails.revision, changesAt: new Date(due) };
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
    const lanes = tails.map((tail) => createLane(tail, placeAt(tail, time)));
    return { lanes, floor: Math.max(0, floorOf(time) - SLACK_MS), hasGap, cursor: null };
  }
  const place = readCursor(since.cursor);
  if (place === null) {
    const lanes = tails.map((tail) => createLane(tail, { floor: 0 }));
    return { lanes, floor: 0, hasGap: true, cursor: null };
  }
  const { floor, read } = place;
  const lanes = tails.map((tail) => {
    const id = read.get(markOf(tail.queue.name));
    return createLane(tail, id === undefined ? { floor } : { id });
  });
  const marks = new Set(lanes.map(({ mark }) => mark));
  // Of a queue that is not there any more, what it had to tell is gone.
  const hasGap = [...read.keys()].some((mark) => !marks.has(mark));
  return { lanes, floor, hasGap, cursor: since.cursor };
}

/**
 * A moment by our clock is that of an answer, which showed what had been found by then; what was in Redis
 * before this source looked is placed by the clock of Redis, less the time that an answer may be old.
 */
function placeAt(tail: StreamTail, time: number): StreamPlace {
  const { items, base } = tail;
  const index = items.findIndex((item) => isAfter(item, time));
  const before = index < 0 ? items.at(-1)?.id : (items[index - 1]?.id ?? (index === 0 ? base : null));
  if (before === undefined || before === null) return { floor: floorOf(time) };
  // What has come since may say that it is older, but for a stream that nobody had looked at.
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

/** The oldest matching items behind the start, newest first. */
async function listBehind(
  tails: FeedTails,
  start: Start,
  query: TaskEventQuery,
  options: ReadOptions,
): Promise<TaskEventPage> {
  const { lanes } = start;
  const matches = matcherOf(query);
  const found: TaskEvent[] = [];
  /** Steps behind the last item that matched. */
  let skipped: { readonly lane: Lane; readonly from: StreamPlace }[] = [];
  let scanned = 0;
  while (found.length < query.limit && scanned < MOST_SCANNED) {
    await fillLanes(tails, lanes, batchFor(query.limit + scanned, lanes.length), options);
    const lane = firstLane(lanes);
    const item = lane?.items[lane.index];
    if (lane === undefined || item === undefined) break;
    skipped.push({ lane, from: lane.place });
    lane.index += 1;
    lane.place = { id: item.id };
    scanned += 1;
    if (item.event === null || !matches(item.event)) continue;
    found.push(item.event);
    skipped = [];
  }
  const gap = start.hasGap || lanes.some(({ hasGap }) => hasGap);
  // Short of the bound, a place is that of an item: it holds for any other filter, too.
  const isFar = skipped.length >= MOST_SKIPPED;
  if (!isFar) for (const { lane, from } of skipped.toReversed()) lane.place = from;
  const isSame = start.cursor !== null && found.length === 0 && !gap && !isFar;
  const cursor = isSame ? (start.cursor ?? '') : writeCursor(placeOfLanes(lanes, start.floor));
  return { events: found.reverse(), cursor, gap };
}

/** Entries to read of one stream when so many have been looked at or are asked for: ever more where few match. */
function batchFor(count: number, lanes: number): number {
  return Math.max(10, Math.ceil((2 * count) / Math.max(1, lanes)));
}

/** The lane whose item comes first: by time, then by the name of the queue. */
function firstLane(lanes: readonly Lane[]): Lane | undefined {
  let first: Lane | undefined;
  let earliest = Number.POSITIVE_INFINITY;
  for (const lane of lanes) {
    const item = lane.items[lane.index];
    if (item === undefined || item.time >= earliest) continue;
    first = lane;
    earliest = item.time;
  }
  return first;
}

function placeOfLanes(lanes: readonly Lane[], floor: number): FeedPlace {
  const read = new Map<string, string>();
  let highest = Number.POSITIVE_INFINITY;
  for (const { mark, place, items } of lanes) {
    if ('id' in place) read.set(mark, place.id);
    // All that it has is still to be read.
    else if (items.length > 0) highest = floor;
  }
  return placeOf(read, floor, highest);
}
