import type { TaskRelation } from '../model.ts';
import type { Steps } from '../scheduler.ts';
import type { GraphEdge, GraphShape, Links, ShapeEdge, ShapeNode } from './graph-types.ts';
import { ITEMS_PER_STEP, type ReadableTree } from './readable-tree.ts';
import { FLOW, relationsOf } from './relations.ts';

/**
 * The shape of a workflow. The same tree always has the same shape; cycles are followed once.
 *
 * @param askedId the requested task; its closest relatives come first
 * @param most maximum number of nodes. A larger group keeps its first members
 */
export function* shapeOf(tree: ReadableTree, askedId: string, most: number): Steps<GraphShape> {
  const relations = yield* relationsOf(tree);
  const { tasks } = tree;
  const edges: GraphEdge[] = [];
  const neighbours = new Map<string, string[]>();
  const groups = new Map<string, string[]>();
  const chords = new Map<string, string[]>();
  for (const { parent, child, relation } of relations) {
    if (parent === null) continue;
    edges.push({ id: `${parent}->${child}:${relation}`, source: parent, target: child, kind: relation });
    push(neighbours, parent, child);
    push(neighbours, child, parent);
    if (relation === 'group') push(groups, parent, child);
    else if (relation === 'chord') push(chords, child, parent);
    if (edges.length % ITEMS_PER_STEP === 0) yield;
  }
  const isKnown = tasks.has(askedId) || neighbours.has(askedId);
  const { ids, isCut } = yield* nearestFirst(isKnown ? [askedId] : [], neighbours, most);

  function nodeOf(id: string): ShapeNode {
    const task = tasks.get(id);
    if (task !== undefined) return { id, kind: task.links.kind, isTask: true, members: null };
    const group = groups.get(id);
    const members = group ?? chords.get(id) ?? null;
    const kind = members === null ? null : group === undefined ? 'chord' : 'group';
    return { id, kind, isTask: false, members };
  }

  const between = yield* edgesBetween(ids, edges);
  return {
    links: [...tasks.values()].map(({ links }) => links),
    listedRelations: tree.relations,
    relations,
    nodes: ids.map(nodeOf),
    edges: between,
    edgeCounts: countByLimit(between, ids.length),
    isCut,
    // A missing parent does not count: it has ended and was evicted.
    unseen: edges.filter(({ target, kind }) => kind !== FLOW && !tasks.has(target)),
  };
}

/** Whether a tree, in the order in which its source lists it, still has this shape. */
export function* hasShape(tree: ReadableTree, { links, listedRelations }: GraphShape): Steps<boolean> {
  const { tasks, relations } = tree;
  if (tasks.size !== links.length || relations.length !== listedRelations.length) return false;
  let at = 0;
  for (const task of tasks.values()) {
    if (!areSameLinks(task.links, links[at] as Links)) return false;
    if (++at % ITEMS_PER_STEP === 0) yield;
  }
  for (const [index, relation] of relations.entries()) {
    if (!areSameRelations(relation, listedRelations[index] as TaskRelation)) return false;
    if (++at % ITEMS_PER_STEP === 0) yield;
  }
  return true;
}

function areSameLinks(one: Links, other: Links): boolean {
  return (
    one.id === other.id &&
    one.parentId === other.parentId &&
    one.groupId === other.groupId &&
    one.chordId === other.chordId &&
    one.kind === other.kind
  );
}

function areSameRelations(one: TaskRelation, other: TaskRelation): boolean {
  return one.parent === other.parent && one.child === other.child && one.relation === other.relation;
}

/** Ids of the nodes that are connected to the first ones, breadth first. */
function* nearestFirst(
  first: readonly string[],
  neighbours: ReadonlyMap<string, readonly string[]>,
  most: number,
): Steps<{ readonly ids: readonly string[]; readonly isCut: boolean }> {
  const seen = new Set(first);
  let count = 0;
  // Iterating a Set also visits items that are added during the iteration.
  for (const id of seen) {
    for (const next of neighbours.get(id) ?? []) {
      if (seen.size === most && !seen.has(next)) return { ids: [...seen], isCut: true };
      seen.add(next);
      if (++count % ITEMS_PER_STEP === 0) yield;
    }
  }
  return { ids: [...seen], isCut: false };
}

/** The edges whose ends are both among these nodes. */
function* edgesBetween(ids: readonly string[], edges: readonly GraphEdge[]): Steps<readonly ShapeEdge[]> {
  const ranks = new Map(ids.map((id, index) => [id, index]));
  const between: ShapeEdge[] = [];
  let count = 0;
  for (const edge of edges) {
    const [source, target] = [ranks.get(edge.source), ranks.get(edge.target)];
    if (source !== undefined && target !== undefined) {
      between.push({ ...edge, limit: Math.max(source, target) + 1 });
    }
    if (++count % ITEMS_PER_STEP === 0) yield;
  }
  return between;
}

/** Number of edges at each node limit, from 0 to the number of nodes. */
function countByLimit(edges: readonly ShapeEdge[], nodeCount: number): Uint32Array {
  const counts = new Uint32Array(nodeCount + 1);
  for (const { limit } of edges) counts[limit] = (counts[limit] ?? 0) + 1;
  for (let limit = 1; limit <= nodeCount; limit += 1) {
    counts[limit] = (counts[limit] ?? 0) + (counts[limit - 1] ?? 0);
  }
  return counts;
}

function push(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
