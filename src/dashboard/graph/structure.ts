/**
 * Decides which nodes of a workflow to draw: large groups are folded into one node each, and optionally only the
 * failed path is kept.
 */
import type { GraphEdgeBody, GraphNodeBody } from '../../wire.ts';
import { each, type Steps } from '../slices.ts';
import { fold, isRest, OTHERS } from './fold.ts';
import { hasFailed } from './node-state.ts';

/** A node of the drawing: a task, a group, or several folded tasks of one name. */
export interface DrawnNode {
  readonly id: string;
  readonly name: string;
  /** Ids of the nodes that it represents: its own, or those of all folded tasks. */
  readonly members: readonly string[];
  /** `tasks` represents several tasks; `unseen` has not been reported yet. */
  readonly kind: 'task' | 'tasks' | 'group' | 'chord' | 'unseen';
}

/** An edge between two drawn nodes. */
export interface DrawnEdge {
  readonly source: string;
  readonly target: string;
  readonly kind: string;
}

/** The drawn nodes and edges of a workflow. */
export interface Structure {
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly DrawnEdge[];
  /** Id of the drawn node for each node of the workflow. */
  readonly drawnIdOf: ReadonlyMap<string, string>;
}

/**
 * Folds a workflow into drawn nodes and edges.
 *
 * @param expanded ids of folded nodes that the reader has opened
 */
export function* structureOf(
  nodes: readonly GraphNodeBody[],
  edges: readonly GraphEdgeBody[],
  expanded: ReadonlySet<string>,
): Steps<Structure> {
  const drawnIdOf = yield* fold(nodes, edges, expanded);
  const drawn = new Map<string, { node: GraphNodeBody; members: string[] }>();
  yield* each(nodes, (node) => {
    const drawnId = drawnIdOf.get(node.id) ?? node.id;
    const before = drawn.get(drawnId);
    if (before === undefined) drawn.set(drawnId, { node, members: [node.id] });
    else before.members.push(node.id);
  });
  const seen = new Set<string>();
  const drawnEdges: DrawnEdge[] = [];
  yield* each(edges, ({ source, target, kind }) => {
    const from = drawnIdOf.get(source) ?? source;
    const to = drawnIdOf.get(target) ?? target;
    const key = `${from}\n${to}`;
    if (from === to || seen.has(key)) return;
    seen.add(key);
    drawnEdges.push({ source: from, target: to, kind });
  });
  return {
    nodes: [...drawn].map(([id, { node, members }]) => ({
      id,
      members,
      name: isRest(id) && members.length > 1 ? OTHERS : (node.task_name ?? node.kind ?? 'not seen yet'),
      kind: kindOf(node, members.length),
    })),
    edges: drawnEdges,
    drawnIdOf,
  };
}

function kindOf({ kind, state }: GraphNodeBody, count: number): DrawnNode['kind'] {
  if (count > 1) return 'tasks';
  if (kind === 'group' || kind === 'chord') return kind;
  return state === null ? 'unseen' : 'task';
}

/** The tasks that failed themselves, and all nodes from which one of them is reachable. */
export function failedPath(
  nodes: readonly GraphNodeBody[],
  edges: readonly GraphEdgeBody[],
): { readonly nodes: GraphNodeBody[]; readonly edges: GraphEdgeBody[] } {
  const sources = new Map<string, string[]>();
  for (const { source, target } of edges) sources.set(target, [...(sources.get(target) ?? []), source]);
  const kept = new Set(nodes.filter(hasFailed).map(({ id }) => id));
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
