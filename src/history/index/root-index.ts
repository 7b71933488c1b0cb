/** Tasks by their root. A task that is its own root (most are) is not listed. */
import {
  addMember,
  countMembers,
  type MemberOrder,
  type Members,
  orderedMembers,
  removeMember,
} from './member-lists.ts';
import type { OrderedSlots } from './ordered-slots.ts';

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
