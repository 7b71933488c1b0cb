/**
 * The data of the waterfall of a workflow, and the order of its rows: each task below its sender, the steps of a chain one
 * after the other.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { GraphState } from '../../client.ts';
import type { GraphEdgeBody, GraphNodeBody } from '../../wire.ts';
import { branchesOf, isConsequence, type Outcome, outcomeOf } from '../graph/node-state.ts';
import { clock } from '../live/pace.ts';
import { each, runInSlices, type Steps } from '../slices.ts';
import { useStore } from '../store.ts';
import { millis } from '../text/format.ts';
import { type BusyTimes, busyTimes, type Span, spanOf } from './times.ts';

/** The data of the waterfall. */
export interface Workflow {
  readonly graph: GraphState;
  readonly nodes: ReadonlyMap<string, GraphNodeBody>;
  readonly tree: Tree;
  readonly outcome: Outcome;
  /** The failed tasks and the rows above them. */
  readonly branches: ReadonlySet<string>;
  /** When the tasks that have ended waited or ran. */
  readonly past: BusyTimes;
  /** The times of the tasks that have not ended. */
  readonly open: readonly Span[];
}

/** The data of the waterfall, computed in slices. A newer graph may replace it before it is ready. */
export function useWorkflow(graph: GraphState | null): Workflow | null {
  const [workflow, setWorkflow] = useState<Workflow | null>(null);
  const latest = useRef<{ graph: GraphState | null; isBusy: boolean; isOver: boolean }>({
    graph,
    isBusy: false,
    isOver: false,
  });
  useEffect(() => () => void Object.assign(latest.current, { isOver: true }), []);
  useEffect(() => {
    latest.current.graph = graph;
    function make(before: Workflow | null): void {
      const { graph: next, isBusy, isOver } = latest.current;
      if (next === null || isBusy || isOver || next === before?.graph) return;
      latest.current.isBusy = true;
      runInSlices(workflowOf(next, before), (made) => {
        latest.current.isBusy = false;
        setWorkflow(made);
        make(made);
      });
    }
    make(workflow);
  }, [graph]);
  return graph === null ? null : workflow;
}

/** @param before is reused as far as only states have changed */
function* workflowOf(graph: GraphState, before: Workflow | null): Steps<Workflow> {
  const { nodes, edges, complete } = graph;
  const byId = new Map<string, GraphNodeBody>();
  const past: Span[] = [];
  const open: Span[] = [];
  yield* each(nodes, (node) => {
    byId.set(node.id, node);
    const span = spanOf(node);
    (span.isOpen ? open : past).push(span);
  });
  // Rows keep their places while tasks are sent and run: a new task is a new edge.
  const isSame = before !== null && before.graph.edges === edges && before.nodes.size === nodes.length;
  const tree = isSame ? before.tree : yield* treeOf(nodes, edges);
  yield;
  const outcome = outcomeOf(nodes, edges, complete);
  yield;
  const branches = branchesOf(outcome.failed, tree.parentOf);
  const areSame = before !== null && areEqual(before.branches, branches);
  return {
    graph,
    nodes: byId,
    tree,
    outcome,
    branches: areSame ? before.branches : branches,
    past: busyTimes(past, 0),
    open,
  };
}

function areEqual(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((id) => other.has(id));
}

/** The current time while anything waits or runs, otherwise a constant time. */
export function useNow({ graph, open }: Workflow): number {
  const now = useStore(clock);
  const answered = Date.parse(graph.meta.generated_at);
  return open.length > 0 ? Math.max(now, answered) : answered;
}

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
function* treeOf(nodes: readonly GraphNodeBody[], edges: readonly GraphEdgeBody[]): Steps<Tree> {
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
