/** Takes items that other instances, or earlier processes, have heard into the ring of the feed. */
import { append, type FeedItem, type FeedRing, itemAt, oldestIn } from './feed-ring.ts';

/** An item with its number and the time at which it arrived at the instance that heard it. */
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

/** What arrives from others so late is listed as new, so that readers who follow the feed see it. */
const LATE_MS = 10_000;
/** A name of an instance, which becomes a part of cursors. */
const INSTANCE = /^[\w-]{1,32}$/;

/**
 * Adds items without secrets. What is newer than the newest item, or hardly older, comes at the end; what happened
 * longer before is put where it belongs, in one pass.
 *
 * @param items in any order; those that are held or were dropped before are left out
 * @param offset by how many milliseconds the clock of the database is ahead of ours
 * @returns whether any was added
 */
export function absorbItems(
  ring: FeedRing,
  instance: string,
  items: readonly HeardItem[],
  offset: number,
): boolean {
  // Our own items are held, or were dropped.
  if (instance === ring.instance || !INSTANCE.test(instance)) return false;
  const given = new Map<number, PlacedItem>();
  for (const { number, item, arrivedAt } of items) {
    if (!Number.isSafeInteger(number) || number < 1 || !Number.isFinite(arrivedAt)) continue;
    given.set(number, { item, arrivedAt: arrivedAt - offset, instance, number, isRedacted: true, delay: 0 });
  }
  deleteHeld(ring, instance, given);
  const added = [...given.values()].sort((a, b) => a.number - b.number);
  const newestAt = ring.size === 0 ? Number.NEGATIVE_INFINITY : arrivalAt(ring, ring.newest);
  const old = added.filter(({ arrivedAt }) => arrivedAt < newestAt - LATE_MS);
  const isAdded = old.length > 0 && insert(ring, old);
  for (const fresh of added) {
    if (fresh.arrivedAt < newestAt - LATE_MS) continue;
    const arrivedAt = Math.max(
      fresh.arrivedAt,
      ring.size === 0 ? fresh.arrivedAt : arrivalAt(ring, ring.newest),
    );
    append(ring, fresh.item, arrivedAt, instance, fresh.number, true, arrivedAt - fresh.arrivedAt);
    ring.newestForeign = ring.newest;
  }
  return isAdded || old.length < added.length;
}

/** Takes out the items of an instance that are held. Each second some come in: a set of those held would be garbage. */
function deleteHeld(ring: FeedRing, instance: string, items: Map<number, PlacedItem>): void {
  if (ring.newestForeign === 0) return;
  for (let sequence = oldestIn(ring); sequence <= ring.newest && items.size > 0; sequence++) {
    const at = sequence % ring.capacity;
    if (ring.instances[at] === instance) items.delete(ring.numbers[at] as number);
  }
}

function arrivalAt(ring: FeedRing, sequence: number): number {
  return ring.arrivals[sequence % ring.capacity] as number;
}

/** Puts items where they belong by their arrival. @returns whether there was room for any */
function insert(ring: FeedRing, items: readonly PlacedItem[]): boolean {
  const held = readAll(ring);
  const all = [...held, ...items].sort((a, b) => a.arrivedAt - b.arrivedAt);
  const kept = all.slice(-ring.capacity);
  const lost = all[all.length - kept.length - 1];
  if (lost !== undefined && (!ring.hasDropped || lost.arrivedAt > ring.droppedAt)) {
    ring.droppedInstance = lost.instance;
    ring.droppedNumber = lost.number;
    ring.droppedAt = lost.arrivedAt - lost.delay;
    ring.hasDropped = true;
  }
  if (kept.length === held.length && kept.every((item, at) => item === held[at])) return false;
  ring.newest -= held.length;
  ring.size = 0;
  for (const { item, arrivedAt, instance, number, isRedacted, delay } of kept) {
    append(ring, item, arrivedAt, instance, number, isRedacted, delay);
    if (instance !== ring.instance) ring.newestForeign = ring.newest;
  }
  return true;
}

function readAll(ring: FeedRing): PlacedItem[] {
  const all: PlacedItem[] = [];
  for (let sequence = oldestIn(ring); sequence <= ring.newest; sequence++) {
    const at = sequence % ring.capacity;
    all.push({
      item: itemAt(ring, sequence),
      arrivedAt: arrivalAt(ring, sequence),
      instance: ring.instances[at] as string,
      number: ring.numbers[at] as number,
      isRedacted: ring.redacted[at] === true,
      delay: ring.delays[at] as number,
    });
  }
  return all;
}
