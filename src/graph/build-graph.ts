import { isDone, type TaskTree } from '../model.ts';
import type { Steps } from '../scheduler.ts';
import { hasShape, shapeOf } from './graph-shape.ts';
import type { Graph, GraphEdge, GraphNode, GraphShape, ReadableTask, StateCounts } from './graph-types.ts';
import { ITEMS_PER_STEP, type ReadableTree, readTree } from './readable-tree.ts';

/**
 * Builds the graph of a workflow.
 *
 * @param tree the workflow as the source returned it
 * @param askedId the requested task; its closest relatives come first
 * @param most maximum number of nodes
 * @param before shape of an earlier graph of the same task. It is reused when only states have changed
 */
export function* buildGraph(
  tree: TaskTree,
  askedId: string,
  most: number,
  before: GraphShape | null = null,
): Steps<Graph> {
  const readable = yield* readTree(tree);
  const isSame = before !== null && (yield* hasShape(readable, before));
  const shape = isSame ? before : yield* shapeOf(readable, askedId, most);
  const nodes: GraphNode[] = [];
  for (const { id, kind, members } of shape.nodes) {
    const task = members === null ? (readable.tasks.get(id)?.task ?? null) : null;
    const counts = members === null ? null : yield* countMembers(members, readable);
    if (nodes.push({ id, kind, task, members: counts }) % ITEMS_PER_STEP === 0) yield;
  }
  return {
    rootId: tree.rootId,
    tasks: readable.tasks,
    nodes,
    counts: yield* countStates(Array.from(readable.tasks.values(), countedState)),
    isPartial: tree.truncated === true,
    isComplete: tree.truncated !== true && (yield* isComplete(readable, shape)),
    shape,
  };
}

function countMembers(ids: readonly string[], { tasks }: ReadableTree): Steps<StateCounts> {
  return countStates(ids.map((id) => countedState(tasks.get(id))));
}

/**
 * The state of a task whose end was not seen is unknown; it certainly no longer runs. A task that never ran is not
 * counted as another failure.
 */
function countedState(task: ReadableTask | undefined): string | undefined {
  return task === undefined || task.isEndUnseen || task.isConsequence ? undefined : task.state;
}

function* isComplete({ tasks }: ReadableTree, { unseen }: GraphShape): Steps<boolean> {
  let count = 0;
  for (const { state, isEndUnseen } of tasks.values()) {
    if (!isDone(state) && !isEndUnseen) return false;
    if (++count % ITEMS_PER_STEP === 0) yield;
  }
  const idle = yield* neverRun(tasks, unseen);
  for (const { target } of unseen) {
    if (!idle.has(target)) return false;
    if (++count % ITEMS_PER_STEP === 0) yield;
  }
  return true;
}

/** Relations after which a task starts only if the previous task has succeeded. */
const ON_SUCCESS: ReadonlySet<string> = new Set(['link', 'chain', 'chord']);

/**
 * Ids of the unseen tasks that can no longer start: all tasks that could have started them did not, or a header task
 * of their chord did not succeed. This includes their own successors.
 *
 * @param unseen edges to tasks that no source has seen
 */
function* neverRun(tasks: ReadableTree['tasks'], unseen: readonly GraphEdge[]): Steps<ReadonlySet<string>> {
  const open = new Map<string, number>();
  const behind = new Map<string, GraphEdge[]>();
  const idle = new Set<string>();
  let count = 0;
  for (const edge of unseen) {
    open.set(edge.target, (open.get(edge.target) ?? 0) + 1);
    const others = behind.get(edge.source);
    if (others === undefined) behind.set(edge.source, [edge]);
    else others.push(edge);
    if (++count % ITEMS_PER_STEP === 0) yield;
  }
  function close({ target, kind }: GraphEdge): void {
    const left = (open.get(target) ?? 0) - 1;
    open.set(target, left);
    if (kind === 'chord' || left === 0) idle.add(target);
  }
  for (const edge of unseen) {
    if (!mayStillRun(edge.kind, tasks.get(edge.source)?.state)) close(edge);
    if (++count % ITEMS_PER_STEP === 0) yield;
  }
  // Iterating a Set also visits items that are added during the iteration.
  for (const id of idle) {
    for (const edge of behind.get(id) ?? []) {
      if (ON_SUCCESS.has(edge.kind)) close(edge);
      if (++count % ITEMS_PER_STEP === 0) yield;
    }
  }
  return idle;
}

/**
 * Whether an unseen task may still run. A task that ended without success never starts its successors, and a task that
 * did not fail never starts its error callbacks.
 *
 * @param kind relation to the task that refers to it
 * @param state of the task that refers to it, if known
 */
function mayStillRun(kind: string, state: string | undefined): boolean {
  if (state === undefined || !isDone(state)) return true;
  if (kind === 'link_error') return state === 'FAILURE';
  return state === 'SUCCESS' || !ON_SUCCESS.has(kind);
}

const BUCKETS: Readonly<Record<string, keyof StateCounts>> = {
  PENDING: 'pending',
  RECEIVED: 'pending',
  RETRY: 'retry',
  SUCCESS: 'success',
  FAILURE: 'failure',
  REVOKED: 'revoked',
  REJECTED: 'revoked',
};

/** Counts states per bucket. @param states `undefined` for a task without a known state */
function* countStates(states: Iterable<string | undefined>): Steps<StateCounts> {
  const counts = { total: 0, pending: 0, running: 0, retry: 0, success: 0, failure: 0, revoked: 0 };
  let count = 0;
  for (const state of states) {
    if (++count % ITEMS_PER_STEP === 0) yield;
    if (state === undefined) continue;
    const bucket = Object.hasOwn(BUCKETS, state) ? (BUCKETS[state] as keyof StateCounts) : 'running';
    counts[bucket]++;
    counts.total++;
  }
  return counts;
}
