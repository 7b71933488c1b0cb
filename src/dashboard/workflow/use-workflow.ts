import { useMemo } from 'preact/hooks';
import type { GraphNodeBody, GraphState } from '../../client.ts';
import { branchesOf, type Outcome, outcomeOf } from './outcome.ts';
import { type Tree, treeOf } from './tree.ts';

/** What the waterfall shows of a workflow. */
export interface Workflow {
  readonly nodes: ReadonlyMap<string, GraphNodeBody>;
  readonly tree: Tree;
  readonly outcome: Outcome;
  /** The failed tasks and the rows above them. */
  readonly branches: ReadonlySet<string>;
}

/** Keeps what states do not change while only states change. */
export function useWorkflow({ nodes, edges, complete }: GraphState): Workflow {
  const byId = useMemo(() => new Map(nodes.map((node) => [node.id, node])), [nodes]);
  // Rows keep their places while tasks are sent and run: a new task is a new edge.
  const tree = useMemo(() => treeOf(nodes, edges), [edges, nodes.length]);
  const outcome = useMemo(() => outcomeOf(nodes, edges, complete), [nodes, edges, complete]);
  const failed = [...outcome.failed].join('\n');
  const branches = useMemo(() => branchesOf(outcome.failed, tree.parentOf), [failed, tree]);
  return { nodes: byId, tree, outcome, branches };
}
