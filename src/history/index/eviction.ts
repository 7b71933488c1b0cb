import type { Retention } from '../retention.ts';
import { createArrivals } from '../table/arrivals.ts';
import { BYTES_PER_TASK, type Records } from '../table/records.ts';
import type { TaskIndex } from './task-index.ts';

/** Most tasks dropped for their age or bytes at once, so that no message waits long. */
const MAX_EVICTED = 1_000;

/** Drops tasks so that the rest stays within the bounds of the retention. */
export interface Eviction {
  /** Estimate of the memory of the tasks. Feed and workers are bounded by their number. */
  bytes(): number;
  /** Notes that a task has changed. */
  heardOf(slot: number): void;
  /** Whether a task whose last change was at that moment would stay. The indexes must have caught up. */
  wouldKeep(time: number): boolean;
  /** Whether a task has become too old. */
  isOverdue(): boolean;
  /**
   * Drops the tasks that exceed a bound. Those that are in no index yet do not count.
   *
   * @returns how many tasks
   */
  evict(): number;
  /** Drops everything. */
  clear(): void;
}

/** What is bounded, and by what. */
interface EvictionContext {
  readonly records: Records;
  readonly index: TaskIndex;
  readonly retention: Retention;
  /** Milliseconds. */
  clock(): number;
  /** Bytes of what is held beside the tasks and counts towards their bound. */
  beside(): number;
  /** Updates the indexes of a task that has changed since. @returns whether it has changed */
  packHeld(slot: number): boolean;
  /** Called before a task is dropped. */
  dropped(slot: number): void;
}

/** @param context is changed by what is dropped */
export function createEviction(context: EvictionContext): Eviction {
  const { records, index, retention, clock } = context;
  const arrivals = createArrivals();
  /** Tasks known from their queue alone, whose age no message tells. */
  const undated = createArrivals();
  const bytes = (): number => bytesOf(records) + context.beside();
  const isOverdue = (): boolean => arrivals.oldestAt() < clock() - retention.maxAgeMs;

  /** By its last change, or by when it was first found. */
  function oldest(): number {
    return undated.oldestAt() < index.all.firstKey() ? undated.oldest() : index.all.first();
  }

  /** The task to drop next; −1 when all may stay. */
  function surplus(left: number): number {
    if (index.all.size > retention.maxTasks) return oldest();
    if (left === 0 || index.all.size === 0) return -1;
    if (isOverdue()) return arrivals.oldest();
    return bytes() > retention.maxBytes ? oldest() : -1;
  }

  function drop(slot: number): void {
    context.dropped(slot);
    arrivals.remove(slot);
    undated.remove(slot);
    index.drop(slot);
  }

  return {
    bytes,
    heardOf(slot) {
      arrivals.touch(slot, clock());
      if (!Number.isNaN(records.timestamp[slot] as number)) undated.remove(slot);
      else if (!undated.has(slot)) undated.touch(slot, clock());
    },
    wouldKeep(time) {
      if (time < clock() - retention.maxAgeMs) return false;
      const isFull = records.slots.size >= retention.maxTasks || bytes() >= retention.maxBytes;
      return !isFull || time >= Math.min(undated.oldestAt(), index.all.firstKey());
    },
    isOverdue,
    evict() {
      let count = 0;
      for (;;) {
        const slot = surplus(Math.max(0, MAX_EVICTED - count));
        if (slot === -1) return count;
        // One that has changed is not the oldest any more.
        if (context.packHeld(slot)) continue;
        drop(slot);
        count++;
      }
    },
    clear() {
      while (records.slots.size > 0) drop(index.all.first());
    },
  };
}

function bytesOf({ names, workers, queues, states, slots, textBytes, values }: Records): number {
  const strings = names.bytes + workers.bytes + queues.bytes + states.bytes;
  return slots.size * BYTES_PER_TASK + textBytes + values.bytes + strings;
}
