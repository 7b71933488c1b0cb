/** Adds items that other instances or earlier processes have received to the ring of the feed. */
import { mergeSorted } from '../../merge-sorted.ts';
import { type Steps, sortInSteps } from '../../scheduler.ts';
import {
  append,
  createFeedRing,
  type FeedItem,
  type FeedRing,
  isHeld,
  itemAt,
  oldestIn,
  replaceRing,
} from './feed-ring.ts';

/** An item with its number and the time at which it arrived at the instance that received it. */
export interface HeardItem {
  readonly number: number;
  readonly item: FeedItem;
  /** Milliseconds since 1970, by the clock of the database. */
  readonly arrivedAt: number;
}

/** An item that is to be placed. */
interface PlacedItem {
  readonly item: FeedItem;
  readonly arrivedAt: number;
  readonly instance: string;
  readonly number: number;
  readonly isRedacted: boolean;
  readonly delay: number;
}

/** Items of others that are at most this late are listed as new, so that readers who follow the feed see them. */
const LATE_MS = 10_000;
/** A name of an instance, which becomes a part of cursors. */
const INSTANCE = /^[\w-]{1,32}$/;
/** Items that are handled between two pauses. */
const AT_ONCE = 256;
/** Items that are added at the end without a pause: a copy of the ring would cost those who follow more each second. */
const ADDED_AT_ONCE = 2_048;
/** Items of the ring that are examined between two pauses. */
const SCANNED_AT_ONCE = 4_096;

/**
 * Adds items without secrets. Items newer than the newest one, or only slightly older, are appended; older ones are
 * inserted where they belong. Readers see all of them or none.
 *
 * @param heard by the instance that received them, in any order; known and dropped items are left out
 * @param offset by how many milliseconds the clock of the database is ahead of ours
 * @returns whether any was added
 */
export function* absorbItems(
  ring: FeedRing,
  heard: ReadonlyMap<string, readonly HeardItem[]>,
  offset: number,
): Steps<boolean> {
  const given = yield* arrange(ring, heard, offset);
  for (;;) {
    const { version } = ring;
    const added = yield* withoutHeld(ring, given);
    if (added.length === 0 || ring.isCleared) return false;
    const { newest } = ring;
    const since = ring.size === 0 ? Number.NEGATIVE_INFINITY : arrivalAt(ring, newest) - LATE_MS;
    const [old, fresh] = [
      added.filter(({ arrivedAt }) => arrivedAt < since),
      added.filter(({ arrivedAt }) => arrivedAt >= since),
    ];
    const next = old.length === 0 && fresh.length <= ADDED_AT_ONCE ? null : yield* rebuild(ring, old, fresh);
    // Another call has added items meanwhile, perhaps the same ones.
    if (ring.version !== version) continue;
    ring.version++;
    if (next === null) {
      for (const item of fresh) add(ring, item);
      return true;
    }
    for (let sequence = newest + 1; sequence <= ring.newest; sequence++) add(next.ring, read(ring, sequence));
    replaceRing(ring, next.ring);
    return next.isMore;
  }
}

/** All items by their arrival; those of one instance stay in the order of their numbers. */
function* arrange(
  { instance: own }: FeedRing,
  heard: ReadonlyMap<string, readonly HeardItem[]>,
  offset: number,
): Steps<PlacedItem[]> {
  const all: PlacedItem[] = [];
  for (const [instance, items] of heard) {
    // Our own items are in the ring, or were dropped.
    if (instance === own || !INSTANCE.test(instance)) continue;
    const given = new Map<number, HeardItem>();
    for (const [at, one] of items.entries()) {
      const { number, arrivedAt } = one;
      if (Number.isSafeInteger(number) && number >= 1 && Number.isFinite(arrivedAt)) given.set(number, one);
      if (at % AT_ONCE === AT_ONCE - 1) yield;
    }
    let last = Number.NEGATIVE_INFINITY;
    for (const { item, number, arrivedAt } of yield* sort([...given.values()], byNumber)) {
      // The difference between the clocks is estimated again from time to time.
      last = Math.max(last, arrivedAt - offset);
      if (all.push({ item, arrivedAt: last, instance, number, isRedacted: true, delay: 0 }) % AT_ONCE === 0)
        yield;
    }
  }
  return yield* sort(all, byArrival);
}

