/**
 * Tasks by their root. A task that is its own root (most are) is not listed, a small workflow is sorted when
 * it is read, and a large one is kept sorted.
 */
import { type CompareSlots, createOrderedSlots, type OrderedSlots } from './ordered-slots.ts';

/** Most members of a workflow that is sorted for each read. */
const SMALL = 48;

/** Tasks by root, without the roots themselves. */
export interface RootIndex {
  /** @param key under which the slot is sorted */
  add(root: string, slot: number, key: number): void;
  remove(root: string, slot: number, key: number): void;
  /** Sorts a slot under another key. */
  move(root: string, slot: number, from: number, to: number): void;
  /**
   * All tasks of a root but the root itself, sorted; `null` when there are none.
   *
   * @param keyOf the present key of a slot
   */
  ordered(root: string, keyOf: (slot: number) => number): OrderedSlots | null;
  size(root: string): number;
}

/** One member, a few in any order, or many in order. */
type Members = number | number[] | OrderedSlots;

/** @param compare order of slots with equal keys */
export function createRootIndex(compare: CompareSlots): RootIndex {
  const roots = new Map<string, Members>();

  return {
    add(root, slot, key) {
      const members = roots.get(root);
      if (members === undefined) roots.set(root, slot);
      else if (typeof members === 'number') roots.set(root, [members, slot]);
      else if (Array.isArray(members)) members.push(slot);
      else members.insert(key, slot);
    },
    remove(root, slot, key) {
      const members = roots.get(root);
      if (members === slot) roots.delete(root);
      else if (Array.isArray(members)) {
        const at = members.indexOf(slot);
        if (at >= 0) members.splice(at, 1);
        if (members.length === 0) roots.delete(root);
      } else if (typeof members === 'object') {
        members.remove(key, slot);
        if (members.size === 0) roots.delete(root);
      }
    },
    move(root, slot, from, to) {
      const members = roots.get(root);
      if (typeof members !== 'object' || Array.isArray(members)) return;
      members.remove(from, slot);
      members.insert(to, slot);
    },
    ordered(root, keyOf) {
      const members = roots.get(root);
      if (members === undefined) return null;
      if (typeof members === 'object' && !Array.isArray(members)) return members;
      const sorted = createOrderedSlots(compare);
      for (const slot of typeof members === 'number' ? [members] : members) sorted.insert(keyOf(slot), slot);
      if (sorted.size > SMALL) roots.set(root, sorted);
      return sorted;
    },
    size(root) {
      const members = roots.get(root);
      if (members === undefined) return 0;
      return typeof members === 'number' ? 1 : Array.isArray(members) ? members.length : members.size;
    },
  };
}
