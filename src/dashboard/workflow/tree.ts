/** The order of a workflow's rows: each task below its sender, the steps of a chain one after the other. */
import type { GraphEdgeBody, GraphNodeBody } from '../../wire.ts';
import { isConsequence } from '../graph/node-state.ts';
import { each, type Steps } from '../slices.ts';
import { millis } from '../text/format.ts';

/** A workflow as a forest. */
export interface Tree {
  readonly roots: readonly string[];
  readonly childrenOf: ReadonlyMap<string, readonly string[]>;
  /** The row above; missing for roots. */
  readonly parentOf: ReadonlyMap<string, string>;
  /** By task: what it shares with the siblings with which it may be folded: sender, group and name. */
  readonly foldOf: ReadonlyMap<string, string>;
}

interface Ties {
  /** The task that sent it, or that waits for it in a flow. */
  readonly above: Map<string, string>;
  /** The previous step: of its chain, or the last header task for the body of a chord. */
  readonly before: Map<string, string>;
  readonly groupOf: Map<string, string>;
}

/** Arranges the nodes of a graph. Cycles are cut at their start. */
export function* treeOf(nodes: readonly GraphNodeBody[], edges: readonly GraphEdgeBody[]): Steps<Tree> {
  const times = new Map<string, number | null>();
  yield* each(nodes, (node) => times.set(node.id, firstTime(node)));
  const ties = yield* tiesOf(edges, times);
  const parentOf = yield* parentsOf(nodes, ties);
  const childrenOf = new Map<string, string[]>();
  const roots: string[] = [];
  const ordered = yield* inOrder(nodes, ties.before, times);
  yield* each(ordered, (id) => {
    const parent = parentOf.get(id);
    const siblings = parent === undefined ? roots : (childrenOf.get(parent) ?? []);
    siblings.push(id);
    if (parent !== undefined) childrenOf.set(parent, siblings);
  });
  // A group whose members have a sender adds nothing.
  const groups = new Set(nodes.filter(({ kind }) => kind === 'group').map(({ id }) => id));
  const isShown = (id: string): boolean => !groups.has(id) || childrenOf.has(id);
  for (const [parent, children] of childrenOf) childrenOf.set(parent, children.filter(isShown));
  const foldOf = new Map<string, string>();
  yield* each(nodes, ({ id, task_name, kind }) => {
    foldOf.set(id, JSON.stringify([parentOf.get(id), ties.groupOf.get(id), task_name, kind]));
  });
  return { roots: roots.filter(isShown), childrenOf, parentOf, foldOf };
}

/**
 * When a task first appears; `null` if unknown. Steps that never ran all end when the previous task
 * fails, in any order.
 */
function firstTime(node: GraphNodeBody): number | null {
  const { sent_at, received_at, started_at, finished_at } = node;
  return millis(sent_at ?? received_at ?? started_at ?? (isConsequence(node) ? null : finished_at));
}

function* tiesOf(edges: readonly GraphEdgeBody[], times: ReadonlyMap<string, number | null>): Steps<Ties> {
  const above = new Map<string, string>();
  const before = new Map<string, string>();
  const groupOf = new Map<string, string>();
  const isLater = (one: string, other: string | undefined): boolean =>
    other === undefined || (times.get(one) ?? 0) > (times.get(other) ?? 0);
  yield* each(edges, ({ source, target, kind }) => {
    if (kind === 'flow') above.set(source, target);
    else if (kind === 'group') groupOf.set(target, source);
    else if (kind === 'chain' || kind === 'chord') {
      if (isLater(source, before.get(target))) before.set(target, source);
    } else if (!above.has(target)) above.set(target, source);
  });
  return { above, before, groupOf };
}

/** The row above each node: that of its previous step, otherwise its sender, otherwise its group. */
function* parentsOf(
  nodes: readonly GraphNodeBody[],
  { above, before, groupOf }: Ties,
): Steps<Map<string, string>> {
  const known = new Set(nodes.map(({ id }) => id));
  const found = new Map<string, string | undefined>();
  yield* each(nodes, ({ id }) => {
    const path: string[] = [];
    const seen = new Set<string>();
    let at = id;
    for (let next = before.get(at); next !== undefined; next = before.get(at)) {
      if (found.has(at) || seen.has(at) || !known.has(next)) break;
      seen.add(at);
      path.push(at);
      at = next;
    }
    const parent = found.has(at) ? found.get(at) : (above.get(at) ?? groupOf.get(at));
    for (const step of [...path, at]) found.set(step, parent);
  });
  const parentOf = new Map<string, string>();
  const isPlaced = new Set<string>();
  yield* each(nodes, ({ id }) => {
    const path = new Set<string>();
    for (let at = id; !isPlaced.has(at); ) {
      path.add(at);
      const parent = found.get(at);
      // A step back into the path would close a cycle.
      if (parent === undefined || !known.has(parent) || path.has(parent)) break;
      parentOf.set(at, parent);
      at = parent;
    }
    for (const step of path) isPlaced.add(step);
  });
  return parentOf;
}

/** By first appearance; nodes with unknown times follow their previous step. */
function* inOrder(
  nodes: readonly GraphNodeBody[],
  before: ReadonlyMap<string, string>,
  times: ReadonlyMap<string, number | null>,
): Steps<readonly string[]> {
  const places = new Map<string, Place>();
  yield* each(nodes, ({ id }) => {
    const path = new Set<string>();
    let at = id;
    for (let next = before.get(at); next !== undefined && times.get(at) === null; next = before.get(at)) {
      if (places.has(at) || path.has(at)) break;
      path.add(at);
      at = next;
    }
    const { time, steps } = places.get(at) ?? { time: times.get(at) ?? Number.POSITIVE_INFINITY, steps: 0 };
    places.set(at, { time, steps });
    [...path].forEach((step, index) => void places.set(step, { time, steps: steps + path.size - index }));
  });
  const inPlaces = nodes.map(({ id }, index) => ({ id, index, ...(places.get(id) ?? NOWHERE) }));
  yield;
  inPlaces.sort((a, b) => (a.time === b.time ? a.steps - b.steps || a.index - b.index : a.time - b.time));
  return inPlaces.map(({ id }) => id);
}

/** The position of a row: a time, and the number of steps after the row that has this time. */
interface Place {
  readonly time: number;
  readonly steps: number;
}

const NOWHERE: Place = { time: 0, steps: 0 };
