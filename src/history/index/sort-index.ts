/**
 * Orders that are not needed for live traffic (by received, started, finished, runtime, name, state)
 * are built when someone asks for them, in slices that let the host's event loop go on, kept up to
 * date from then on, and dropped when nobody has asked for a while.
 */
import type { TaskSort } from '../../source.ts';
import type { Folded } from '../merge/folded.ts';
import type { Records } from '../table/records.ts';
import { type CompareSlots, NO_KEY } from './ordered-slots.ts';
import { compareText, orderByNumber, orderByText, type TaskOrder } from './task-orders.ts';

/** Longest stretch of work before the host's event loop gets a turn. */
const SLICE_MS = 8;
const UNUSED_MS = 15 * 60_000;

/** Sorts with an index of their own. */
export type ExtraSort = Exclude<TaskSort, 'timestamp'>;

interface SortIndex {
  readonly order: TaskOrder;
  /** The key under which each slot is listed. */
  readonly keys: SlotKeys;
  usedAt: number;
  ready: Promise<void> | null;
}

/** The orders that have been asked for. */
export interface SortIndexes {
  /** Resolves when that order is complete. */
  get(sort: ExtraSort): Promise<TaskOrder>;
  /** Takes a slot out before it changes. */
  remove(slot: number): void;
  insert(slot: number, folded: Folded): void;
}

/**
 * @param fold folds one slot
 * @param now milliseconds
 */
export function createSortIndexes(
  records: Records,
  fold: (slot: number) => Folded,
  now: () => number,
): SortIndexes {
  const indexes = new Map<ExtraSort, SortIndex>();
  const byId: CompareSlots = (a, b) => compareText(records.ids[a] as string, records.ids[b] as string);
  const idOf = (slot: number) => records.ids[slot] as string;

  function orderOf(sort: ExtraSort): TaskOrder {
    if (sort === 'name') return orderByText(records.names, byId, idOf);
    return sort === 'state' ? orderByText(records.states, byId, idOf) : orderByNumber(byId, idOf);
  }

  function keyOf(sort: ExtraSort, slot: number, folded: Folded): number {
    if (sort === 'name' || sort === 'state') return records[sort][slot] as number;
    const value = folded[sort];
    return Number.isNaN(value) ? NO_KEY : value;
  }

  async function build(sort: ExtraSort, index: SortIndex): Promise<void> {
    let start = performance.now();
    for (const slot of records.slots.values()) {
      if (records.indexed[slot] === 1 && !index.keys.has(slot)) add(sort, index, slot, fold(slot));
      if (performance.now() - start < SLICE_MS) continue;
      await new Promise((resolve) => setImmediate(resolve));
      start = performance.now();
    }
    index.ready = null;
  }

  function add(sort: ExtraSort, index: SortIndex, slot: number, folded: Folded): void {
    const key = keyOf(sort, slot, folded);
    index.keys.set(slot, key);
    index.order.insert(key, slot);
  }

  return {
    async get(sort) {
      let index = indexes.get(sort);
      if (index === undefined) {
        index = {
          order: orderOf(sort),
          keys: createSlotKeys(),
          usedAt: now(),
          ready: null,
        };
        indexes.set(sort, index);
        index.ready = build(sort, index);
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
    insert(slot, folded) {
      if (indexes.size === 0) return;
      for (const [sort, index] of indexes) add(sort, index, slot, folded);
    },
  };
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
