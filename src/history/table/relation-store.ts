/**
 * Relations that other tasks report: typed edges between ids, whether tasks with these ids are known or not.
 * Bounded by number and bytes; the oldest are dropped first.
 */
import { specificityOf } from '../../graph.ts';
import type { TaskRelation } from '../../model.ts';
import { createArrivals } from './arrivals.ts';
import { createSlotGroups } from './slot-groups.ts';

/** About what columns, two indexes and the order of age take. */
const BYTES_PER_RELATION = 250;

/** A relation whose both ends are named. */
export type Edge = TaskRelation & { readonly parent: string };

/** The relations. Between two ids there is one, and beside it membership of a group. */
export interface RelationStore {
  readonly size: number;
  /** Estimate in bytes. */
  readonly bytes: number;
  /** @returns whether it is new, or more specific than the one before */
  add(parent: string, child: string, relation: string): boolean;
  /** Whether any names this id. */
  has(id: string): boolean;
  /** Those that lead away from a task, or the members of a group. */
  from(parent: string): readonly Edge[];
  /** Those that lead to a task. */
  to(child: string): readonly Edge[];
  /** Drops what names this task and no other known one. */
  release(id: string, isKnown: (id: string) => boolean): void;
  clear(): void;
}

/** @param maxCount and maxBytes most relations, and most bytes of them */
export function createRelationStore(maxCount: number, maxBytes: number): RelationStore {
  const edges: (Edge | undefined)[] = [];
  const free: number[] = [];
  const byParent = createSlotGroups();
  const byChild = createSlotGroups();
  const ages = createArrivals();
  let size = 0;
  let bytes = 0;

  const weigh = ({ parent, child }: Edge): number => BYTES_PER_RELATION + parent.length + child.length;
  const read = (numbers: readonly number[]): readonly Edge[] => numbers.flatMap((at) => edges[at] ?? []);

  function find(parent: string, child: string, isGroup: boolean): number {
    const [one, other] = [byParent.size(parent), byChild.size(child)];
    if (one === 0 || other === 0) return -1;
    // A hub has many on one side only.
    for (const at of one < other ? byParent.list(parent) : byChild.list(child)) {
      const edge = edges[at];
      if (edge?.parent === parent && edge.child === child && (edge.relation === 'group') === isGroup)
        return at;
    }
    return -1;
  }

  function drop(at: number): void {
    const edge = edges[at];
    if (edge === undefined) return;
    edges[at] = undefined;
    byParent.remove(edge.parent, at);
    byChild.remove(edge.child, at);
    ages.remove(at);
    size--;
    bytes -= weigh(edge);
    free.push(at);
  }

  return {
    get size() {
      return size;
    },
    get bytes() {
      return bytes;
    },
    add(parent, child, relation) {
      const known = find(parent, child, relation === 'group');
      const edge = { parent, child, relation };
      if (known >= 0) {
        const before = edges[known] as Edge;
        if (before.relation === relation || !isMoreSpecific(edge, before)) return false;
        edges[known] = { ...before, relation };
        return true;
      }
      const at = free.pop() ?? edges.length;
      edges[at] = edge;
      byParent.add(parent, at);
      byChild.add(child, at);
      ages.touch(at, 0);
      size++;
      bytes += weigh(edge);
      while (size > 1 && (size > maxCount || bytes > maxBytes)) drop(ages.oldest());
      return true;
    },
    has: (id) => size > 0 && (byParent.size(id) > 0 || byChild.size(id) > 0),
    from: (parent) => read(byParent.list(parent)),
    to: (child) => read(byChild.list(child)),
    release(id, isKnown) {
      for (const at of byParent.list(id)) if (!isKnown((edges[at] as Edge).child)) drop(at);
      for (const at of byChild.list(id)) if (!isKnown((edges[at] as Edge).parent)) drop(at);
    },
    clear() {
      for (let at = 0; at < edges.length; at++) drop(at);
    },
  };
}

/** By the rule of graphs; of kinds that are equally specific, the one that sorts first. */
function isMoreSpecific({ relation }: Edge, before: Edge): boolean {
  const difference = specificityOf(relation) - specificityOf(before.relation);
  return difference === 0 ? relation < before.relation : difference > 0;
}
