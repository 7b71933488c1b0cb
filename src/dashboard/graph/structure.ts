/** What is drawn of a workflow: big groups as one node each, and only the failed path if that is asked for. */
import type { GraphEdgeBody, GraphNodeBody } from '../../client.ts';

/** A node of the drawing: a task, a group, or many tasks of one sort. */
export interface DrawnNode {
  readonly id: string;
  readonly name: string;
  /** What it stands for: its own id alone, or those of all that are folded into it. */
  readonly members: readonly string[];
  /** `tasks` are many in one; `unseen` is known only by reference. */
  readonly kind: 'task' | 'tasks' | 'group' | 'chord' | 'unseen';
}

export interface DrawnEdge {
  readonly source: string;
  readonly target: string;
  readonly kind: string;
}

export interface Structure {
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly DrawnEdge[];
  /** Of each node of the workflow, the drawn node that it is in. */
  readonly placeOf: ReadonlyMap<string, string>;
}

/** More tasks of one name below one parent are drawn as one. */
const MOST_SIBLINGS = 8;

/** @param expanded ids of folded nodes that the reader has opened */
export function structureOf(
  nodes: readonly GraphNodeBody[],
  edges: readonly GraphEdgeBody[],
  expanded: ReadonlySet<string>,
): Structure {
  const placeOf = fold(nodes, edges, expanded);
  const drawn = new Map<string, { node: GraphNodeBody; members: string[] }>();
  for (const node of nodes) {
    const place = placeOf.get(node.id) ?? node.id;
    const before = drawn.get(place);
    if (before === undefined) drawn.set(place, { node, members: [node.id] });
    else before.members.push(node.id);
  }
  const seen = new Set<string>();
  const drawnEdges = edges.flatMap(({ source, target, kind }) => {
    const from = placeOf.get(source) ?? source;
    const to = placeOf.get(target) ?? target;
    const key = `${from}\n${to}`;
    if (from === to || seen.has(key)) return [];
    seen.add(key);
    return [{ source: from, target: to, kind }];
  });
  return {
    nodes: [...drawn].map(([id, { node, members }]) => ({
      id,
      members,
      name: node.task_name ?? node.kind ?? 'not seen yet',
      kind: kindOf(node, members.length),
    })),
    edges: drawnEdges,
    placeOf,
  };
}

function kindOf({ kind, state }: GraphNodeBody, count: number): DrawnNode['kind'] {
  if (count > 1) return 'tasks';
  if (kind === 'group' || kind === 'chord') return kind;
  return state === null ? 'unseen' : 'task';
}

/** Siblings of one name, where they are many, share a place. */
function fold(
  nodes: readonly GraphNodeBody[],
  edges: readonly GraphEdgeBody[],
  expanded: ReadonlySet<string>,
): Map<string, string> {
  const parentOf = new Map<string, string>();
  // A group says more of its members than who sent them.
  for (const { source, target, kind } of edges) {
    if (kind === 'group' || !parentOf.has(target)) parentOf.set(target, source);
  }
  const siblings = new Map<string, string[]>();
  for (const { id, task_name, kind } of nodes) {
    const parent = parentOf.get(id);
    if (parent === undefined || kind === 'group' || kind === 'chord') continue;
    const key = `${parent} × ${task_name}`;
    const group = siblings.get(key);
    if (group === undefined) siblings.set(key, [id]);
    else group.push(id);
  }
  const placeOf = new Map<string, string>();
  for (const [key, ids] of siblings) {
    if (ids.length <= MOST_SIBLINGS || expanded.has(key)) continue;
    for (const id of ids) placeOf.set(id, key);
  }
  return placeOf;
}

/** The nodes from which something failed can be reached, and what failed. */
export function failedPath(
  nodes: readonly GraphNodeBody[],
  edges: readonly GraphEdgeBody[],
): { readonly nodes: GraphNodeBody[]; readonly edges: GraphEdgeBody[] } {
  const sources = new Map<string, string[]>();
  for (const { source, target } of edges) sources.set(target, [...(sources.get(target) ?? []), source]);
  const kept = new Set(
    nodes.filter(({ state }) => state === 'FAILURE' || state === 'REJECTED').map(({ id }) => id),
  );
  const queue = [...kept];
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    for (const source of sources.get(id) ?? []) {
      if (!kept.has(source)) queue.push(source);
      kept.add(source);
    }
  }
  return {
    nodes: nodes.filter(({ id }) => kept.has(id)),
    edges: edges.filter(({ source, target }) => kept.has(source) && kept.has(target)),
  };
}
