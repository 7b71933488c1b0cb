/** Orders of tasks: by a number (times, run time) and by a text that many tasks share (name, state). */
import type { TaskPosition } from '../../source.ts';
import type { InternedStrings } from '../table/interned-strings.ts';
import type { Records } from '../table/records.ts';
import { type CompareSlots, createOrderedSlots, type OrderedSlots } from './ordered-slots.ts';
import { NO_KEY, type SeekTarget } from './slot-blocks.ts';
import type { SlotWalk } from './slot-walk.ts';

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
 * Tasks by an interned string, whose number is the key: the tasks of each string are sorted by id, and the
 * few strings are sorted when a walk begins. Number 0, no string, comes last.
 */
export function orderByText(strings: InternedStrings, records: Pick<Records, 'ids'>): TaskOrder {
  const compare = orderById(records);
  const lists = new Map<number, OrderedSlots>();
  let size = 0;

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
      const texts = [...lists].map(([key, list]) => ({ text: key === 0 ? null : strings.text(key), list }));
      const target = after === null ? null : targetOf({ key: 0, id: after.id }, records);
      return walkTexts(sortFrom(texts, order, after), after, target);
    },
  };
}

/** The tasks of one text; `null`: those without one. */
interface TextList {
  readonly text: string | null;
  readonly list: OrderedSlots;
}

/** Texts in order, from that of a position on. */
function sortFrom(texts: TextList[], order: Direction, after: TaskPosition | null): TextList[] {
  const direction = order === 'asc' ? 1 : -1;
  const isBehind = (text: string | null): boolean => {
    if (after === null || text === null) return true;
    return after.key !== null && direction * compareText(text, String(after.key)) >= 0;
  };
  return texts
    .filter(({ text }) => isBehind(text))
    .sort(({ text: a }, { text: b }) => {
      if (a === null || b === null) return a === null ? 1 : -1;
      return direction * compareText(a, b);
    });
}

/** Walks the lists one after another, the first from the target on if the position is in it. */
function* walkTexts(
  texts: readonly TextList[],
  after: TaskPosition | null,
  target: SeekTarget | null,
): Generator<number> {
  for (const [at, { text, list }] of texts.entries()) {
    const isInside = at === 0 && after !== null && text === after.key;
    yield* list.walk('asc', isInside ? target : null);
  }
}
