/**
 * Relations that other tasks report: typed edges between ids, whether tasks with these ids are known or not.
 * Bounded by number and bytes; the oldest are dropped first.
 */
import { specificityOf } from '../../graph.ts';
import type { TaskRelation } from '../../model.ts';
import { type Arrivals, createArrivals } from './arrivals.ts';

/** Approximate memory of the columns, two indexes and the order of age. */
const BYTES_PER_RELATION = 250;

/** A relation that names both of its ends. */
export type Edge = TaskRelation & { readonly parent: string };

/** The relations. Between two ids there is one, in addition to membership of a group. */
export type RelationStore = ReturnType<typeof createRelationStore>;

interface RelationState {
  /** By number; `undefined`: the number is free. */
  readonly edges: (Edge | undefined)[];
  readonly free: number[];
  readonly byParent: SlotGroups;
  readonly byChild: SlotGroups;
  /** Numbers by age. */
  readonly ages: Arrivals;
  size: number;
  bytes: number;
}

/** @param maxCount and maxBytes most relations, and most bytes of them */
export function createRelationStore(maxCount: number, maxBytes: number) {
  const [byParent, byChild] = [createSlotGroups(), createSlotGroups()];
  const state: RelationState = {
    edges: [],
    free: [],
    byParent,
    byChild,
    ages: createArrivals(),
    size: 0,
    bytes: 0,
  };
  return {
    /** Estimate in bytes. */
    bytes: (): number => state.bytes,
    /** @returns whether it is new, or more specific than the one before */
    add(parent: string, child: string, relation: string): boolean {
      const isChanged = addEdge(state, { parent, child, relation });
      while (state.size > 1 && (state.size > maxCount || state.bytes > maxBytes)) {
        dropEdge(state, state.ages.oldest());
      }
      return isChanged;
    },
    /** Whether any relation names this id. */
    has: (id: string): boolean => state.size > 0 && (byParent.size(id) > 0 || byChild.size(id) > 0),
    /** The relations from a task to others, or from a group to its members. */
    from: (parent: string): readonly Edge[] => edgesAt(state, byParent.list(parent)),
    /** The relations to a task. */
    to: (child: string): readonly Edge[] => edgesAt(state, byChild.list(child)),
    /** Drops the relations between this task and unknown ones. */
    release: (id: string, isKnown: (id: string) => boolean): void => releaseTask(state, id, isKnown),
    clear(): void {
      for (let at = 0; at < state.edges.length; at++) dropEdge(state, at);
    },
  };
}

/** @returns whether the edge is new, or more specific than the one before */
function addEdge(state: RelationState, edge: Edge): boolean {
  const { edges, free, byParent, byChild, ages } = state;
  const known = findEdge(state, edge);
  if (known >= 0) {
    const before = edges[known] as Edge;
    if (before.relation === edge.relation || !isMoreSpecific(edge, before)) return false;
    edges[known] = { ...before, relation: edge.relation };
    return true;
  }
  const at = free.pop() ?? edges.length;
  edges[at] = edge;
  byParent.add(edge.parent, at);
  byChild.add(edge.child, at);
  ages.touch(at, 0);
  state.size++;
  state.bytes += bytesOf(edge);
  return true;
}

/** @returns the number of the edge between the same ids; −1 when there is none */
function findEdge({ edges, byParent, byChild }: RelationState, { parent, child, relation }: Edge): number {
  const children = byParent.size(parent);
  const parents = byChild.size(child);
  if (children === 0 || parents === 0) return -1;
  // A task with many relations has them on one side only, so the shorter list is searched.
  for (const at of children < parents ? byParent.list(parent) : byChild.list(child)) {
    const edge = edges[at];
    if (edge?.parent !== parent || edge.child !== child) continue;
    if ((edge.relation === 'group') === (relation === 'group')) return at;
  }
  return -1;
}

function dropEdge(state: RelationState, at: number): void {
  const edge = state.edges[at];
  if (edge === undefined) return;
  state.edges[at] = undefined;
  state.byParent.remove(edge.parent, at);
  state.byChild.remove(edge.child, at);
  state.ages.remove(at);
  state.size--;
  state.bytes -= bytesOf(edge);
  state.free.push(at);
}

function releaseTask(state: RelationState, id: string, isKnown: (id: string) => boolean): void {
  const { edges, byParent, byChild } = state;
  for (const at of byParent.list(id)) if (!isKnown((edges[at] as Edge).child)) dropEdge(state, at);
  for (const at of byChild.list(id)) if (!isKnown((edges[at] as Edge).parent)) dropEdge(state, at);
}

function edgesAt({ edges }: RelationState, numbers: readonly number[]): readonly Edge[] {
  return numbers.flatMap((at) => edges[at] ?? []);
}

function bytesOf({ parent, child }: Edge): number {
  return BYTES_PER_RELATION + parent.length + child.length;
}

/** By the rule of graphs; if kinds are equally specific, the one that sorts first. */
function isMoreSpecific({ relation }: Edge, before: Edge): boolean {
  const difference = specificityOf(relation) - specificityOf(before.relation);
  return difference === 0 ? relation < before.relation : difference > 0;
}

/** Groups slots by a text that they share: the id of a parent, group or chord. Most groups have one member. */
export interface SlotGroups {
  /** Estimate of the memory that the keys take. */
  readonly bytes: number;
  add(key: string, slot: number): void;
  remove(key: string, slot: number): void;
  size(key: string): number;
  /** The slots of a group, in the order in which they were added. */
  list(key: string): readonly number[];
}

/** Approximate memory of a key besides its characters: its entry here, its header. */
const BYTES_PER_KEY = 200;

/** @returns an empty table */
export function createSlotGroups(): SlotGroups {
  const groups = new Map<string, number | Set<number>>();

  function forget(key: string): void {
    groups.delete(key);
    slotGroups.bytes -= BYTES_PER_KEY + key.length;
  }

  const slotGroups: SlotGroups & { bytes: number } = {
    bytes: 0,
    add(key, slot) {
      const group = groups.get(key);
      if (group === undefined) {
        groups.set(key, slot);
        slotGroups.bytes += BYTES_PER_KEY + key.length;
      } else if (typeof group === 'object') group.add(slot);
      else if (group !== slot) groups.set(key, new Set([group, slot]));
    },
    remove(key, slot) {
      const group = groups.get(key);
      if (group === slot) forget(key);
      else if (typeof group === 'object') {
        group.delete(slot);
        if (group.size === 0) forget(key);
      }
    },
    size(key) {
      const group = groups.get(key);
      return group === undefined ? 0 : typeof group === 'object' ? group.size : 1;
    },
    list(key) {
      const group = groups.get(key);
      return group === undefined ? [] : typeof group === 'object' ? [...group] : [group];
    },
  };
  return slotGroups;
}
