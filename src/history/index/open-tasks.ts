/** Tasks that have not ended, in the order in which they were last heard of. */
import { isDone, TASK_STATES } from '../../model.ts';
import type { OpenTask } from '../history.ts';
import { createArrivals } from '../table/arrivals.ts';
import type { Records } from '../table/records.ts';

/** The open tasks, and every task that has changed since the indexes were updated. */
export interface OpenTasks {
  /** A message has changed a task, or reported its end. @param at milliseconds */
  heardOf(slot: number, at: number): void;
  /** A message mentions a task without changing it: an open one moves to the end. @param at milliseconds */
  lookedAt(slot: number, at: number): void;
  /** The indexes of a task have been updated: one that has ended is taken out. */
  settle(slot: number): void;
  remove(slot: number): void;
  /** Longest unheard of first. The indexes must have caught up. */
  list(limit: number): OpenTask[];
}

/** @returns an empty list */
export function createOpenTasks(records: Records): OpenTasks {
  const order = createArrivals();
  const endStates = new Set<number | undefined>(
    TASK_STATES.filter(isDone).map((state) => records.states.intern(state)),
  );

  return {
    heardOf: order.touch,
    lookedAt(slot, at) {
      if (order.has(slot)) order.touch(slot, at);
    },
    settle(slot) {
      if (endStates.has(records.state[slot])) order.remove(slot);
    },
    remove: order.remove,
    list(limit) {
      const found: OpenTask[] = [];
      for (let slot = order.oldest(); slot !== -1 && found.length < limit; slot = order.next(slot)) {
        const worker = records.worker[slot] as number;
        found.push({
          id: records.ids[slot] as string,
          state: records.states.text(records.state[slot] as number),
          worker: worker === 0 ? null : records.workers.text(worker),
          heardAt: order.at(slot),
        });
      }
      return found;
    },
  };
}
