/** The activity feed: the newest items, read from any cursor or moment that is still available. */

import { randomBytes } from 'node:crypto';
import type { TaskEvent } from '../../model.ts';
import { type Redactor, redactEvent } from '../../redact.ts';
import type { Steps } from '../../scheduler.ts';
import type { TaskEventPage, TaskEventQuery } from '../../source.ts';
import {
  absorbItems,
  addItem,
  arrivedFirst,
  clearRing,
  createFeedRing,
  eventAt,
  type FeedItem,
  type FeedRing,
  findBack,
  firstSince,
  type HeardItem,
  isHeld,
  itemAt,
  oldestIn,
  sequenceOfHeard,
} from './feed-ring.ts';

/** The feed. */
export type Feed = ReturnType<typeof createFeed>;

/** What a feed depends on. */
export interface FeedContext {
  /** Most items held. */
  readonly maxEvents: number;
  /** Milliseconds. */
  readonly now: () => number;
  /** Milliseconds by which the clock of the database, to which cursors and kept items refer, is ahead of ours. */
  readonly clockOffset: () => number;
  /** Name of a task that had none yet when its item was added. */
  readonly nameOf: (taskId: string) => string | null;
  /** Removes secrets from details when they are first listed; `null`: they stay as they are. */
  readonly redactor: Redactor | null;
  /** Whether nothing has happened before the first item. */
  readonly isFirst: boolean;
  /** Whether everything between two times was received, by this process or another one. */
  readonly isWhole: (from: number, to: number) => boolean;
}

/** Longest redaction between two pauses, in milliseconds. */
const REDACTION_MS = 1;

/** The data from which pages of the feed are made. */
interface FeedState extends PositionContext {
  readonly nameOf: (taskId: string) => string | null;
  readonly redactor: Redactor | null;
  readonly isFirst: boolean;
  /** Sequence number of the last item before the latest gap; −1: no gap. */
  gapAfter: number;
  gapAt: number;
  /** How many gaps there were so far. */
  gaps: number;
}

/** @returns an empty feed */
export function createFeed(context: FeedContext) {
  const { maxEvents, now, clockOffset, nameOf, redactor, isFirst, isWhole } = context;
  const startedAt = now();
  const ring = createFeedRing(maxEvents, randomBytes(6).toString('hex'), startedAt);
  const state: FeedState = {
    ring,
    now,
    clockOffset,
    nameOf,
    redactor,
    isFirst,
    isWholeSince: (time) => time >= startedAt || isWhole(time, startedAt),
    gapAfter: -1,
    gapAt: Number.NEGATIVE_INFINITY,
    gaps: 0,
  };
  return {
    /** Identifies this process in ids and cursors. */
    instance: ring.instance,
    size: (): number => ring.size,
    /** @param arrivedAt milliseconds, our clock @returns its number, which grows by 1 with each item */
    add(item: FeedItem, arrivedAt: number): number {
      addItem(ring, item, arrivedAt);
      return ring.heard;
    },
    /** The items that this instance has received after a number, oldest first, `most` at most, without secrets. */
    readHeard: (after: number, most: number): HeardItem[] => readHeard(state, after, most),
    /** Adds items that other instances have received, without secrets. @returns whether any was new */
    *absorb(heard: ReadonlyMap<string, readonly HeardItem[]>): Steps<boolean> {
      const moved = yield* absorbItems(ring, heard, clockOffset());
      if (state.gapAfter >= 0) state.gapAfter += moved ?? 0;
      return moved !== null;
    },
    /** Notes that items may be missing before the next one. Until that arrives, it is the same gap. */
    markGap(): void {
      if (state.gapAfter < ring.newest) state.gaps++;
      state.gapAfter = ring.newest;
      state.gapAt = now();
    },
    list: (query: TaskEventQuery): Steps<TaskEventPage> =>
      query.since === null ? listNewest(state, query) : listSince(state, query, query.since),
    clear: (): void => clearRing(ring),
  };
}

function readHeard(state: FeedState, after: number, most: number): HeardItem[] {
  const { ring, clockOffset } = state;
  const items: HeardItem[] = [];
  const first = sequenceOfHeard(ring, after + 1) ?? oldestIn(ring);
  const offset = clockOffset();
  for (let sequence = first; sequence <= ring.newest && items.length < most; sequence++) {
    const at = sequence % ring.capacity;
    const number = ring.numbers[at] as number;
    if (ring.instances[at] !== ring.instance || number <= after) continue;
    redactHeld(state, sequence);
    const item = { ...itemAt(ring, sequence), task: taskOf(state, sequence) };
    items.push({ number, item, arrivedAt: (ring.arrivals[at] as number) + offset });
  }
  return items;
}

/**
 * A page that is not full ends where this instance begins: items before that, or dropped since, are missing in it.
 * So a reader that polls without a cursor notices a restart.
 */
