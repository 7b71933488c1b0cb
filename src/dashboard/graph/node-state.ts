/** What the states of a workflow's tasks mean: which failed themselves, which of them first, and which never ran. */
import type { GraphEdgeBody, GraphNodeBody, StateCountsBody } from '../../wire.ts';
import { count, millis } from '../text/format.ts';

/** Whether a task never ran, and failed because another one did. */
export function isConsequence({ flags }: Pick<GraphNodeBody, 'flags'>): boolean {
  return flags.includes('consequence');
}

/** Whether a task failed or was rejected itself. A consequence of another failure is not one of its own. */
export function hasFailed(node: Pick<GraphNodeBody, 'state' | 'flags'>): boolean {
  return (node.state === 'FAILURE' || node.state === 'REJECTED') && !isConsequence(node);
}

/** How tasks are drawn: their colour, and their state in words. */
export interface Look {
  readonly tone: string;
  readonly line: string;
}

/** The tone of a group, and the outcome of its members in words. */
export function lookOfMembers(
  counts: Pick<StateCountsBody, 'total' | 'success' | 'failure' | 'running' | 'retry'>,
): Look {
  const { total, success, failure, running, retry } = counts;
  const isDone = success === total && total > 0;
  const others = running + retry > 0 ? 'running' : isDone ? 'success' : 'waiting';
  return {
    tone: failure > 0 ? 'failure' : others,
    line: `${count(success)} of ${count(total)} done${failure > 0 ? `, ${count(failure)} failed` : ''}`,
  };
}

/** Relations to a preceding task on which a task waits. */
const BEHIND: ReadonlySet<string> = new Set(['chain', 'link', 'chord']);
const STOPPED: ReadonlySet<string> = new Set(['FAILURE', 'REVOKED', 'REJECTED']);

/**
 * Ids of the tasks that never ran: unseen tasks after one that ended without success, or after any task if all have
 * ended; and consequences.
 */
function neverRan(
  nodes: readonly GraphNodeBody[],
  edges: readonly GraphEdgeBody[],
  isComplete: boolean,
): ReadonlySet<string> {
  const unseen = new Set(
    nodes.filter(({ state, kind }) => state === null && kind !== 'group').map(({ id }) => id),
  );
  const idle = new Set(nodes.filter(isConsequence).map(({ id }) => id));
  const waits = edges.filter(({ kind, target }) => BEHIND.has(kind) && unseen.has(target));
  if (isComplete) for (const { target } of waits) idle.add(target);
  const behind = Map.groupBy(waits, ({ source }) => source);
  const stopped = [
    ...idle,
    ...nodes.filter(({ state }) => state !== null && STOPPED.has(state)).map(({ id }) => id),
  ];
  for (let id = stopped.pop(); id !== undefined; id = stopped.pop()) {
    for (const { target } of behind.get(id) ?? []) {
      if (!idle.has(target)) stopped.push(target);
      idle.add(target);
    }
  }
  return idle;
}

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
