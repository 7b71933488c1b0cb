/**
 * Roots of tasks. Where no message names the root (the result backend stores a task's parent alone), a task
 * takes the root of its parent as soon as that is known, and a task known to have no parent is its own root.
 */
import { type Steps, scheduler } from '../../scheduler.ts';
import { FACT, type Records } from '../table/records.ts';
import type { Edge, RelationStore } from '../table/relation-store.ts';
import type { TaskIndex } from './task-index.ts';

/** Most steps up a chain of parents. */
const MAX_STEPS = 1_000;

/** Tasks whose roots are derived at once; more are derived in later turns of the event loop. */
const DERIVED_AT_ONCE = 256;
/** Longest way down on which a root is passed on: in a ring of parents it could be passed on for ever. */
const MAX_DEPTH = 200_000;

/** What roots are derived from and stored in. */
interface RootContext {
  readonly records: Records;
  readonly index: Pick<TaskIndex, 'byParent' | 'setRoot'>;
  readonly relations: RelationStore;
  /** Called with each task whose root has been derived anew. */
  readonly changed: (slot: number) => void;
  /** Tasks with a new root, which their children do not have yet, and how far the root has been passed on. */
  readonly waiting: Map<number, number>;
  /** Resolves when all have it; `null` while nothing is passed on in later turns. */
  passing: Promise<void> | null;
}

/** Sets the roots of tasks. */
export type Roots = ReturnType<typeof createRoots>;

/** @param changed called with each task whose root has been derived anew */
export function createRoots(
  records: Records,
  index: RootContext['index'],
  relations: RelationStore,
  changed: (slot: number) => void,
) {
  const context: RootContext = {
    records,
    index,
    relations,
    changed,
    waiting: new Map(),
    passing: null,
  };
  return {
    /** A message named the root, or reported that there is none. */
    setReported: (slot: number, root: string | null): void => setReported(context, slot, root),
    /** A root derived from tasks that may be unknown by now, for a task without a root. */
    setFormer(slot: number, root: string): void {
      if (records.roots[slot] != null) return;
      setRoot(context, slot, root);
      records.facts[slot] = (records.facts[slot] as number) | FACT.ROOT_DERIVED;
      passOn(context, slot);
    },
    /** What a root is derived from has changed: the parent, or the fact that there is none. */
    derive(slot: number): void {
      if (setDerived(context, slot)) passOn(context, slot);
    },
    /** Resolves when all tasks have the roots of their parents; `null` when they have. */
    passing: (): Promise<void> | null => context.passing,
    /** The furthest ancestor that is known, for a task without a root. */
    topmost: (slot: number): string => topmost(context, slot),
  };
}

function isReported({ records }: RootContext, slot: number): boolean {
  return records.roots[slot] != null && ((records.facts[slot] as number) & FACT.ROOT_DERIVED) === 0;
}

function setRoot({ records, index }: RootContext, slot: number, root: string | null): void {
  index.setRoot(slot, root);
  records.roots[slot] = root;
}

function setReported(context: RootContext, slot: number, root: string | null): void {
  const { records } = context;
  if (root === null && !isReported(context, slot)) return;
  if (root !== null) records.facts[slot] = (records.facts[slot] as number) & ~FACT.ROOT_DERIVED;
  if (root === (records.roots[slot] ?? null)) return;
  setRoot(context, slot, root);
  passOn(context, slot);
}

/** @returns whether the root has changed */
function setDerived(context: RootContext, slot: number): boolean {
  if (isReported(context, slot)) return false;
  const { records } = context;
  const root = deriveRoot(context, slot);
  if (root === (records.roots[slot] ?? null)) return false;
  setRoot(context, slot, root);
  records.facts[slot] = (records.facts[slot] as number) | FACT.ROOT_DERIVED;
  context.changed(slot);
  return true;
}

function deriveRoot(context: RootContext, slot: number): string | null {
  const { records } = context;
  const parent = parentOf(context, slot);
  if (parent === null) {
    return ((records.facts[slot] as number) & FACT.NO_PARENT) === 0 ? null : (records.ids[slot] as string);
  }
  const above = records.slots.get(parent);
  // A parent that has been evicted passed its root to this task earlier.
  return records.roots[above ?? slot] ?? null;
}

/** The parent that its messages name, else the first of those that relations name. */
function parentOf({ records, relations }: RootContext, slot: number): string | null {
  const parent = records.parents[slot] ?? null;
  const id = records.ids[slot] as string;
  if (parent !== null || !relations.has(id)) return parent;
  let first: string | null = null;
  for (const edge of relations.to(id)) {
    if (isDescent(edge) && (first === null || edge.parent < first)) first = edge.parent;
  }
  return first;
}

/** Gives a changed root to all descendants: to the first ones at once, to others in later turns. */
function passOn(context: RootContext, slot: number): void {
  const { records, index, relations, waiting } = context;
  const id = records.ids[slot] as string;
  if (index.byParent.size(id) === 0 && !relations.has(id)) return;
  waiting.set(slot, 0);
  if (context.passing !== null) return;
  const steps = passAllOn(context);
  for (let count = 0; count < DERIVED_AT_ONCE; count++) if (steps.next().done === true) return;
  const passed = scheduler.run('roots', steps);
  if (!(passed instanceof Promise)) return;
  context.passing = passed.finally(() => {
    context.passing = null;
  });
}

function* passAllOn(context: RootContext): Steps<void> {
  const { records, waiting } = context;
  // Iterating over a map includes entries added meanwhile.
  for (const [slot, depth] of waiting) {
    waiting.delete(slot);
    const id = records.ids[slot];
    if (id === undefined || records.slots.get(id) !== slot || depth > MAX_DEPTH) continue;
    for (const child of childrenOf(context, slot)) {
      if (setDerived(context, child)) waiting.set(child, depth + 1);
      yield;
    }
  }
}

function childrenOf({ records, index, relations }: RootContext, slot: number): readonly number[] {
  const id = records.ids[slot] as string;
  const own = index.byParent.list(id);
  if (!relations.has(id)) return own;
  const more = relations
    .from(id)
    .flatMap((edge) => (isDescent(edge) ? (records.slots.get(edge.child) ?? []) : []));
  return more.length === 0 ? own : [...own, ...more];
}

/** Whether a relation leads from a task to one that it sent. */
function isDescent({ relation }: Edge): boolean {
  return relation !== 'group' && relation !== 'chord';
}

function topmost(context: RootContext, slot: number): string {
  const { records } = context;
  let id = records.ids[slot] as string;
  const seen = new Set([id]);
  for (let at: number | undefined = slot; at !== undefined; at = records.slots.get(id)) {
    const parent = parentOf(context, at);
    if (parent === null) return id;
    if (seen.has(parent) || seen.size > MAX_STEPS) return records.ids[slot] as string;
    seen.add(parent);
    id = parent;
  }
  return id;
}