function listNewest(state: FeedState, query: TaskEventQuery): Steps<TaskEventPage> {
  const { ring, isFirst, gapAfter } = state;
  const found: number[] = [];
  for (let sequence = ring.newest; sequence >= oldestIn(ring) && found.length < query.limit; sequence--) {
    if (matches(state, sequence, query)) found.push(sequence);
  }
  const isAll = isFirst && !ring.hasDropped;
  const isFull = found.length >= query.limit;
  const last = found.at(-1);
  const isFilled =
    isFull && (last === undefined || state.isWholeSince(ring.arrivals[last % ring.capacity] as number));
  const gap = isFilled ? gapAfter >= (last ?? 0) : !isAll || gapAfter >= 0;
  return pageOf(state, found, ring.newest, gap);
}

/** Continues reading, oldest first: items that do not fit into the page are on the next one. */
function listSince(
  state: FeedState,
  query: TaskEventQuery,
  since: NonNullable<TaskEventQuery['since']>,
): Steps<TaskEventPage> {
  const { ring } = state;
  const { after, gap } = positionOf(state, since);
  const found: number[] = [];
  for (let sequence = after + 1; sequence <= ring.newest && found.length < query.limit; sequence++) {
    if (matches(state, sequence, query)) found.push(sequence);
  }
  const last = found.at(-1) ?? after;
  return pageOf(state, found.reverse(), last, gap);
}

function positionOf(state: FeedState, since: NonNullable<TaskEventQuery['since']>): FeedPosition {
  const { gapAfter, gapAt, gaps } = state;
  if ('cursor' in since) {
    const position = afterCursor(state, since.cursor);
    // Each gap is reported once to a reader.
    return { ...position, gap: position.gap || (gapAfter >= position.after && gaps > position.gaps) };
  }
  const time = since.time.getTime();
  const position = afterTime(state, time);
  return { ...position, gap: position.gap || gapAt >= time };
}

function taskOf({ ring, nameOf }: FeedState, sequence: number): string | null {
  const at = sequence % ring.capacity;
  const id = ring.taskIds[at] ?? null;
  return ring.tasks[at] ?? (id === null ? null : nameOf(id));
}

function matches(state: FeedState, sequence: number, { states, workers, tasks }: TaskEventQuery): boolean {
  const { ring } = state;
  const at = sequence % ring.capacity;
  return (
    isAmong(states, ring.states[at]) &&
    isAmong(workers, ring.workers[at]) &&
    (tasks.length === 0 || isAmong(tasks, taskOf(state, sequence)))
  );
}

function isAmong(values: readonly string[], value: string | null | undefined): boolean {
  return values.length === 0 || (value != null && values.includes(value));
}

/** @param last sequence number where the next page continues */
function* pageOf(
  state: FeedState,
  found: readonly number[],
  last: number,
  gap: boolean,
): Steps<TaskEventPage> {
  // Read at once, since items may be dropped while the work pauses.
  const events = found.map((sequence) =>
    eventAt(state.ring, sequence, idOf(state.ring, sequence), taskOf(state, sequence)),
  );
  const cursor = cursorOf(state, last, state.gaps);
  if (state.redactor !== null) yield* redactAll(state, found, events, state.redactor);
  return { events, cursor, gap };
}

/** Redacts events in place, and in the ring, so that each detail is redacted once. */
function* redactAll(
  state: FeedState,
  found: readonly number[],
  events: TaskEvent[],
  redactor: Redactor,
): Steps<void> {
  const { ring } = state;
  let pauseAt = performance.now() + REDACTION_MS;
  for (const [at, sequence] of found.entries()) {
    const event = events[at] as TaskEvent;
    // Items may be dropped, or move, while the work pauses.
    if (isHeld(ring, sequence) && idOf(ring, sequence) === event.id) {
      redactHeld(state, sequence);
      events[at] = { ...event, detail: ring.details[sequence % ring.capacity] ?? null, redacted: true };
    } else events[at] = redactEvent(event, redactor);
    if (performance.now() < pauseAt) continue;
    yield;
    pauseAt = performance.now() + REDACTION_MS;
  }
}

/** Removes secrets from the detail of an item in the ring, unless that was done before. */
function redactHeld({ ring, redactor }: FeedState, sequence: number): void {
  const at = sequence % ring.capacity;
  if (redactor === null || ring.redacted[at] === true) return;
  const detail = ring.details[at] ?? null;
  ring.details[at] = detail === null ? null : redactor.text(detail, 'detail');
  ring.redacted[at] = true;
}

/** A position before items that another instance may not have known when it issued a cursor, in milliseconds. */
const REWIND_MS = 5_000;
/** Maximum difference between clocks, in milliseconds. */
const CLOCKS_MS = 60_000;
const RADIX = 36;
const CURSOR = /^([\w-]{1,32})\.([\w-]{0,32})\.([0-9a-z]{1,11})\.(-?[0-9a-z]{1,11})(?::([0-9a-z]{1,11}))?$/;

/** Where a reader continues, and whether items before that are missing. */
export interface FeedPosition {
  /** Sequence number of the last item that the reader has. */
  readonly after: number;
  readonly gap: boolean;
  /** How many gaps this instance had noted when it issued the reader's cursor: the reader knows of them. */
  readonly gaps: number;
}

