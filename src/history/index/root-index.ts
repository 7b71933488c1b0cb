/**
 * Tasks by their root, newest first: a task that is its own root (most are) costs nothing here, a small
 * workflow is sorted when asked for, a large one is kept sorted.
 */
import { type CompareSlots, createOrderedSlots, type OrderedSlots } from './ordered-slots.ts';

const SMALL = 48;

/** Tasks by root, but for the roots themselves. */
export interface RootIndex {
  /** @param key under which the slot is sorted */
  add(root: string, slot: number, key: number): void;
  remove(root: string, slot: number, key: number): void;
  /** Sorts a slot in anew. */
  move(root: string, slot: number, from: number, to: number): void;
  /** All tasks of that root but itself. `keyOf`: current key of a slot. */
  ordered(root: string, keyOf: (slot: number) => number): OrderedSlots | null;
  size(root: string): number;
}

/** @param compare order of slots with equal keys */
export function createRootIndex(compare: CompareSlots): RootIndex {
  const roots = new Map<string, number | number[] | OrderedSlots>();

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
