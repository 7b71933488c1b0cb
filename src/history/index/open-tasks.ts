/** Tasks that have not ended, in the order in which they were last heard of. */

import type { OpenTask } from '../history.ts';
import type { Records } from '../table/records.ts';
import { KIND } from '../table/timeline.ts';
import { createArrivals } from './arrivals.ts';

/** The open tasks. One that was told of since the indexes caught up is among them, whatever was told. */
export interface OpenTasks {
  /** A message has changed a task, or told its end. @param at milliseconds */
  heardOf(slot: number, at: number): void;
  /** Something else was told of a task: it moves behind the others if it is open. */
  lookedAt(slot: number, at: number): void;
  /** The indexes have caught up with a task. */
  settle(slot: number): void;
  remove(slot: number): void;
  /** Not heard of for longest first. The indexes must have caught up. */
  list(limit: number): OpenTask[];
}

/** @returns an empty order */
export function createOpenTasks(records: Records): OpenTasks {
  const order = createArrivals();
  const ends = new Set(
    [KIND.SUCCEEDED, KIND.FAILED, KIND.REVOKED, KIND.REJECTED].map((kind) => records.stateOfKind[kind]),
  );

  return {
    heardOf: order.touch,
    lookedAt(slot, at) {
      if (order.has(slot)) order.touch(slot, at);
    },
    settle(slot) {
      if (ends.has(records.state[slot])) order.remove(slot);
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
