/** Tasks by one column of interned strings (state, name, worker, queue), those of each string by time. */
import type { InternedStrings } from '../table/interned-strings.ts';
import {
  addMember,
  countMembers,
  type MemberOrder,
  type Members,
  orderedMembers,
  removeMember,
} from './member-lists.ts';
import type { OrderedSlots } from './ordered-slots.ts';

/** One index. String 0 stands for none and is not indexed. */
export interface ColumnIndex {
  readonly strings: InternedStrings;
  /** Tasks with this string; `null` when there is none. Valid until the index changes. */
  list(string: number): OrderedSlots | null;
  size(string: number): number;
  enter(string: number, key: number, slot: number): void;
  leave(string: number, key: number, slot: number): void;
}

/** @param order of the tasks of one string */
export function createColumnIndex(strings: InternedStrings, order: MemberOrder): ColumnIndex {
  const lists: (Members | undefined)[] = [];
  strings.onForgotten((string) => {
    lists[string] = undefined;
  });
  return {
    strings,
    list(string) {
      const members = lists[string];
      return members === undefined ? null : orderedMembers(members, order);
    },
    size: (string) => countMembers(lists[string]),
    enter(string, key, slot) {
      if (string === 0) return;
      strings.retain(string);
      lists[string] = addMember(lists[string], slot, key, order);
    },
    leave(string, key, slot) {
      if (string === 0) return;
      lists[string] = removeMember(lists[string], slot, key);
      strings.release(string);
    },
  };
}
