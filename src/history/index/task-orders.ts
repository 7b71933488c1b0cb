/** Orders of tasks: by a number (times, run time) and by a text that many tasks share (name, state). */
import type { TaskPosition } from '../../source.ts';
import type { InternedStrings } from '../table/interned-strings.ts';
import type { Records } from '../table/records.ts';
import { type CompareSlots, createOrderedSlots, type OrderedSlots, type SlotWalk } from './ordered-slots.ts';
import { NO_KEY, type SeekTarget } from './slot-blocks.ts';

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
export function orderByNumber(records: Pick<Records, 'ids'>): TaskOrder {
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
export function orderByText(strings: InternedStrings, records: Pick<Records, 'ids'>): TaskOrder {
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
