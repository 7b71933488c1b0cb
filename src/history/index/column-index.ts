/** Tasks by one column of interned strings (state, name, worker, queue), those of each string by time. */
import type { InternedStrings } from '../table/interned-strings.ts';
import { type CompareSlots, createOrderedSlots, type OrderedSlots } from './ordered-slots.ts';

/** One index. String 0 stands for none and is not indexed. */
export interface ColumnIndex {
  readonly strings: InternedStrings;
  /** Tasks with this string; `null` when there is none. */
  list(string: number): OrderedSlots | null;
  enter(string: number, key: number, slot: number): void;
  leave(string: number, key: number, slot: number): void;
}

/** @param compare order of slots with equal keys */
export function createColumnIndex(strings: InternedStrings, compare: CompareSlots): ColumnIndex {
  const lists: (OrderedSlots | undefined)[] = [];
  strings.onForgotten((string) => {
    lists[string] = undefined;
  });

  function listOf(string: number): OrderedSlots {
    let list = lists[string];
    if (list === undefined) {
      list = createOrderedSlots(compare);
      lists[string] = list;
    }
    return list;
  }

  return {
    strings,
    list: (string) => lists[string] ?? null,
    enter(string, key, slot) {
      if (string === 0) return;
      strings.retain(string);
      listOf(string).insert(key, slot);
    },
    leave(string, key, slot) {
      if (string === 0) return;
      lists[string]?.remove(key, slot);
      strings.release(string);
    },
  };
}
