/**
 * Orders that live traffic does not need (by received, started, finished, runtime, name, state). Each is built in steps
 * when it is first requested, kept up to date from then on, and dropped when it has not been requested for a while.
 */
import { type Steps, scheduler } from '../../scheduler.ts';
import type { Awaitable, TaskSort } from '../../source.ts';
import type { TaskLife } from '../merge/life.ts';
import { readLife } from '../table/record-table.ts';
import type { Records } from '../table/records.ts';
import { NO_KEY } from './slot-blocks.ts';
import { createSlotKeys, type SlotKeys } from './slot-keys.ts';
import { orderByNumber, orderByText, type TaskOrder } from './task-orders.ts';

/** Tasks added between two pauses. */
const ADDED_AT_ONCE = 64;
/** How long an order is kept after its last request. */
const UNUSED_MS = 15 * 60_000;

/** Sorts with an index of their own. */
export type ExtraSort = Exclude<TaskSort, 'timestamp'>;

interface SortIndex {
  readonly sort: ExtraSort;
  readonly order: TaskOrder;
  /** The key under which each slot is listed. */
  readonly keys: SlotKeys;
  usedAt: number;
  /** Resolves when it is complete; `null` once it is. */
  building: Promise<void> | null;
}

/** The orders that have been requested. */
export interface SortIndexes {
  /** An order; `null` when it is not complete. */
  get(sort: ExtraSort): TaskOrder | null;
  /** Builds an order, once for all who wait. Resolves when it is complete. */
  build(sort: ExtraSort): Awaitable<void>;
  /** Takes a slot out before it changes. */
  remove(slot: number): void;
  insert(slot: number, life: TaskLife): void;
}

/** @param now milliseconds */
export function createSortIndexes(records: Records, now: () => number): SortIndexes {
  const indexes = new Map<ExtraSort, SortIndex>();
  return {
    get(sort) {
      const index = indexes.get(sort);
      if (index === undefined) return null;
      index.usedAt = now();
      return index.building === null ? index.order : null;
    },
    build(sort) {
      const known = indexes.get(sort);
      if (known !== undefined) return known.building ?? undefined;
      const index: SortIndex = {
        ...{ sort, order: orderOf(records, sort), keys: createSlotKeys() },
        ...{ usedAt: now(), building: null },
      };
      indexes.set(sort, index);
      const building = scheduler.run('sort index', addAll(records, index));
      if (building instanceof Promise) {
        index.building = building.then(() => {
          index.building = null;
        });
      }
      return index.building ?? undefined;
    },
    remove(slot) {
      if (indexes.size === 0) return;
      for (const [sort, index] of indexes) {
        if (now() - index.usedAt > UNUSED_MS && index.building === null) {
          indexes.delete(sort);
          continue;
        }
        if (!index.keys.has(slot)) continue;
        index.order.remove(index.keys.get(slot), slot);
        index.keys.delete(slot);
      }
    },
    insert(slot, life) {
      if (indexes.size === 0) return;
      for (const index of indexes.values()) add(records, index, slot, life);
    },
  };
}

/** Adds the tasks in memory. Those that change meanwhile are added by {@link SortIndexes.insert}. */
function* addAll(records: Records, index: SortIndex): Steps<void> {
  let count = 0;
  for (const slot of records.slots.values()) {
    if (records.indexed[slot] === 1 && !index.keys.has(slot))
      add(records, index, slot, readLife(records, slot));
    count += 1;
    if (count % ADDED_AT_ONCE === 0) yield;
  }
}

function orderOf(records: Records, sort: ExtraSort): TaskOrder {
  if (sort === 'name') return orderByText(records.names, records);
  return sort === 'state' ? orderByText(records.states, records) : orderByNumber(records);
}

function add(records: Records, { sort, order, keys }: SortIndex, slot: number, life: TaskLife): void {
  const key = sort === 'name' || sort === 'state' ? (records[sort][slot] as number) : (life[sort] ?? NO_KEY);
  keys.set(slot, key);
  order.insert(key, slot);
}
