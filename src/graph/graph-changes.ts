/** Compares successive graphs of one task. It works with any source, because it needs only the graphs. */
import { flagsOf, type Task } from '../model.ts';
import type { Steps } from '../scheduler.ts';
import type { Graph, GraphNode, GraphShape } from './graph-types.ts';
import { ITEMS_PER_STEP } from './readable-tree.ts';

/** When each part of a graph last changed, as numbers that grow with every change. Never modified. */
export interface GraphChanges {
  /** The latest change, and the first known one. */
  readonly latest: number;
  readonly first: number;
  readonly shape: GraphShape;
  /** Per node of the shape: a fingerprint of the fields in an update, and the change that last altered it. */
  readonly prints: readonly string[];
  readonly changedAt: readonly number[];
  /** The change that last altered the topology, by node limit. The last entry applies to all larger limits. */
  readonly topologyChangedAt: readonly number[];
}

/**
 * Finds the changes since the previous graph.
 *
 * @param before changes of the previous graph; `null` if there is none
 * @param next number for the changes that are found
 */
export function* findChanges(
  { nodes, shape }: Graph,
  before: GraphChanges | null,
  next: number,
): Steps<GraphChanges> {
  if (before === null) {
    const prints = yield* printsOf(nodes);
    const changedAt = prints.map(() => next);
    return { latest: next, first: next, shape, prints, changedAt, topologyChangedAt: [next] };
  }
  const isSameShape = before.shape === shape;
  const topologyChangedAt = isSameShape
    ? before.topologyChangedAt
    : yield* compareTopologies(before, shape, next);
  const indexBefore = isSameShape ? null : new Map(before.shape.nodes.map(({ id }, index) => [id, index]));
  const prints = yield* printsOf(nodes);
  const changedAt: number[] = [];
  for (const { id } of nodes) {
    const index = changedAt.length;
    const at = indexBefore === null ? index : (indexBefore.get(id) ?? -1);
    const isSame = before.prints[at] === prints[index];
    if (changedAt.push(isSame ? (before.changedAt[at] as number) : next) % ITEMS_PER_STEP === 0) yield;
  }
  const isChanged = topologyChangedAt.includes(next) || changedAt.includes(next);
  // Without a change the previous arrays are kept, so that the new ones can be freed.
  if (!isChanged && isSameShape) return before;
  return { ...before, latest: isChanged ? next : before.latest, shape, prints, changedAt, topologyChangedAt };
}

/**
 * Compares the nodes and edges listed at each node limit. The topology at a limit has changed if a node or an edge is
 * listed in only one of the two graphs.
 *
 * @returns the number of the latest change by node limit
 */
function* compareTopologies(before: GraphChanges, shape: GraphShape, next: number): Steps<readonly number[]> {
  const known = before.topologyChangedAt;
  // In both graphs, higher limits list the same as this one.
  const most = Math.max(known.length - 1, before.shape.nodes.length, shape.nodes.length);
  // The sum of the entries up to a limit is the number of differences at that limit.
  const differences = new Int32Array(most + 2);
  function differBetween(limit: number, other: number): void {
    (differences[Math.min(limit, other)] as number) += 1;
    (differences[Math.max(limit, other)] as number) -= 1;
  }

  const earlier = yield* limitsOf(before.shape);
  let count = 0;
  for (const [part, limit] of yield* limitsOf(shape)) {
    differBetween(limit, earlier.get(part) ?? most + 1);
    earlier.delete(part);
    if (++count % ITEMS_PER_STEP === 0) yield;
  }
  for (const limit of earlier.values()) differBetween(limit, most + 1);
  let sum = 0;
  return Array.from({ length: most + 1 }, (_, limit) => {
    sum += differences[limit] as number;
    return sum > 0 ? next : (known[Math.min(limit, known.length - 1)] as number);
  });
}

/** The smallest limit that lists each node with its kind, and each edge. */
function* limitsOf({ nodes, edges }: GraphShape): Steps<Map<string, number>> {
  const limits = new Map<string, number>();
  for (const [index, { id, kind, isTask }] of nodes.entries()) {
    limits.set(`node ${kind} ${isTask} ${id}`, index + 1);
    if (index % ITEMS_PER_STEP === 0) yield;
  }
  for (const [index, { id, source, kind, limit }] of edges.entries()) {
    // The lengths keep the key unique if ids contain the separators of edges.
    limits.set(`edge ${source.length} ${kind.length} ${id}`, limit);
    if (index % ITEMS_PER_STEP === 0) yield;
  }
  return limits;
}

function* printsOf(nodes: readonly GraphNode[]): Steps<readonly string[]> {
  const prints: string[] = [];
  for (const node of nodes) {
    if (prints.push(printOf(node)) % ITEMS_PER_STEP === 0) yield;
  }
  return prints;
}

/** Frozen tasks only: they cannot change, and sources often return the same object again. */
const frozenPrints = new WeakMap<Task, string>();

/** Fingerprint of all fields that an update carries. */
function printOf({ task, members }: GraphNode): string {
  if (task === null) return JSON.stringify(members);
  const known = frozenPrints.get(task);
  if (known !== undefined) return known;
  try {
    const { state, engineState, runtime, waitSeconds, retries, worker } = task;
    const { sent, received, eta, started, finished } = task;
    const times = [sent, received, eta, started, finished];
    const fields = [state, engineState, runtime, waitSeconds, retries, worker, ...times].map(fieldPrint);
    const print = `${flagsOf(task.flags)}\n${fields.join('\n')}`;
    if (Object.isFrozen(task)) frozenPrints.set(task, print);
    return print;
  } catch {
    // An unreadable task is shown as one known only by reference.
    return 'unreadable';
  }
}

/** Values of other types are left out: an update carries `null` for them, and some cannot be converted to text. */
function fieldPrint(value: unknown): string | number {
  if (typeof value === 'string' || typeof value === 'number') return value;
  try {
    return value instanceof Date ? value.getTime() : '';
  } catch {
    // A Proxy may throw.
    return '';
  }
}
