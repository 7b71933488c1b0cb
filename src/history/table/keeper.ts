import type { TaskIndex } from '../index/task-index.ts';
import type { Retention } from '../retention.ts';
import { createArrivals } from './arrivals.ts';
import { BYTES_PER_TASK, type Records } from './records.ts';

/** Most tasks dropped for their age or bytes at once, so that no message waits for a sweep. */
const MAX_EVICTED = 5_000;

/** Keeps the tasks within the bounds of their retention. */
export interface Keeper {
  /** Estimate of what the tasks take. Feed and workers are few, and bounded by their number. */
  bytes(): number;
  /** Notes that a task has changed. */
  heardOf(slot: number): void;
  /** Whether a task whose last change was at that moment would stay. The indexes must have caught up. */
  wouldKeep(time: number): boolean;
  /** Whether a task has become too old. */
  isOverdue(): boolean;
  /** Drops what is too much. The indexes must have caught up. @returns how many tasks */
  evict(): number;
  /** Drops everything. */
  clear(): void;
}

/**
 * @param beside bytes of what is held beside the tasks, at their expense
 * @param clock milliseconds
 * @param dropped called before a task goes
 */
export function createKeeper(
  records: Records,
  index: () => TaskIndex,
  beside: () => number,
  retention: Retention,
  clock: () => number,
  dropped: (slot: number) => void,
): Keeper {
  const arrivals = createArrivals();
  /** Those that are known from their queue alone: no time says how old they are. */
  const undated = createArrivals();

  function bytes(): number {
    const { names, workers, queues, states } = records;
    const labels = names.bytes + workers.bytes + queues.bytes + states.bytes;
    return records.slots.size * BYTES_PER_TASK + records.textBytes + records.values.bytes + labels + beside();
  }

  const isOverdue = (): boolean => arrivals.oldestAt() < clock() - retention.maxAgeMs;

  /** By its last change, or else by when it was found. */
  function oldest(): number {
    return undated.oldestAt() < index().all.firstKey() ? undated.oldest() : index().all.first();
  }

  /** The task to let go of next; −1 when all may stay. */
  function surplus(left: number): number {
    if (records.slots.size > retention.maxTasks) return oldest();
    if (left === 0 || records.slots.size === 0) return -1;
    if (isOverdue()) return arrivals.oldest();
    return bytes() > retention.maxBytes ? oldest() : -1;
  }

  function drop(slot: number): void {
    dropped(slot);
    arrivals.remove(slot);
    undated.remove(slot);
    index().drop(slot);
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
      return !isFull || time >= Math.min(undated.oldestAt(), index().all.firstKey());
    },
    isOverdue,
    evict() {
      let count = 0;
      for (let slot = surplus(MAX_EVICTED); slot !== -1; slot = surplus(Math.max(0, MAX_EVICTED - count))) {
        drop(slot);
        count++;
      }
      return count;
    },
    clear() {
      while (records.slots.size > 0) drop(index().all.first());
    },
  };
}