/** The data in which positions are found. */
export interface PositionContext {
  readonly ring: FeedRing;
  /** Milliseconds by which the clock of the database is ahead of ours. */
  readonly clockOffset: () => number;
  /** Milliseconds. */
  readonly now: () => number;
  /** Whether the feed has everything that happened between a time before its start and its start. */
  readonly isWholeSince: (time: number) => boolean;
}

/** The content of a cursor. */
interface Cursor {
  readonly issuer: string;
  readonly instance: string;
  readonly number: number;
  /** By our clock. */
  readonly arrivedAt: number;
  /** Gaps that the issuer had noted. */
  readonly gaps: number;
}

/** @returns the id of an item */
function idOf({ instances, numbers, capacity }: FeedRing, sequence: number): string {
  const at = sequence % capacity;
  return `${instances[at]}.${numbers[at]}`;
}

/**
 * @param sequence of an item in the ring, or of the one before the oldest
 * @param gaps how many gaps this instance has noted
 */
function cursorOf({ ring, clockOffset }: PositionContext, sequence: number, gaps: number): string {
  const at = sequence % ring.capacity;
  const isKnown = isHeld(ring, sequence);
  const instance = isKnown ? (ring.instances[at] as string) : ring.droppedInstance;
  const number = isKnown ? (ring.numbers[at] as number) : ring.droppedNumber;
  const arrivedAt = Math.floor((isKnown ? arrivedFirst(ring, at) : ring.droppedAt) + clockOffset());
  const origin = instance === ring.instance ? '' : instance;
  const cursor = [ring.instance, origin, number.toString(RADIX), arrivedAt.toString(RADIX)].join('.');
  return gaps === 0 ? cursor : `${cursor}:${gaps.toString(RADIX)}`;
}

/** @returns `null` when it is no cursor of a feed */
function readCursor({ clockOffset, now }: PositionContext, text: string): Cursor | null {
  const [, issuer, origin, number, arrival, gaps = '0'] = CURSOR.exec(text) ?? [];
  if (issuer === undefined || number === undefined || arrival === undefined) return null;
  const arrivedAt = Number.parseInt(arrival, RADIX) - clockOffset();
  if (arrivedAt > now() + CLOCKS_MS) return null;
  return {
    issuer,
    instance: origin || issuer,
    number: Number.parseInt(number, RADIX),
    arrivedAt,
    gaps: Number.parseInt(gaps, RADIX),
  };
}

/** Where the reader of a cursor continues; at the oldest item if the position is not found. */
function afterCursor(context: PositionContext, text: string): FeedPosition {
  const { ring, isWholeSince } = context;
  const start = { after: oldestIn(ring) - 1, gap: true, gaps: 0 };
  const cursor = readCursor(context, text);
  if (cursor === null) return start;
  if (cursor.issuer === ring.instance) {
    const sequence = ownSequence(ring, cursor);
    return sequence === null ? start : { after: sequence, gap: false, gaps: cursor.gaps };
  }
  const sequence = foreignSequence(ring, cursor);
  if (sequence !== null) return { after: sequence, gap: !isWholeSince(cursor.arrivedAt), gaps: 0 };
  const position = afterTime(context, cursor.arrivedAt - REWIND_MS);
  return position.gap ? start : position;
}

/** Where a reader continues that has everything that arrived before a time (milliseconds, our clock). */
function afterTime({ ring, isWholeSince }: PositionContext, time: number): FeedPosition {
  const first = firstSince(ring, time);
  const isLost = ring.hasDropped && first === oldestIn(ring);
  return { after: first - 1, gap: isLost || !isWholeSince(time), gaps: 0 };
}

/** The position that a cursor of this instance names; `null`: it was dropped. */
function ownSequence(ring: FeedRing, { instance, number, arrivedAt }: Cursor): number | null {
  const isOwn = instance === ring.instance;
  if (isOwn && number === 0) {
    // Before the first item. Older items of others may have been added since.
    const first = sequenceOfHeard(ring, 1) ?? Number.POSITIVE_INFINITY;
    return ring.hasDropped ? null : Math.min(firstSince(ring, arrivedAt), first) - 1;
  }
  if (instance === ring.droppedInstance && number === ring.droppedNumber) return oldestIn(ring) - 1;
  if (!isOwn) return findBack(ring, ring.newest, instance, number, arrivedAt - CLOCKS_MS);
  return number > ring.heard ? null : sequenceOfHeard(ring, number);
}

/**
 * The position that a cursor of another instance names: after its item, or after the last one before it from the same
 * instance. `null`: there is none, or items of several instances are mixed there, so the reader may lack some of them.
 */
function foreignSequence(ring: FeedRing, { instance, number, arrivedAt }: Cursor): number | null {
  let found: number | null = null;
  for (let sequence = ring.newest; sequence >= oldestIn(ring); sequence--) {
    const at = sequence % ring.capacity;
    if ((ring.arrivals[at] as number) < arrivedAt - REWIND_MS) break;
    const isSame = ring.instances[at] === instance;
    if (found !== null && !isSame) return null;
    if (isSame && (ring.numbers[at] as number) <= number) found ??= sequence;
  }
  return found;
}
