/** The outcome of a workflow: what failed first, its consequences, and what never ran. */
import type { GraphEdgeBody, GraphNodeBody } from '../../wire.ts';
import { hasFailed, neverRan } from '../graph/node-state.ts';
import { millis } from '../text/moments.ts';

/** The outcome of a workflow. */
export interface Outcome {
  /** The task that failed first; `null` if none has. */
  readonly cause: GraphNodeBody | null;
  /** Ids of the tasks that failed themselves. */
  readonly failed: ReadonlySet<string>;
  /** Ids of the tasks that never ran: known from another task, or failed as a consequence. */
  readonly idle: ReadonlySet<string>;
}

/** @param isComplete whether no other task of the workflow is expected */
export function outcomeOf(
  nodes: readonly GraphNodeBody[],
  edges: readonly GraphEdgeBody[],
  isComplete: boolean,
): Outcome {
  const failed = nodes.filter(hasFailed);
  let cause: GraphNodeBody | null = null;
  for (const node of failed) {
    if (cause === null || failedAt(node) < failedAt(cause)) cause = node;
  }
  return {
    cause,
    failed: new Set(failed.map(({ id }) => id)),
    idle: neverRan(nodes, edges, isComplete),
  };
}

const failedAt = ({ finished_at, started_at }: GraphNodeBody): number =>
  millis(finished_at ?? started_at) ?? Number.POSITIVE_INFINITY;

/** The failed tasks and all rows above them. */
export function branchesOf(
  failed: ReadonlySet<string>,
  parentOf: ReadonlyMap<string, string>,
): ReadonlySet<string> {
  const branches = new Set<string>();
  for (const id of failed) {
    for (let at: string | undefined = id; at !== undefined && !branches.has(at); at = parentOf.get(at)) {
      branches.add(at);
    }
  }
  return branches;
}
