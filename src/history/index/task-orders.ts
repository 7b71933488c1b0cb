/** Orders of tasks: by a number (times, run time) and by a text that many tasks share (name, state). */
import type { TaskPosition } from '../../source.ts';
import type { Labels } from '../table/labels.ts';
import { type CompareSlots, createOrderedSlots, NO_KEY, type OrderedSlots } from './ordered-slots.ts';
import type { SlotWalk } from './slot-walk.ts';

/** A sorted list of tasks, read from any place that a client's cursor names. */
export interface TaskOrder {
  readonly size: number;
  insert(key: number, slot: number): void;
  remove(key: number, slot: number): void;
  walk(order: 'asc' | 'desc', after: TaskPosition | null): SlotWalk;
}

/** @param idOf id of a slot */
export function orderByNumber(compare: CompareSlots, idOf: (slot: number) => string): TaskOrder {
  const slots = createOrderedSlots(compare);
  return {
    get size() {
      return slots.size;
    },
    insert: slots.insert,
    remove: slots.remove,
    walk: (order, after) => slots.walk(order, after === null ? null : placeOf(after, idOf)),
  };
}

/** The place of a row with a number to sort by. */
export function placeOf({ key, id }: TaskPosition, idOf: (slot: number) => string) {
  return {
    key: typeof key === 'number' ? key : NO_KEY,
    compare: (slot: number) => compareText(idOf(slot), id),
  };
}

/**
 * Keys are labels: a list by id for each text, and the few texts sorted when asked for. Label 0, no
 * text, comes last.
 */
export function orderByText(
  labels: Labels,
  compare: CompareSlots,
  idOf: (slot: number) => string,
): TaskOrder {
  const lists = new Map<number, OrderedSlots>();
  let size = 0;

  /** The lists from a place on, in order. */
  function listsFrom(order: 'asc' | 'desc', after: TaskPosition | null): OrderedSlots[] {
    const isBehind = (label: number): boolean => {
      if (after === null || label === 0) return true;
      if (after.key === null) return false;
      const byText = compareText(labels.text(label), String(after.key));
      return order === 'asc' ? byText >= 0 : byText <= 0;
    };
    const direction = order === 'asc' ? 1 : -1;
    return [...lists]
      .filter(([label]) => isBehind(label))
      .sort(([a], [b]) => {
        if (a === 0 || b === 0) return a === 0 ? 1 : -1;
        return direction * compareText(labels.text(a), labels.text(b));
      })
      .map(([, list]) => list);
  }

  function startsAt(list: OrderedSlots | undefined, after: TaskPosition): boolean {
    for (const [label, other] of lists) {
      if (other === list) return after.key === null ? label === 0 : labels.text(label) === after.key;
    }
    return false;
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
      }
      list.insert(0, slot);
      size++;
    },
    remove(key, slot) {
      const list = lists.get(key);
      if (list?.remove(0, slot) !== true) return;
      size--;
      if (list.size === 0) lists.delete(key);
    },
    walk(order, after) {
      const rest = listsFrom(order, after);
      const first = rest.shift();
      const place = after !== null && startsAt(first, after) ? placeOf({ key: 0, id: after.id }, idOf) : null;
      let current = first?.walk('asc', place);
      const walk: SlotWalk = { slot: -1, key: 0, advance };
      settle();
      return walk;

      function settle(): void {
        while (current !== undefined && current.slot === -1) current = rest.shift()?.walk('asc', null);
        walk.slot = current?.slot ?? -1;
      }
      function advance(): void {
        current?.advance();
        settle();
      }
    },
  };
}

/** Orders texts by code units, as `<` does. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
