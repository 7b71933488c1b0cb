/** Adds items that other instances or earlier processes have received to the ring of the feed. */
import { type Steps, sortInSteps } from '../../scheduler.ts';
import {
  append,
  createFeedRing,
  type FeedItem,
  type FeedRing,
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

/** An item that is to be placed. Its time is by our clock. */
interface PlacedItem extends HeardItem {
  readonly instance: string;
  readonly isRedacted: boolean;
  readonly delay: number;
}

/** A name of an instance, which becomes a part of cursors. */
const INSTANCE = /^[\w-]{1,32}$/;
/** Items that are handled between two pauses. */
const AT_ONCE = 256;

/**
 * Adds items without secrets, in the order of their arrival: the first ones, which an earlier process has left, before
 * what this one has received since, all others behind the newest item, so that readers who follow the feed see them.
 *
 * @param heard by the instance that received them, those of one instance in order; known items are left out
 * @param offset by how many milliseconds the clock of the database is ahead of ours
 * @returns by how much the sequence numbers of present items have grown; `null`: nothing was added
 */
export function* absorbItems(
  ring: FeedRing,
  heard: ReadonlyMap<string, readonly HeardItem[]>,
  offset: number,
): Steps<number | null> {
  const items = yield* arrange(ring, heard, offset);
  if (items.length === 0 || ring.isCleared) return null;
  const isFirst = ring.absorbed.size === 0 && ring.size > 0;
  const target = isFirst ? createFeedRing(ring.capacity, ring.instance, ring.droppedAt) : ring;
  for (const [at, item] of items.entries()) {
    if (item.number > (ring.absorbed.get(item.instance) ?? 0)) add(target, item);
    if (at % AT_ONCE === AT_ONCE - 1) yield;
  }
  return isFirst ? putBefore(ring, target) : 0;
}

/** The unknown items by their arrival; those of one instance stay in the order of their numbers. */
function* arrange(
  { instance: own, absorbed }: FeedRing,
  heard: ReadonlyMap<string, readonly HeardItem[]>,
  offset: number,
): Steps<PlacedItem[]> {
  const all: PlacedItem[] = [];
  for (const [instance, items] of heard) {
    // Our own items are in the ring, or were dropped.
    if (instance === own || !INSTANCE.test(instance)) continue;
    let number = absorbed.get(instance) ?? 0;
    let last = Number.NEGATIVE_INFINITY;
    for (const one of items) {
      if (!Number.isSafeInteger(one.number) || one.number <= number || !Number.isFinite(one.arrivedAt))
        continue;
      number = one.number;
      // The difference between the clocks is estimated again from time to time.
      last = Math.max(last, one.arrivedAt - offset);
      all.push({ ...one, arrivedAt: last, instance, isRedacted: true, delay: 0 });
      if (all.length % AT_ONCE === 0) yield;
    }
  }
  const isSorted = all.every((item, at) => at === 0 || byArrival(all[at - 1] as PlacedItem, item) <= 0);
  return isSorted ? all : yield* sortInSteps(all, byArrival);
}

function byArrival(a: PlacedItem, b: PlacedItem): number {
  return a.arrivedAt - b.arrivedAt;
}

/** Adds an item at the end; if it arrived before the present last one, with a delay. */
function add(ring: FeedRing, placed: PlacedItem): void {
  const { item, instance, number, isRedacted } = placed;
  const newest = ring.size === 0 ? placed.arrivedAt : (ring.arrivals[ring.newest % ring.capacity] as number);
  const arrivedAt = Math.max(placed.arrivedAt, newest);
  append(ring, item, arrivedAt, instance, number, isRedacted, placed.delay + arrivedAt - placed.arrivedAt);
  if (instance === ring.instance) return;
  ring.newestForeign = ring.newest;
  ring.absorbed.set(instance, number);
}

/** Puts the items of another ring before the present ones. @returns by how much sequence numbers have grown */
function putBefore(ring: FeedRing, before: FeedRing): number {
  const { newest } = ring;
  // Where items were dropped, older ones have no room.
  if (!ring.hasDropped) {
    for (let sequence = oldestIn(ring); sequence <= newest; sequence++) add(before, read(ring, sequence));
    replaceRing(ring, before);
  }
  for (const [instance, number] of before.absorbed) ring.absorbed.set(instance, number);
  return ring.newest - newest;
}

function read(ring: FeedRing, sequence: number): PlacedItem {
  const at = sequence % ring.capacity;
  return {
    item: itemAt(ring, sequence),
    arrivedAt: ring.arrivals[at] as number,
    instance: ring.instances[at] as string,
    number: ring.numbers[at] as number,
    isRedacted: ring.redacted[at] === true,
    delay: ring.delays[at] as number,
  };
}
