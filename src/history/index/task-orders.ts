/** Orders of tasks: by a number (times, run time) and by a text that many tasks share (name, state). */
import { type Steps, scheduler } from '../../scheduler.ts';
import type { Awaitable, TaskPosition, TaskSort } from '../../source.ts';
import type { TaskLife } from '../merge/life.ts';
import type { InternedStrings } from '../table/interned-strings.ts';
import { readLife } from '../table/record-table.ts';
import type { Records } from '../table/records.ts';
import {
  behindKey,
  type CompareSlots,
  createOrderedSlots,
  NO_KEY,
  type OrderedSlots,
  type SeekTarget,
  type SlotWalk,
} from './ordered-slots.ts';

type Direction = 'asc' | 'desc';

/** A sorted sequence of tasks, read from any position that a client's cursor names. */
export interface TaskOrder {
  readonly size: number;
  insert(key: number, slot: number): void;
  remove(key: number, slot: number): void;
  walk(order: Direction, after: TaskPosition | null): SlotWalk;
}

/** Orders texts by code units, as `<` does. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The order that decides between equal keys: by id. */
export function orderById(records: Pick<Records, 'ids'>): CompareSlots {
  return (a, b) => compareText(records.ids[a] as string, records.ids[b] as string);
}

/** Where a row with a number to sort by is searched for. */
export function targetOf({ key, id }: TaskPosition, records: Pick<Records, 'ids'>): SeekTarget {
  return {
    key: typeof key === 'number' ? key : NO_KEY,
    compare: (slot) => compareText(records.ids[slot] as string, id),
  };
}

/** Tasks by a number; {@link NO_KEY} for those without one. */
function orderByNumber(records: Pick<Records, 'ids'>): TaskOrder {
  const slots = createOrderedSlots(orderById(records));
  return {
    get size() {
      return slots.size;
    },
    insert: slots.insert,
    remove: slots.remove,
    walk: (order, after) => slots.walk(order, after === null ? null : targetOf(after, records)),
  };
}

/**
 * Tasks by an interned string, whose number is the key: the tasks of each string are sorted by id. Number 0, no
 * string, comes last.
 */
function orderByText(strings: InternedStrings, records: Pick<Records, 'ids'>): TaskOrder {
  const compare = orderById(records);
  const lists = new Map<number, OrderedSlots>();
  // The numbers of the strings in both orders: there may be as many strings as tasks.
  const ascending = createOrderedSlots((a, b) => compareText(strings.text(a), strings.text(b)));
  const descending = createOrderedSlots((a, b) => compareText(strings.text(b), strings.text(a)));
  let size = 0;

  /** The numbers of the strings from that of a position on. */
  function* numbersFrom(order: Direction, after: TaskPosition | null): Generator<number> {
    const [numbers, direction] = order === 'asc' ? [ascending, 1] : [descending, -1];
    const isText = after === null || after.key !== null;
    // Equal strings are behind the target, so that the walk begins with them.
    const from = after !== null && {
      key: 0,
      compare: (number: number) => direction * compareText(strings.text(number), String(after.key)) || 1,
    };
    if (isText) yield* numbers.walk('asc', from || null);
    yield 0;
  }

  return {
    get size() {
      return size;
    },
    insert(key, slot) {
      let list = lists.get(key);
      if (list === undefined) {
        list = createOrderedSlots(compare);
        lists.set(key, list);
        if (key !== 0) for (const numbers of [ascending, descending]) numbers.insert(0, key);
      }
      list.insert(0, slot);
      size++;
    },
    remove(key, slot) {
      const list = lists.get(key);
      if (list?.remove(0, slot) !== true) return;
      size--;
      if (list.size > 0) return;
      lists.delete(key);
      if (key !== 0) for (const numbers of [ascending, descending]) numbers.remove(0, key);
    },
    *walk(order, after) {
      const target = after === null ? null : targetOf({ key: 0, id: after.id }, records);
      for (const number of numbersFrom(order, after)) {
        const isInside = after !== null && (number === 0 ? null : strings.text(number)) === after.key;
        yield* lists.get(number)?.walk('asc', isInside ? target : null) ?? [];
      }
    },
  };
}

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
export type SortIndexes = ReturnType<typeof createSortIndexes>;

/** @param now milliseconds */
export function createSortIndexes(records: Records, now: () => number) {
  const indexes = new Map<ExtraSort, SortIndex>();
  return {
    /** An order; `null` when it is not complete. */
    get(sort: ExtraSort): TaskOrder | null {
      const index = indexes.get(sort);
      if (index === undefined) return null;
      index.usedAt = now();
      return index.building === null ? index.order : null;
    },
    /** Builds an order, once for all who wait. Resolves when it is complete. */
    build(sort: ExtraSort): Awaitable<void> {
      const known = indexes.get(sort);
      if (known !== undefined) return known.building ?? undefined;
      const index: SortIndex = {
        sort,
        order: orderOf(records, sort),
        keys: createSlotKeys(),
        usedAt: now(),
        building: null,
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
    /** Takes a slot out before it changes. */
    remove(slot: number): void {
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
    insert(slot: number, life: TaskLife): void {
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

/** A number for each of some slots: 8 bytes a slot. */
export type SlotKeys = ReturnType<typeof createSlotKeys>;

/** @returns no keys yet */
export function createSlotKeys() {
  /** NaN: the slot has none. */
  let keys = new Float64Array(1024).fill(Number.NaN);
  return {
    has: (slot: number): boolean => slot < keys.length && !Number.isNaN(keys[slot] as number),
    /** Of a slot that has one. */
    get: (slot: number): number => keys[slot] as number,
    set(slot: number, key: number): void {
      if (slot >= keys.length) {
        const wider = new Float64Array(Math.ceil(slot * 1.5) + 1).fill(Number.NaN);
        wider.set(keys);
        keys = wider;
      }
      keys[slot] = key;
    },
    delete(slot: number): void {
      if (slot < keys.length) keys[slot] = Number.NaN;
    },
  };
}

/** The index. Times in milliseconds. */
export type EtaIndex = ReturnType<typeof createEtaIndex>;

/** @param compare order of slots with equal times */
export function createEtaIndex(compare: CompareSlots) {
  const order = createOrderedSlots(compare);
  const etas = new Map<number, number>();

  function remove(slot: number): void {
    if (etas.size === 0) return;
    const eta = etas.get(slot);
    if (eta === undefined) return;
    order.remove(eta, slot);
    etas.delete(slot);
  }

  return {
    remove,
    /** @param eta `null`: the task waits for none */
    set(slot: number, eta: number | null): void {
      remove(slot);
      if (eta === null) return;
      order.insert(eta, slot);
      etas.set(slot, eta);
    },
    /** The next eta after a moment; `Infinity` when there is none. */
    nextAfter(moment: number): number {
      for (const slot of order.walk('asc', behindKey(moment))) return etas.get(slot) as number;
      return Number.POSITIVE_INFINITY;
    },
  };
}
