import { useEffect, useRef, useState } from 'preact/hooks';
import type { GraphState } from '../../client.ts';
import type { GraphNodeBody } from '../../wire.ts';
import { branchesOf, type Outcome, outcomeOf } from '../graph/node-state.ts';
import { clock } from '../live/pace.ts';
import { each, runInSlices, type Steps } from '../slices.ts';
import { useStore } from '../store.ts';
import { type BusyTimes, busyTimes, type Span, spanOf } from './times.ts';
import { type Tree, treeOf } from './tree.ts';

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
