import { isDone, type Task, type TaskRelation, type TaskTree } from '../model.ts';
import type { Graph, GraphEdge, GraphMembers, GraphNode, GraphShape, Links } from './graph-types.ts';
import { type ReadableTree, readTree } from './readable-tree.ts';
import { areLinksOf, linksOf, relationsIn } from './relations.ts';
import { countStates } from './state-counts.ts';

/**
 * Builds the graph of a workflow. The same tree always gives the same graph; cycles are followed once.
 *
 * @param tree the workflow as the source returned it
 * @param askedId the requested task; its closest relatives come first
 * @param limit maximum number of nodes. A larger workflow keeps the closest relatives, a larger group its
 *   first members
 * @param before shape of an earlier graph with the same task and limit. It is reused when only states have
 *   changed
 */
export function buildGraph(tree: TaskTree, askedId: string, limit: number, before?: GraphShape): Graph {
  const readable = readTree(tree);
  const { tasks } = readable;
  const shape =
    before !== undefined && hasShape(readable, before) ? before : shapeOf(readable, askedId, limit);
  const { edges, members } = shape;
  return {
    rootId: tree.rootId,
    nodes: shape.listed.map((id) => nodeOf(id, tasks, members)),
    edges,
    counts: countStates([...tasks.values()].map(({ state }) => state)),
    isTruncated: tree.truncated === true || shape.isCut,
    isComplete: tree.truncated !== true && haveEnded(tasks) && !isAwaited(shape.unseen, tasks),
    shape,
  };
}

/** Computes the part of a graph that does not depend on task states. */
function shapeOf(tree: ReadableTree, askedId: string, limit: number): GraphShape {
  const { tasks } = tree;
  const edges = edgesOf(tree);
  const order = nearestFirst(edges, tasks, askedId);
  const listed = new Set(order.slice(0, limit));
  return {
    links: [...tasks.values()].map(linksOf),
    kinds: [...tasks.values()].map(sortOf),
    relations: tree.relations,
    listed: [...listed],
    edges: edges.filter(({ source, target }) => listed.has(source) && listed.has(target)),
    members: membersOf(edges),
    isCut: order.length > limit,
    unseen: unseenOf(edges, tasks),
  };
}

/** Whether this tree, in the order in which its source lists it, still has the given shape. */
function hasShape(
  { tasks, relations }: ReadableTree,
  { links, kinds, relations: others }: GraphShape,
): boolean {
  if (tasks.size !== links.length || relations.length !== others.length) return false;
  let index = 0;
  for (const task of tasks.values()) {
    if (!areLinksOf(task, links[index] as Links) || sortOf(task) !== kinds[index]) return false;
    index += 1;
  }
  return relations.every((one, at) => {
    const other = others[at] as TaskRelation;
    return one.parent === other.parent && one.child === other.child && one.relation === other.relation;
  });
}

/** Whether every task of a workflow has ended and no other task is still expected. */
export function isComplete(tree: TaskTree): boolean {
  const readable = readTree(tree);
  const unseen = unseenOf(edgesOf(readable), readable.tasks);
  return tree.truncated !== true && haveEnded(readable.tasks) && !isAwaited(unseen, readable.tasks);
}

function haveEnded(tasks: ReadonlyMap<string, Task>): boolean {
  for (const { state } of tasks.values()) if (!isDone(state)) return false;
  return true;
}

/** Edges to tasks that no source has seen. A missing parent does not count: it has ended and was evicted. */
function unseenOf(edges: readonly GraphEdge[], tasks: ReadonlyMap<string, Task>): GraphEdge[] {
  return edges.filter(({ target }) => !tasks.has(target));
}

/**
 * Whether an unseen task may still run. A failed task never starts its successors, and a task that did not
 * fail never starts its error callbacks.
 */
function isAwaited(unseen: readonly GraphEdge[], tasks: ReadonlyMap<string, Task>): boolean {
  return unseen.some(({ source, kind }) => {
    const task = tasks.get(source);
    if (task === undefined || !isDone(task.state)) return true;
    const failed = task.state !== 'SUCCESS';
    if (kind === 'link_error') return task.state === 'FAILURE';
    return !(failed && (kind === 'link' || kind === 'chain'));
  });
}

function edgesOf(tree: ReadableTree): GraphEdge[] {
  const edges: GraphEdge[] = [];
  for (const { parent, child, relation } of relationsIn(tree)) {
    if (parent === null) continue;
    edges.push({ id: `${parent}->${child}:${relation}`, source: parent, target: child, kind: relation });
  }
  return edges;
}

/** Ids of all nodes connected to the requested task, breadth first. */
function nearestFirst(
  edges: readonly GraphEdge[],
  tasks: ReadonlyMap<string, Task>,
  askedId: string,
): string[] {
  const neighbours = new Map<string, string[]>();
  for (const { source, target } of edges) {
    push(neighbours, source, target);
    push(neighbours, target, source);
  }
  const seen = new Set<string>();
  if (tasks.has(askedId) || neighbours.has(askedId)) seen.add(askedId);
  // Iterating a Set also visits items that are added during the iteration.
  for (const id of seen) for (const next of neighbours.get(id) ?? []) seen.add(next);
  return [...seen];
}

function membersOf(edges: readonly GraphEdge[]): GraphMembers {
  const groups = new Map<string, string[]>();
  const chords = new Map<string, string[]>();
  for (const { source, target, kind } of edges) {
    if (kind === 'group') push(groups, source, target);
    else if (kind === 'chord') push(chords, target, source);
  }
  return { groups, chords };
}

function push(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

function nodeOf(id: string, tasks: ReadonlyMap<string, Task>, { groups, chords }: GraphMembers): GraphNode {
  const task = tasks.get(id);
  if (task !== undefined) return { id, task, kind: sortOf(task), members: null };
  const group = groups.get(id);
  const members = group ?? chords.get(id);
  if (members === undefined) return { id, task: null, kind: null, members: null };
  const states = members.flatMap((member) => tasks.get(member)?.state ?? []);
  return { id, task: null, kind: group === undefined ? 'chord' : 'group', members: countStates(states) };
}

const SORTS: readonly unknown[] = ['map', 'starmap', 'chunks'];

/** A source may set any kind on a task, but only virtual nodes are groups or chords. */
function sortOf(task: Task): GraphNode['kind'] {
  try {
    const { kind } = task;
    return SORTS.includes(kind) ? (kind ?? null) : null;
  } catch {
    return null;
  }
}