/** Most lists are in order. */
function* sort<Item>(items: Item[], compare: (a: Item, b: Item) => number): Steps<Item[]> {
  const isSorted = items.every((item, at) => at === 0 || compare(items[at - 1] as Item, item) <= 0);
  return isSorted ? items : yield* sortInSteps(items, compare);
}

function byNumber(a: HeardItem, b: HeardItem): number {
  return a.number - b.number;
}

function byArrival(a: PlacedItem, b: PlacedItem): number {
  return a.arrivedAt - b.arrivedAt;
}

/** Leaves out known items. Some arrive each second: a set of the known ones would be garbage. */
function* withoutHeld(ring: FeedRing, items: readonly PlacedItem[]): Steps<readonly PlacedItem[]> {
  if (ring.newestForeign === 0) return items;
  const missing = new Map<string, Set<number>>();
  for (const { instance, number } of items) {
    const numbers = missing.get(instance);
    if (numbers === undefined) missing.set(instance, new Set([number]));
    else numbers.add(number);
  }
  for (let sequence = oldestIn(ring); sequence <= ring.newest; sequence++) {
    const at = sequence % ring.capacity;
    missing.get(ring.instances[at] as string)?.delete(ring.numbers[at] as number);
    if (sequence % SCANNED_AT_ONCE === 0) yield;
  }
  return items.filter(({ instance, number }) => missing.get(instance)?.has(number) === true);
}

/**
 * Makes a ring of the present items and others.
 *
 * @param old items that are inserted by arrival, if there is room
 * @param fresh items that are appended
 * @returns the ring, and whether it has more items than before
 */
function* rebuild(
  ring: FeedRing,
  old: readonly PlacedItem[],
  fresh: readonly PlacedItem[],
): Steps<{ readonly ring: FeedRing; readonly isMore: boolean }> {
  const { newest } = ring;
  const held = yield* readAll(ring);
  const next = createFeedRing(ring.capacity, ring.instance, ring.droppedAt);
  next.droppedInstance = ring.droppedInstance;
  next.droppedNumber = ring.droppedNumber;
  next.hasDropped = ring.hasDropped;
  next.newest = newest - held.length;
  const others = new Set(old);
  let excess = held.length + old.length - ring.capacity;
  let done = 0;
  for (const item of mergeSorted([held, old], byArrival)) {
    if (excess-- > 0) {
      noteLost(next, item);
      others.delete(item);
    } else add(next, item);
    if (++done % AT_ONCE === 0) yield;
  }
  for (const item of fresh) {
    add(next, item);
    if (++done % AT_ONCE === 0) yield;
  }
  return { ring: next, isMore: others.size > 0 || fresh.length > 0 };
}

/** Adds an item at the end; if it arrived before the present last one, with a delay. */
function add(ring: FeedRing, placed: PlacedItem): void {
  const { item, instance, number, isRedacted } = placed;
  const arrivedAt = Math.max(
    placed.arrivedAt,
    ring.size === 0 ? placed.arrivedAt : arrivalAt(ring, ring.newest),
  );
  append(ring, item, arrivedAt, instance, number, isRedacted, placed.delay + arrivedAt - placed.arrivedAt);
  if (instance !== ring.instance) ring.newestForeign = ring.newest;
}

/** There is no room for an item before the present ones. */
function noteLost(ring: FeedRing, { arrivedAt, delay, instance, number }: PlacedItem): void {
  if (ring.hasDropped && arrivedAt <= ring.droppedAt) return;
  ring.droppedInstance = instance;
  ring.droppedNumber = number;
  ring.droppedAt = arrivedAt - delay;
  ring.hasDropped = true;
}

function arrivalAt(ring: FeedRing, sequence: number): number {
  return ring.arrivals[sequence % ring.capacity] as number;
}

/** The present items that are not dropped meanwhile. */
function* readAll(ring: FeedRing): Steps<PlacedItem[]> {
  const { newest } = ring;
  const all: PlacedItem[] = [];
  for (let sequence = oldestIn(ring); sequence <= newest; sequence++) {
    if (isHeld(ring, sequence)) all.push(read(ring, sequence));
    if (sequence % AT_ONCE === 0) yield;
  }
  return all;
}

function read(ring: FeedRing, sequence: number): PlacedItem {
  const at = sequence % ring.capacity;
  return {
    item: itemAt(ring, sequence),
    arrivedAt: arrivalAt(ring, sequence),
    instance: ring.instances[at] as string,
    number: ring.numbers[at] as number,
    isRedacted: ring.redacted[at] === true,
    delay: ring.delays[at] as number,
  };
}
