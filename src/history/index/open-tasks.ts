/** Tasks that have not ended, in the order of their last message. */
import { isDone, TASK_STATES } from '../../model.ts';
import type { OpenTask } from '../history.ts';
import { createArrivals } from '../table/arrivals.ts';
import { isMissing, type Records } from '../table/records.ts';
import { createOrderedSlots } from './ordered-slots.ts';
import { createSlotKeys } from './task-orders.ts';

/** The open tasks, and every task that has changed since the indexes were updated. */
export type OpenTasks = ReturnType<typeof createOpenTasks>;

/** @returns an empty list */
export function createOpenTasks(records: Records) {
  const order = createHeardOrder();
  const missed = new Map<number, number>();
  const endStates = new Set<number | undefined>(
    TASK_STATES.filter(isDone).map((state) => records.states.intern(state)),
  );
  const pending = records.states.find('PENDING');

  function read(slot: number): OpenTask {
    const worker = records.worker[slot] as number;
    const timestamp = records.timestamp[slot] as number;
    return {
      id: records.ids[slot] as string,
      state: records.states.text(records.state[slot] as number),
      worker: worker === 0 ? null : records.workers.text(worker),
      timestamp: Number.isNaN(timestamp) ? null : timestamp,
      heardAt: order.at(slot),
      expires: records.extras.get(slot)?.expires ?? null,
    };
  }

  /** Whether a task has ended, seen or unseen. */
  function isSettled(slot: number): boolean {
    const state = records.state[slot];
    return endStates.has(state) || (state !== pending && isMissing(records, slot));
  }

  return {
    /** A message has changed a task, or reported its end. @param at milliseconds */
    heardOf: order.touch,
    /** A message mentions a task without changing it: an open one moves to the end. @param at milliseconds */
    lookedAt(slot: number, at: number): void {
      if (order.has(slot)) order.touch(slot, at);
    },
    /** A task was absorbed, and its indexes have been updated. @param at when its last message arrived, milliseconds */
    absorbed(slot: number, at: number): void {
      if (isSettled(slot)) order.remove(slot);
      else order.place(slot, at);
    },
    /** The indexes of a task have been updated: one that has ended, seen or unseen, is taken out. */
    settle(slot: number): void {
      if (isSettled(slot)) order.remove(slot);
    },
    remove(slot: number): void {
      order.remove(slot);
      missed.delete(slot);
    },
    /** It was noticed that a task is missing. @param at milliseconds */
    missed: (slot: number, at: number): void => void missed.set(slot, at),
    /** When it was noticed that a task is missing; `null`: unknown. */
    missedAt: (slot: number): number | null => missed.get(slot) ?? null,
    /** The task whose last message is oldest comes first. The indexes must be up to date. */
    list(limit: number): OpenTask[] {
      const found: OpenTask[] = [];
      for (const slot of order.walk()) {
        if (found.length >= limit) break;
        found.push(read(slot));
      }
      return found;
    },
    /** One of them; `null` for any other task. The indexes must have caught up. */
    find: (slot: number): OpenTask | null => (order.has(slot) ? read(slot) : null),
  };
}

/** The order. Times in milliseconds. */
export type HeardOrder = ReturnType<typeof createHeardOrder>;

/** @returns an empty order: 16 bytes a row, about 30 for one that was placed */
export function createHeardOrder() {
  const heard = createArrivals();
  const placed = createOrderedSlots((a, b) => a - b);
  const times = createSlotKeys();

  function displace(slot: number): void {
    if (placed.size === 0 || !times.has(slot)) return;
    placed.remove(times.get(slot), slot);
    times.delete(slot);
  }

  function* walk(): Generator<number> {
    let at = heard.oldest();
    for (const slot of placed.walk('asc', null)) {
      for (; at !== -1 && heard.at(at) <= times.get(slot); at = heard.next(at)) yield at;
      yield slot;
    }
    for (; at !== -1; at = heard.next(at)) yield at;
  }

  return {
    /** Puts a row at the end. */
    touch(slot: number, at: number): void {
      displace(slot);
      heard.touch(slot, at);
    },
    /** Places a row by its time. A row listed with a later time stays where it is. */
    place(slot: number, at: number): void {
      if (heard.has(slot) || (times.has(slot) && times.get(slot) >= at)) return;
      displace(slot);
      placed.insert(at, slot);
      times.set(slot, at);
    },
    remove(slot: number): void {
      displace(slot);
      heard.remove(slot);
    },
    has: (slot: number): boolean => heard.has(slot) || times.has(slot),
    /** When the last message of a listed row arrived. */
    at: (slot: number): number => (heard.has(slot) ? heard.at(slot) : times.get(slot)),
    /** The row whose last message is oldest; −1 when there is none. */
    oldest: (): number => (placed.firstKey() < heard.oldestAt() ? placed.first() : heard.oldest()),
    /** When that message arrived; `Infinity` when there is none. */
    oldestAt: (): number => Math.min(placed.firstKey(), heard.oldestAt()),
    /** All rows, the oldest first. Valid until the next change. */
    walk,
  };
}
