/** The items of the feed: the newest ones, in a ring of columns. */
import type { TaskEvent } from '../../model.ts';
import { type Steps, sortInSteps } from '../../scheduler.ts';

/** What happened. Time in milliseconds, by the sender's clock. */
export interface FeedItem {
  readonly type: string;
  readonly task: string | null;
  readonly taskId: string | null;
  readonly state: string | null;
  readonly worker: string | null;
  readonly time: number;
  readonly detail: string | null;
}

/**
 * Items by their sequence number; the first one has 1. Columns, since an object per item would be garbage to
 * collect at every event.
 */
export interface FeedRing {
  readonly capacity: number;
  /** This instance, as it is named in origins. */
  readonly instance: string;
  readonly types: string[];
  readonly tasks: (string | null)[];
  readonly taskIds: (string | null)[];
  readonly states: (string | null)[];
  readonly workers: (string | null)[];
  readonly details: (string | null)[];
  /** Whether the secrets were removed from the detail. */
  readonly redacted: boolean[];
  readonly times: number[];
  /** By our clock; never less than that of the item before. */
  readonly arrivals: number[];
  /** How many milliseconds earlier an item had arrived elsewhere. */
  readonly delays: number[];
  /** The instances that received the items, and the numbers of the items there. */
  readonly instances: string[];
  readonly numbers: number[];
  /** Number of the newest item that this instance has received. */
  heard: number;
  /** Sequence number of the newest item that another instance has received; 0: there is none. */
  newestForeign: number;
  /** The item before the oldest one in the ring; at first, item 0 of this instance. */
  droppedInstance: string;
  droppedNumber: number;
  /** When it arrived. */
  droppedAt: number;
  /** Whether any item was dropped. */
  hasDropped: boolean;
  /** Sequence number of the newest item. */
  newest: number;
  size: number;
  /** By instance: number of the newest of its items that was added. */
  readonly absorbed: Map<string, number>;
  /** The feed was closed. */
  isCleared: boolean;
}

/**
 * @param capacity most items held
 * @param startedAt milliseconds
 */
export function createFeedRing(capacity: number, instance: string, startedAt: number): FeedRing {
  return {
    capacity,
    instance,
    types: [],
    tasks: [],
    taskIds: [],
    states: [],
    workers: [],
    details: [],
    redacted: [],
    times: [],
    arrivals: [],
    delays: [],
    instances: [],
    numbers: [],
    heard: 0,
    newestForeign: 0,
    droppedInstance: instance,
    droppedNumber: 0,
    droppedAt: startedAt,
    hasDropped: false,
    newest: 0,
    size: 0,
    absorbed: new Map(),
    isCleared: false,
  };
}

/**
 * Adds an item that this instance has received, in place of the oldest when the ring is full.
 *
 * @param arrivedAt milliseconds, our clock
 */
export function addItem(ring: FeedRing, item: FeedItem, arrivedAt: number): void {
  ring.heard++;
  append(ring, item, arrivedAt, ring.instance, ring.heard, false);
}

/** Adds an item at the end. @param isRedacted whether its detail has no secrets */
function append(
  ring: FeedRing,
  item: FeedItem,
  arrivedAt: number,
  instance: string,
  number: number,
  isRedacted: boolean,
  delay = 0,
): void {
  if (ring.size < ring.capacity) ring.size++;
  else noteDropped(ring);
  ring.newest++;
  const at = ring.newest % ring.capacity;
  ring.types[at] = item.type;
  ring.tasks[at] = item.task;
  ring.taskIds[at] = item.taskId;
  ring.states[at] = item.state;
  ring.workers[at] = item.worker;
  ring.times[at] = item.time;
  ring.details[at] = item.detail;
  ring.redacted[at] = isRedacted;
  ring.arrivals[at] = arrivedAt;
  ring.delays[at] = delay;
  ring.instances[at] = instance;
  ring.numbers[at] = number;
}

/** When the item in a column arrived at the instance that received it, by our clock. */
export function arrivedFirst({ arrivals, delays }: FeedRing, at: number): number {
  return (arrivals[at] as number) - (delays[at] as number);
}

