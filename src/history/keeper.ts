import { createArrivals } from './arrivals.ts';
import { BYTES_PER_TASK, type Records } from './records.ts';
import type { Retention } from './retention.ts';
import type { TaskIndex } from './task-index.ts';

/** Most tasks dropped for their age or bytes at once, so that no message waits for a sweep. */
const MAX_EVICTED = 5_000;

/** Keeps the tasks within the bounds of their retention. */
export interface Keeper {
  /** Estimate of what the tasks take. Feed and workers are few, and bounded by their number. */
  bytes(): number;
  /** Notes that a task has changed. */
  heardOf(slot: number): void;
  /** Whether a task has become too old. */
  isOverdue(): boolean;
  /** Drops what is too much. The indexes must have caught up. @returns how many tasks */
  evict(): number;
  /** Drops everything. */
  clear(): void;
}

/**
 * @param clock milliseconds
 * @param dropped called before a task goes
 */
export function createKeeper(
  records: Records,
  index: () => TaskIndex,
  retention: Retention,
  clock: () => number,
  dropped: (slot: number) => void,
): Keeper {
  const arrivals = createArrivals();

  function bytes(): number {
    const { names, workers, queues, states } = records;
    const labels = names.bytes + workers.bytes + queues.bytes + states.bytes;
    return records.slots.size * BYTES_PER_TASK + records.textBytes + records.values.bytes + labels;
  }

  const isOverdue = (): boolean => arrivals.oldestAt() < clock() - retention.maxAgeMs;

  /** The task to let go of next; −1 when all may stay. */
  function surplus(left: number): number {
    if (records.slots.size > retention.maxTasks) return index().all.first();
    if (left === 0 || records.slots.size === 0) return -1;
    if (isOverdue()) return arrivals.oldest();
    return bytes() > retention.maxBytes ? index().all.first() : -1;
  }

  function drop(slot: number): void {
    dropped(slot);
    arrivals.remove(slot);
    index().drop(slot);
  }

  return {
    bytes,
    heardOf: (slot) => arrivals.touch(slot, clock()),
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
