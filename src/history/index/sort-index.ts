/**
 * Orders that live traffic does not need (by received, started, finished, runtime, name, state). Each is built
 * in slices when somebody asks for it, kept up to date from then on, and dropped when nobody has asked for
 * a while.
 */
import type { TaskSort } from '../../source.ts';
import type { TaskLife } from '../merge/life.ts';
import { createSlices } from '../slices.ts';
import { readLife } from '../table/record-table.ts';
import type { Records } from '../table/records.ts';
import { NO_KEY } from './slot-blocks.ts';
import { orderByNumber, orderByText, type TaskOrder } from './task-orders.ts';

/** How long an order is kept after it was last asked for. */
const UNUSED_MS = 15 * 60_000;

/** Sorts with an index of their own. */
export type ExtraSort = Exclude<TaskSort, 'timestamp'>;

interface SortIndex {
  readonly sort: ExtraSort;
  readonly order: TaskOrder;
  /** The key under which each slot is listed. */
  readonly keys: SlotKeys;
  usedAt: number;
  /** Resolves when the order is complete; `null` once it is. */
  ready: Promise<void> | null;
}

/** The orders that have been asked for. */
export interface SortIndexes {
  /** Resolves when that order is complete. */
  get(sort: ExtraSort): Promise<TaskOrder>;
  /** Takes a slot out before it changes. */
  remove(slot: number): void;
  insert(slot: number, life: TaskLife): void;
}

/** @param now milliseconds */
export function createSortIndexes(records: Records, now: () => number): SortIndexes {
  const indexes = new Map<ExtraSort, SortIndex>();

  async function build(index: SortIndex): Promise<void> {
    const slices = createSlices();
    for (const slot of records.slots.values()) {
      if (records.indexed[slot] === 1 && !index.keys.has(slot))
        add(records, index, slot, readLife(records, slot));
      if (slices.isOver()) await slices.next();
    }
    index.ready = null;
  }

  return {
    async get(sort) {
      let index = indexes.get(sort);
      if (index === undefined) {
        index = { sort, order: orderOf(records, sort), keys: createSlotKeys(), usedAt: now(), ready: null };
        indexes.set(sort, index);
        index.ready = build(index);
      }
      index.usedAt = now();
      if (index.ready !== null) await index.ready;
      return index.order;
    },
    remove(slot) {
      if (indexes.size === 0) return;
      for (const [sort, index] of indexes) {
        if (now() - index.usedAt > UNUSED_MS && index.ready === null) {
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

function orderOf(records: Records, sort: ExtraSort): TaskOrder {
  if (sort === 'name') return orderByText(records.names, records);
  return sort === 'state' ? orderByText(records.states, records) : orderByNumber(records);
}

function add(records: Records, { sort, order, keys }: SortIndex, slot: number, life: TaskLife): void {
  const key = sort === 'name' || sort === 'state' ? (records[sort][slot] as number) : (life[sort] ?? NO_KEY);
  keys.set(slot, key);
  order.insert(key, slot);
}

/** The key of each slot of one order; NaN: not listed. */
interface SlotKeys {
  has(slot: number): boolean;
  get(slot: number): number;
  set(slot: number, key: number): void;
  delete(slot: number): void;
}

function createSlotKeys(): SlotKeys {
  let keys = new Float64Array(1024).fill(Number.NaN);
  return {
    has: (slot) => slot < keys.length && !Number.isNaN(keys[slot] as number),
    get: (slot) => keys[slot] as number,
    set(slot, key) {
      if (slot >= keys.length) {
        const wider = new Float64Array(Math.ceil(slot * 1.5) + 1).fill(Number.NaN);
        wider.set(keys);
        keys = wider;
      }
      keys[slot] = key;
    },
    delete(slot) {
      if (slot < keys.length) keys[slot] = Number.NaN;
    },
  };
}
