/**
 * Tasks that share a value: a few in any order, many sorted. Most values (roots, invented names) have one task or
 * a few, for which a sorted sequence would take many times the memory.
 */
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
export function addMember(
  members: Members | undefined,
  slot: number,
  key: number,
  order: MemberOrder,
): Members {
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
export function removeMember(members: Members | undefined, slot: number, key: number): Members | undefined {
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
export function orderedMembers(members: Members, order: MemberOrder): OrderedSlots {
  if (typeof members === 'number') return sortMembers([members], order);
  return Array.isArray(members) ? sortMembers(members, order) : members;
}

/** How many members there are. */
export function countMembers(members: Members | undefined): number {
  if (members === undefined) return 0;
  return typeof members === 'number' ? 1 : Array.isArray(members) ? members.length : members.size;
}

function sortMembers(members: readonly number[], { compare, keyOf }: MemberOrder): OrderedSlots {
  const sorted = createOrderedSlots(compare);
  for (const slot of members) sorted.insert(keyOf(slot), slot);
  return sorted;
}
