/**
 * Roots that nobody told: the backend names a task's parent, not its root. A task takes the root of its
 * parent as soon as that is known; one that is said to have no parent is its own.
 */
import type { Relatives } from '../merge/facts.ts';
import { FACT, type Records } from '../table/records.ts';
import type { RelationStore } from '../table/relation-store.ts';

/** Most steps up a chain of parents. */
const MAX_STEPS = 1_000;

/** Roots of tasks, told or derived. */
export interface Roots {
  /** A message told the root, or that there is none. */
  told(slot: number, root: string | null): void;
  /** What a root is derived from has changed: the parent, or that there is none. */
  derive(slot: number): void;
  /** The furthest ancestor that is known, for want of a root. */
  topmost(slot: number): string;
}

/** @param changed called with each task whose root has been derived anew */
export function createRoots(
  records: Records,
  relatives: Relatives,
  relations: RelationStore,
  changed: (slot: number) => void,
): Roots {
  const isTold = (slot: number): boolean =>
    records.roots[slot] != null && ((records.facts[slot] as number) & FACT.ROOT_DERIVED) === 0;

  function parentOf(slot: number): string | null {
    const parent = records.parents[slot] ?? null;
    const id = records.ids[slot] as string;
    if (parent !== null || !relations.has(id)) return parent;
    let first: string | null = null;
    for (const edge of relations.to(id)) {
      if (edge.relation === 'group' || edge.relation === 'chord') continue;
      if (first === null || edge.parent < first) first = edge.parent;
    }
    return first;
  }

  function derived(slot: number): string | null {
    const parent = parentOf(slot);
    if (parent === null) {
      return ((records.facts[slot] as number) & FACT.NO_PARENT) === 0 ? null : (records.ids[slot] as string);
    }
    const above = records.slots.get(parent);
    // One that is no longer held was its ancestor all the same.
    return records.roots[above ?? slot] ?? null;
  }

  function set(slot: number, root: string | null): void {
    relatives.setRoot(slot, root);
    records.roots[slot] = root;
  }

  /** @returns whether it is another now */
  function setDerived(slot: number): boolean {
    if (isTold(slot)) return false;
    const root = derived(slot);
    if (root === (records.roots[slot] ?? null)) return false;
    set(slot, root);
    records.facts[slot] = (records.facts[slot] as number) | FACT.ROOT_DERIVED;
    changed(slot);
    return true;
  }

  /** Whoever hangs below takes it over. Each has one parent, so nobody is reached twice with another root. */
  function passOn(slot: number): void {
    const id = records.ids[slot] as string;
    if (relatives.byParent.size(id) === 0 && !relations.has(id)) return;
    const waiting = [slot];
    for (let above = waiting.pop(); above !== undefined; above = waiting.pop()) {
      for (const child of childrenOf(above)) if (setDerived(child)) waiting.push(child);
    }
  }

  function childrenOf(slot: number): readonly number[] {
    const id = records.ids[slot] as string;
    const own = relatives.byParent.list(id);
    if (!relations.has(id)) return own;
    const more = relations.from(id).flatMap(({ child, relation }) => {
      const known = relation === 'group' || relation === 'chord' ? undefined : records.slots.get(child);
      return known ?? [];
    });
    return more.length === 0 ? own : [...own, ...more];
  }

  return {
    told(slot, root) {
      if (root === null && !isTold(slot)) return;
      if (root !== null) records.facts[slot] = (records.facts[slot] as number) & ~FACT.ROOT_DERIVED;
      if (root === (records.roots[slot] ?? null)) return;
      set(slot, root);
      passOn(slot);
    },
    derive(slot) {
      if (setDerived(slot)) passOn(slot);
    },
    topmost(slot) {
      let id = records.ids[slot] as string;
      const seen = new Set([id]);
      for (let at: number | undefined = slot; at !== undefined; at = records.slots.get(id)) {
        const parent = parentOf(at);
        if (parent === null) return id;
        if (seen.has(parent) || seen.size > MAX_STEPS) return records.ids[slot] as string;
        seen.add(parent);
        id = parent;
      }
      return id;
    },
  };
}
