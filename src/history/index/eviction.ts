import type { Retention } from '../retention.ts';
import { BYTES_PER_TASK, type Records } from '../table/records.ts';
import { createHeardOrder, type HeardOrder } from './open-tasks.ts';
import type { TaskIndex } from './task-index.ts';

/** Most tasks dropped for their age or bytes at once, so that no message waits long. */
const MAX_EVICTED = 1_000;
/** By how many tasks and bytes the bounds may be exceeded while the oldest tasks wait to be written. */
const MOST_WAITING = { tasks: 20_000, bytes: 64 * 1024 * 1024 };

/** What is bounded, and by what. */
interface EvictionContext {
  readonly records: Records;
  readonly index: TaskIndex;
  readonly retention: Retention;
  /** Milliseconds. */
  clock(): number;
  /** Bytes of other data that counts towards the bound of the tasks. */
  beside(): number;
  /** Updates the indexes of a task that has changed since. @returns whether it has changed */
  packHeld(slot: number): boolean;
  /** Whether a task waits to be written. */
  isUnwritten(slot: number): boolean;
  /** Called before a task is dropped because of a bound. */
  dropping(slot: number): void;
  /** Called before any task is dropped. */
  dropped(slot: number): void;
}

interface EvictionState extends EvictionContext {
  readonly arrivals: HeardOrder;
  /** Tasks known only from their queue, whose age no message reports. */
  readonly undated: HeardOrder;
  droppedThrough: number;
}

/**
 * Drops tasks so that the rest stays within the bounds of the retention.
 *
 * @param context is changed by what is dropped
 */
export function createEviction(context: EvictionContext) {
  const { records, index, retention, clock } = context;
  const [arrivals, undated] = [createHeardOrder(), createHeardOrder()];
  const state: EvictionState = {
    ...context,
    arrivals,
    undated,
    droppedThrough: Number.NEGATIVE_INFINITY,
  };
  return {
    /** Estimate of the memory of the tasks. Feed and workers are bounded by their number. */
    bytes: (): number => bytesOf(state),
    /** Notes that a task has changed. */
    heardOf(slot: number): void {
      arrivals.touch(slot, clock());
      if (!Number.isNaN(records.timestamp[slot] as number)) undated.remove(slot);
      else if (!undated.has(slot)) undated.touch(slot, clock());
    },
    /** Notes that a task was absorbed. @param at when its last message arrived */
    absorbed(slot: number, at: number): void {
      arrivals.place(slot, at);
      if (!Number.isNaN(records.timestamp[slot] as number)) undated.remove(slot);
      else undated.place(slot, at);
    },
    /**
     * Whether there is room for a task that is to be absorbed; if not, it counts as dropped.
     *
     * @param timestamp of its last change; called only where it matters
     * @param heardAt when its last message arrived
     */
    takesIn: (timestamp: () => number | null, heardAt: number): boolean => takesIn(state, timestamp, heardAt),
    /** Whether a task whose last change was at that moment would stay. The indexes must have caught up. */
    wouldKeep(time: number): boolean {
      if (time < clock() - retention.maxAgeMs) return false;
      return !isFull(state) || time >= oldestTime(state);
    },
    /** Whether a task has become too old. */
    isOverdue: (): boolean => isOverdue(state),
    /**
     * Drops the tasks that exceed a bound. Those that are in no index yet do not count; those that wait to be written
     * stay for a while.
     *
     * @returns how many tasks
     */
    evict(): number {
      let count = 0;
      for (;;) {
        const slot = surplus(state, Math.max(0, MAX_EVICTED - count));
        if (slot === -1) return count;
        // A task that has changed is no longer the oldest.
        if (context.packHeld(slot)) continue;
        if (context.isUnwritten(slot) && mayExceed(state)) return count;
        context.dropping(slot);
        drop(state, slot);
        count++;
      }
    },
    /** The latest change among the tasks that were dropped or not taken in; `-Infinity`: none was. */
    droppedThrough: (): number => state.droppedThrough,
    /** Drops a task as if it had never been in memory. The indexes must be up to date. */
    forget: (slot: number): void => drop(state, slot),
    /** From now on, the tasks that were dropped so far do not count as such. */
    restart(): void {
      state.droppedThrough = Number.NEGATIVE_INFINITY;
    },
    /** Drops everything. */
    clear(): void {
      while (records.slots.size > 0) drop(state, index.all.first());
    },
  };
}

function takesIn(state: EvictionState, timestamp: () => number | null, heardAt: number): boolean {
  const isOld = heardAt < state.clock() - state.retention.maxAgeMs;
  if (!isOld && !isFull(state)) return true;
  const time = timestamp();
  if (!isOld && (time ?? heardAt) > oldestTime(state)) return true;
  noteDropped(state, time);
  return false;
}

function isFull(state: EvictionState): boolean {
  const { records, retention } = state;
  return records.slots.size >= retention.maxTasks || bytesOf(state) >= retention.maxBytes;
}

function mayExceed(state: EvictionState): boolean {
  const { index, retention } = state;
  return (
    index.all.size <= retention.maxTasks + MOST_WAITING.tasks &&
    bytesOf(state) <= retention.maxBytes + MOST_WAITING.bytes
  );
}

function isOverdue({ arrivals, clock, retention }: EvictionState): boolean {
  return arrivals.oldestAt() < clock() - retention.maxAgeMs;
}

/** When the oldest task last changed, or was first found. */
function oldestTime({ undated, index }: EvictionState): number {
  return Math.min(undated.oldestAt(), index.all.firstKey());
}

function oldest({ undated, index }: EvictionState): number {
  return undated.oldestAt() < index.all.firstKey() ? undated.oldest() : index.all.first();
}

/** The task to drop next; −1 when all may stay. */
function surplus(state: EvictionState, left: number): number {
  const { index, retention } = state;
  if (index.all.size > retention.maxTasks) return oldest(state);
  if (left === 0 || index.all.size === 0) return -1;
  if (isOverdue(state)) return state.arrivals.oldest();
  return bytesOf(state) > retention.maxBytes ? oldest(state) : -1;
}

function drop(state: EvictionState, slot: number): void {
  state.dropped(slot);
  noteDropped(state, state.records.timestamp[slot] as number);
  state.arrivals.remove(slot);
  state.undated.remove(slot);
  state.index.drop(slot);
}

/** A task without a time of its last change comes last in every list by that time. */
function noteDropped(state: EvictionState, timestamp: number | null): void {
  if (timestamp !== null && timestamp > state.droppedThrough) state.droppedThrough = timestamp;
}

function bytesOf({ records, beside }: EvictionState): number {
  const { names, workers, queues, states, causes, slots, textBytes, values } = records;
  const strings = names.bytes + workers.bytes + queues.bytes + states.bytes + causes.bytes();
  return slots.size * BYTES_PER_TASK + textBytes + values.bytes + strings + beside();
}
