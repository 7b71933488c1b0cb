import { isDone, type Task, type TaskRelation, type TaskTree } from '../model.ts';
import type { Graph, GraphEdge, GraphMembers, GraphNode, GraphShape, Links } from './graph-types.ts';
import { type ReadableTree, readTree } from './readable-tree.ts';
import { areLinksOf, linksOf, relationsIn } from './relations.ts';
import { countStates } from './state-counts.ts';

/**
 * Builds the graph of a workflow, always the same for the same tree. Cycles are followed once.
 *
 * @param tree as a source gives it
 * @param askedId the task whose relatives come first
 * @param limit most nodes; of more, the nearest relatives stay, and of a group its first members
 * @param before an earlier graph of the same task and limit: where nothing but states has changed, its
 *   shape is taken over and not found out again
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

/** What of a graph does not depend on the states of its tasks. */
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

/** Whether the shape of this tree, in the order in which its source lists it, is the one given. */
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

/** Whether every task of a workflow has ended. */
export function isComplete(tree: TaskTree): boolean {
  const readable = readTree(tree);
  const unseen = unseenOf(edgesOf(readable), readable.tasks);
  return tree.truncated !== true && haveEnded(readable.tasks) && !isAwaited(unseen, readable.tasks);
}

function haveEnded(tasks: ReadonlyMap<string, Task>): boolean {
  for (const { state } of tasks.values()) if (!isDone(state)) return false;
  return true;
}

/** Edges that lead to what nobody has seen; a parent that nobody holds any more is over. */
function unseenOf(edges: readonly GraphEdge[], tasks: ReadonlyMap<string, Task>): GraphEdge[] {
  return edges.filter(({ target }) => !tasks.has(target));
}

/**
 * Whether anything that nobody has seen is still to come. What follows a task that failed never does, and
 * what follows its failure never does when it has ended otherwise.
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

/** Ids of all nodes that hang together with the asked task, breadth first. */
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
  // A set is walked in the order of insertion, also over what is added on the way.
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

/** A real task is never a group or a chord, whatever its source says. */
function sortOf(task: Task): GraphNode['kind'] {
  try {
    const { kind } = task;
    return SORTS.includes(kind) ? (kind ?? null) : null;
  } catch {
    return null;
  }
}
