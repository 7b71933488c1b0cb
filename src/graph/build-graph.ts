import { isDone, type Task, type TaskTree } from '../model.ts';
import type { Graph, GraphEdge, GraphNode } from './graph-types.ts';
import { type ReadableTree, readTree } from './readable-tree.ts';
import { relationsIn } from './relations.ts';
import { countStates } from './state-counts.ts';

/**
 * Builds the graph of a workflow, always the same for the same tree. Cycles are followed once.
 *
 * @param tree as a source gives it
 * @param askedId the task whose relatives come first
 * @param limit most nodes; of more, the nearest relatives stay, and of a group its first members
 */
export function buildGraph(tree: TaskTree, askedId: string, limit: number): Graph {
  const readable = readTree(tree);
  const { tasks } = readable;
  const edges = edgesOf(readable);
  const order = nearestFirst(edges, tasks, askedId);
  const listed = new Set(order.slice(0, limit));
  const members = membersOf(edges);
  return {
    rootId: tree.rootId,
    nodes: [...listed].map((id) => nodeOf(id, tasks, members)),
    edges: edges.filter(({ source, target }) => listed.has(source) && listed.has(target)),
    counts: countStates([...tasks.values()].map(({ state }) => state)),
    isTruncated: tree.truncated === true || order.length > limit,
    isComplete: hasEnded(tree, tasks, edges),
  };
}

/** Whether every task of a workflow has ended. */
export function isComplete(tree: TaskTree): boolean {
  const readable = readTree(tree);
  return hasEnded(tree, readable.tasks, edgesOf(readable));
}

function hasEnded(tree: TaskTree, tasks: ReadonlyMap<string, Task>, edges: readonly GraphEdge[]): boolean {
  if (tree.truncated === true) return false;
  for (const { state } of tasks.values()) if (!isDone(state)) return false;
  // What others lead to and nobody has seen is still to come; a parent that nobody holds any more is over.
  return edges.every(({ target }) => tasks.has(target));
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

interface Members {
  /** Members of groups by the group's id. */
  readonly groups: ReadonlyMap<string, readonly string[]>;
  /** Header tasks of chords by the body's id. */
  readonly chords: ReadonlyMap<string, readonly string[]>;
}

function membersOf(edges: readonly GraphEdge[]): Members {
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

function nodeOf(id: string, tasks: ReadonlyMap<string, Task>, { groups, chords }: Members): GraphNode {
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
function sortOf({ kind }: Task): GraphNode['kind'] {
  return SORTS.includes(kind) ? (kind ?? null) : null;
}
