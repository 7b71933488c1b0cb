/**
 * Tasks that share a value: a few in any order, many sorted. Most values (roots, invented names) have one task or
 * a few, for which a sorted sequence would take many times the memory.
 */
import type { InternedStrings } from '../table/interned-strings.ts';
import { type CompareSlots, createOrderedSlots, type OrderedSlots } from './ordered-slots.ts';

/** Most members that are sorted for each read. */
const SMALL = 48;

/** One member, a few in any order, or many in order. */
export type Members = number | number[] | OrderedSlots;

/** How members are sorted. */
export interface MemberOrder {
  /** Order of slots with equal keys. */
  readonly compare: CompareSlots;
  /** The key under which a slot is sorted at present. */
  keyOf(slot: number): number;
}

/** @param key of the new member @returns the members with one more */
function addMember(members: Members | undefined, slot: number, key: number, order: MemberOrder): Members {
  if (members === undefined) return slot;
  if (typeof members === 'number') return [members, slot];
  if (!Array.isArray(members)) {
    members.insert(key, slot);
    return members;
  }
  if (members.length < SMALL) {
    members.push(slot);
    return members;
  }
  const sorted = sortMembers(members, order);
  sorted.insert(key, slot);
  return sorted;
}

/** @param key under which the slot is sorted @returns the other members; `undefined`: none */
function removeMember(members: Members | undefined, slot: number, key: number): Members | undefined {
  if (members === undefined || typeof members === 'number') return members === slot ? undefined : members;
  if (Array.isArray(members)) {
    const at = members.indexOf(slot);
    if (at >= 0) members.splice(at, 1);
    return members.length === 0 ? undefined : members;
  }
  members.remove(key, slot);
  return members.size === 0 ? undefined : members;
}

/** The members in order, valid until they change. */
function orderedMembers(members: Members, order: MemberOrder): OrderedSlots {
  if (typeof members === 'number') return sortMembers([members], order);
  return Array.isArray(members) ? sortMembers(members, order) : members;
}

/** How many members there are. */
function countMembers(members: Members | undefined): number {
  if (members === undefined) return 0;
  return typeof members === 'number' ? 1 : Array.isArray(members) ? members.length : members.size;
}

function sortMembers(members: readonly number[], { compare, keyOf }: MemberOrder): OrderedSlots {
  const sorted = createOrderedSlots(compare);
  for (const slot of members) sorted.insert(keyOf(slot), slot);
  return sorted;
}

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

/** Tasks by root, without the roots themselves. */
export interface RootIndex {
  /** Estimate of the memory that the ids of roots take. */
  readonly bytes: number;
  /** @param key under which the slot is sorted */
  add(root: string, slot: number, key: number): void;
  remove(root: string, slot: number, key: number): void;
  /** Sorts a slot under another key. */
  move(root: string, slot: number, from: number, to: number): void;
  /** All tasks of a root but the root itself, sorted; `null` when there are none. Valid until the index changes. */
  ordered(root: string): OrderedSlots | null;
  size(root: string): number;
}

/** About what a root takes beside the characters of its id: its entry here, its header. */
const BYTES_PER_ROOT = 100;

/** @param order of the tasks of one root */
export function createRootIndex(order: MemberOrder): RootIndex {
  const roots = new Map<string, Members>();
  const index: RootIndex & { bytes: number } = {
    bytes: 0,
    add(root, slot, key) {
      const members = roots.get(root);
      const more = addMember(members, slot, key, order);
      if (more !== members) roots.set(root, more);
      if (members === undefined) index.bytes += BYTES_PER_ROOT + root.length;
    },
    remove(root, slot, key) {
      const members = roots.get(root);
      if (members === undefined || removeMember(members, slot, key) !== undefined) return;
      roots.delete(root);
      index.bytes -= BYTES_PER_ROOT + root.length;
    },
    move(root, slot, from, to) {
      const members = roots.get(root);
      if (typeof members !== 'object' || Array.isArray(members)) return;
      members.remove(from, slot);
      members.insert(to, slot);
    },
    ordered(root) {
      const members = roots.get(root);
      return members === undefined ? null : orderedMembers(members, order);
    },
    size: (root) => countMembers(roots.get(root)),
  };
  return index;
}
