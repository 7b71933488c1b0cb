/**
 * Where readers of the feed continue. A cursor names the instance that issued it, the last item that the reader has
 * (the instance that received it, and its number there), and when that item arrived, by the clock of the database. So
 * other instances, and later processes, find the position, too.
 */
import {
  arrivedFirst,
  type FeedRing,
  findBack,
  firstSince,
  isHeld,
  oldestIn,
  sequenceOfHeard,
} from './feed-ring.ts';

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
export function idOf({ instances, numbers, capacity }: FeedRing, sequence: number): string {
  const at = sequence % capacity;
  return `${instances[at]}.${numbers[at]}`;
}

/**
 * @param sequence of an item in the ring, or of the one before the oldest
 * @param gaps how many gaps this instance has noted
 */
export function cursorOf({ ring, clockOffset }: PositionContext, sequence: number, gaps: number): string {
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
    ...{ issuer, instance: origin || issuer, number: Number.parseInt(number, RADIX) },
    ...{ arrivedAt, gaps: Number.parseInt(gaps, RADIX) },
  };
}

/** Where the reader of a cursor continues; at the oldest item if the position is not found. */
export function afterCursor(context: PositionContext, text: string): FeedPosition {
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
export function afterTime({ ring, isWholeSince }: PositionContext, time: number): FeedPosition {
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
