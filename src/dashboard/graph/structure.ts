/**
 * Decides which nodes of a workflow to draw: large groups are folded into one node each, and optionally only the
 * failed path is kept.
 */
import type { GraphState } from '../../client.ts';
import type { GraphEdgeBody, GraphNodeBody } from '../../wire.ts';
import { each, type Steps } from '../slices.ts';

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
  { nodes, edges }: Pick<GraphState, 'nodes' | 'edges'>,
  failed: ReadonlySet<string>,
) {
  const before = Map.groupBy(edges, ({ target }) => target);
  const kept = new Set(failed);
  const queue = [...kept];
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    for (const { source } of before.get(id) ?? []) {
      if (!kept.has(source)) queue.push(source);
      kept.add(source);
    }
  }
  return {
    nodes: nodes.filter(({ id }) => kept.has(id)),
    edges: edges.filter(({ source, target }) => kept.has(source) && kept.has(target)),
  };
}

/** Maximum number of siblings with the same name that are drawn separately. */
const MOST_SIBLINGS = 8;
/**
 * Maximum number of nodes that are readable and that a slow processor draws within 100 ms: above it, all equal siblings
 * are folded, then all equal tasks of one depth, and at last those that follow the first ones.
 */
const MOST_DRAWN = 250;
/** How many tasks of a folded node are drawn each time the reader opens it. */
export const MOST_OPENED = 100;

/** Id of the node that represents all tasks after the first ones, and their common name. */
const REST = '…';
export const OTHERS = 'other tasks';
/** Ends the id of what is left of a folded node after it was opened, once for each time. */
const MORE = ' …';

/** Whether a drawn node represents tasks of several names. */
const isRest = (id: string): boolean => id === REST || id.startsWith(REST + MORE);

type PlaceOf = (id: string) => string | undefined;

/**
 * Maps each folded node to the drawn node that represents it.
 *
 * @param expanded ids of folded nodes that the reader has opened
 */
function* fold(
  nodes: readonly GraphNodeBody[],
  edges: readonly GraphEdgeBody[],
  expanded: ReadonlySet<string>,
): Steps<ReadonlyMap<string, string>> {
  const parentOf = new Map<string, string>();
  // For folding, a task's group is more useful than its sender.
  yield* each(edges, ({ source, target, kind }) => {
    // The parent in a flow runs after its children.
    const [parent, child] = kind === 'flow' ? [target, source] : [source, target];
    if (kind === 'group' || !parentOf.has(child)) parentOf.set(child, parent);
  });
  const parent: PlaceOf = (id) => parentOf.get(id);
  let siblings = yield* alike(nodes, parent, MOST_SIBLINGS);
  if (drawn(nodes, siblings) > MOST_DRAWN) siblings = yield* alike(nodes, parent, 1);
  if (drawn(nodes, siblings) > MOST_DRAWN) {
    const depths = yield* depthsOf(nodes, parentOf);
    siblings = yield* alike(nodes, (id) => (parentOf.has(id) ? `depth ${depths.get(id)}` : undefined), 1);
  }
  const drawnIdOf = new Map<string, string>();
  for (const [key, ids] of siblings) yield* each(ids, (id) => void drawnIdOf.set(id, key));
  const first = new Set<string>();
  const folded = new Map<string, string[]>();
  yield* each(nodes, ({ id }) => {
    const key = drawnIdOf.get(id);
    if (first.size < MOST_DRAWN) first.add(key ?? id);
    const place = first.has(key ?? id) ? key : REST;
    if (place !== undefined) listed(folded, place).push(id);
  });
  return yield* opened(folded, expanded);
}

/** The id of the drawn node that represents each folded one, apart from those that the reader has opened. */
function* opened(
  folded: ReadonlyMap<string, readonly string[]>,
  expanded: ReadonlySet<string>,
): Steps<ReadonlyMap<string, string>> {
  const drawnIdOf = new Map<string, string>();
  for (const [key, ids] of folded) {
    let times = 0;
    while (expanded.has(key + MORE.repeat(times))) times += 1;
    const left = ids.slice(times * MOST_OPENED);
    yield* each(left, (id) => void drawnIdOf.set(id, key + MORE.repeat(times)));
  }
  return drawnIdOf;
}

function listed(lists: Map<string, string[]>, key: string): string[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}

/** Tasks with the same name and place, if there are more than `most`. */
function* alike(
  nodes: readonly GraphNodeBody[],
  placeOf: PlaceOf,
  most: number,
): Steps<ReadonlyMap<string, readonly string[]>> {
  const siblings = new Map<string, string[]>();
  yield* each(nodes, ({ id, task_name, kind }) => {
    const place = placeOf(id);
    if (place === undefined || kind === 'group' || kind === 'chord') return;
    const key = `${place} × ${task_name}`;
    listed(siblings, key).push(id);
  });
  return new Map([...siblings].filter(([, ids]) => ids.length > most));
}

const drawn = (nodes: readonly unknown[], siblings: ReadonlyMap<string, readonly string[]>): number =>
  [...siblings.values()].reduce((sum, ids) => sum - ids.length + 1, nodes.length);

/** Number of senders above each node. */
function* depthsOf(
  nodes: readonly GraphNodeBody[],
  parentOf: ReadonlyMap<string, string>,
): Steps<ReadonlyMap<string, number>> {
  const depths = new Map<string, number>();
  yield* each(nodes, ({ id }) => {
    const path = new Set<string>();
    let at: string | undefined = id;
    while (at !== undefined && !depths.has(at) && !path.has(at)) {
      path.add(at);
      at = parentOf.get(at);
    }
    const above = at === undefined ? -1 : (depths.get(at) ?? -1);
    [...path].toReversed().forEach((step, index) => void depths.set(step, above + 1 + index));
  });
  return depths;
}