/** Remembers the oldest item, which is replaced next. */
function noteDropped(ring: FeedRing): void {
  const at = oldestIn(ring) % ring.capacity;
  ring.droppedInstance = ring.instances[at] as string;
  ring.droppedNumber = ring.numbers[at] as number;
  ring.droppedAt = arrivedFirst(ring, at);
  ring.hasDropped = true;
}

/** Takes over the items of another ring of the same instance. */
function replaceRing(ring: FeedRing, other: FeedRing): void {
  Object.assign(ring, other, { heard: ring.heard });
}

/** Drops all items; sequence numbers continue. */
export function clearRing(ring: FeedRing): void {
  ring.isCleared = true;
  const { types, tasks, taskIds, states, workers, details, redacted, instances } = ring;
  for (const column of [types, tasks, taskIds, states, workers, details, redacted, instances]) {
    column.length = 0;
  }
  ring.size = 0;
}

/** Sequence number of the oldest item held; one after the newest when there is none. */
export function oldestIn({ newest, size }: FeedRing): number {
  return newest - size + 1;
}

/** The oldest item that arrived at a moment (milliseconds) or later; one after the newest when there is none. */
export function firstSince(ring: FeedRing, moment: number): number {
  let low = oldestIn(ring);
  let high = ring.newest + 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ring.arrivals[middle % ring.capacity] as number) < moment) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Whether an item is in the ring. */
export function isHeld(ring: FeedRing, sequence: number): boolean {
  return sequence <= ring.newest && sequence >= oldestIn(ring);
}

/** Whether an item has this origin. */
function isFrom(ring: FeedRing, sequence: number, instance: string, number: number): boolean {
  const at = sequence % ring.capacity;
  return ring.numbers[at] === number && ring.instances[at] === instance;
}

/** The sequence number of an item that this instance has received; `null`: it was dropped. */
export function sequenceOfHeard(ring: FeedRing, number: number): number | null {
  // After the last item of another instance, numbers and sequence numbers increase together.
  const sequence = ring.newest - (ring.heard - number);
  if (sequence > ring.newestForeign) return isHeld(ring, sequence) ? sequence : null;
  return findBack(ring, Math.min(ring.newestForeign, ring.newest), ring.instance, number);
}

/** Searches for an item from a sequence number back. @param until the search ends with items that arrived before */
export function findBack(
  ring: FeedRing,
  from: number,
  instance: string,
  number: number,
  until = Number.NEGATIVE_INFINITY,
): number | null {
  for (let sequence = from; sequence >= oldestIn(ring); sequence--) {
    if ((ring.arrivals[sequence % ring.capacity] as number) < until) return null;
    if (isFrom(ring, sequence, instance, number)) return sequence;
  }
  return null;
}

/** @returns an item as it was added, or as it was redacted since */
export function itemAt(ring: FeedRing, sequence: number): FeedItem {
  const at = sequence % ring.capacity;
  return {
    type: ring.types[at] as string,
    task: ring.tasks[at] ?? null,
    taskId: ring.taskIds[at] ?? null,
    state: ring.states[at] ?? null,
    worker: ring.workers[at] ?? null,
    time: ring.times[at] as number,
    detail: ring.details[at] ?? null,
  };
}

/** @param task name of the item's task */
export function eventAt(ring: FeedRing, sequence: number, id: string, task: string | null): TaskEvent {
  const at = sequence % ring.capacity;
  return {
    id,
    type: ring.types[at] as string,
    task,
    taskId: ring.taskIds[at] ?? null,
    state: ring.states[at] ?? null,
    worker: ring.workers[at] ?? null,
    timestamp: new Date(ring.times[at] as number),
    arrived: new Date(ring.arrivals[at] as number),
    detail: ring.details[at] ?? null,
  };
}

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
  return isFirst ? yield* putBefore(ring, target) : 0;
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

/** Puts the items of another ring before the present ones. @returns as {@link absorbItems} */
function* putBefore(ring: FeedRing, before: FeedRing): Steps<number | null> {
  // More are heard meanwhile. Where items were dropped, older ones have no room.
  for (let sequence = oldestIn(ring); sequence <= ring.newest && !ring.hasDropped; sequence++) {
    add(before, read(ring, sequence));
    if (sequence % AT_ONCE === AT_ONCE - 1) yield;
  }
  if (ring.isCleared) return null;
  const { newest } = ring;
  if (!ring.hasDropped) replaceRing(ring, before);
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
