/** Tasks that have changed since their indexes were last updated. */
import type { Records } from '../table/records.ts';

/** How many changed tasks may wait for their indexes. */
const MAX_CHANGED = 4096;

/** The name and queue that a changed task has now, as interned strings; the columns have what is indexed. */
export interface Pending {
  name: number;
  queue: number;
}

/** The changed tasks, each once. */
export interface ChangedSlots {
  /** Notes that a task has changed. @returns its present name and queue, to be changed there */
  touch(slot: number): Pending;
  isFull(): boolean;
  /** Passes on each task, in the order in which they first changed, and forgets them all. */
  drain(update: (slot: number, pending: Pending) => void): void;
}

/** @param records `waiting` holds the position of each changed task in this list, plus one */
export function createChangedSlots(records: Records): ChangedSlots {
  const slots = new Uint32Array(MAX_CHANGED);
  // Reused, since there is one for every message. It grows up to `MAX_CHANGED`.
  const pendings: Pending[] = [];
  let size = 0;

  return {
    touch(slot) {
      const at = records.waiting[slot] as number;
      if (at !== 0) return pendings[at - 1] as Pending;
      if (size === pendings.length) pendings.push({ name: 0, queue: 0 });
      const pending = pendings[size] as Pending;
      slots[size] = slot;
      records.waiting[slot] = ++size;
      pending.name = records.name[slot] as number;
      pending.queue = records.queue[slot] as number;
      return pending;
    },
    isFull: () => size === MAX_CHANGED,
    drain(update) {
      for (let at = 0; at < size; at++) {
        const slot = slots[at] as number;
        update(slot, pendings[at] as Pending);
        records.waiting[slot] = 0;
      }
      size = 0;
    },
  };
}
