/** The items of the feed: the newest ones, in a ring of columns. */
import type { TaskEvent } from '../../model.ts';

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
  readonly types: string[];
  readonly tasks: (string | null)[];
  readonly taskIds: (string | null)[];
  readonly states: (string | null)[];
  readonly workers: (string | null)[];
  readonly details: (string | null)[];
  /** Whether the secrets were removed from the detail. */
  readonly redacted: boolean[];
  readonly times: number[];
  readonly arrivals: number[];
  /** Sequence number of the newest item. */
  newest: number;
  size: number;
}

/** @param capacity most items held */
export function createFeedRing(capacity: number): FeedRing {
  return {
    capacity,
    types: [],
    tasks: [],
    taskIds: [],
    states: [],
    workers: [],
    details: [],
    redacted: [],
    times: [],
    arrivals: [],
    newest: 0,
    size: 0,
  };
}

/** Adds an item, in place of the oldest when the ring is full. @param arrivedAt milliseconds, our clock */
export function addItem(ring: FeedRing, item: FeedItem, arrivedAt: number): void {
  ring.newest++;
  if (ring.size < ring.capacity) ring.size++;
  const at = ring.newest % ring.capacity;
  ring.types[at] = item.type;
  ring.tasks[at] = item.task;
  ring.taskIds[at] = item.taskId;
  ring.states[at] = item.state;
  ring.workers[at] = item.worker;
  ring.times[at] = item.time;
  ring.details[at] = item.detail;
  ring.redacted[at] = false;
  ring.arrivals[at] = arrivedAt;
}

/** Drops all items; sequence numbers go on. */
export function clearRing(ring: FeedRing): void {
  const { types, tasks, taskIds, states, workers, details, redacted } = ring;
  for (const column of [types, tasks, taskIds, states, workers, details, redacted]) column.length = 0;
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
