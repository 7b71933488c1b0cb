/** Reads workflows and builds their graphs: once for all requests for the same task. */
import { MonitorError } from '../errors.ts';
import { createGraphTracker, type GraphTracker, type GraphView } from '../graph-updates.ts';
import { createLruCache, type LruCache } from '../lru-cache.ts';
import type { TaskTree } from '../model.ts';
import {
  type Freshness,
  freshnessBetween,
  freshnessOf,
  isStillFresh,
  type Reader,
  type Report,
} from '../read.ts';
import { type Steps, scheduler } from '../scheduler.ts';
import type { Serializer } from '../serialize.ts';
import { abortableCall, createSingleFlight, leaveOnAbort, type SingleFlight } from '../single-flight.ts';
import type { DocumentRequest } from './answer-entry.ts';
import { bytesOf, createWorkflow, rootIdOf, type TreeSource, treeOf, type Workflow } from './workflow.ts';

/** The result of reading the workflow of a task. */
export interface WorkflowRead {
  /** `null` when no source knows the task. */
  readonly workflow: Workflow | null;
  readonly freshness: Freshness;
}

/** Which workflow to read. */
export interface WorkflowTask extends DocumentRequest<TreeSource> {
  readonly taskId: string;
  /** Whether a workflow that was read for another of its tasks may be returned. */
  readonly isAnyTask: boolean;
}

/** Options of {@link createWorkflowReads}. */
export interface WorkflowReadsOptions {
  readonly reader: Reader;
  readonly serializer: Serializer;
  readonly report: Report;
  /** Maximum number of nodes of a graph. */
  readonly most: number;
}

/** The workflows of one router. */
export interface WorkflowReads extends WorkflowReadsOptions {
  readonly tracker: GraphTracker;
  /** Workflows that are read again only when their source reports a change. */
  readonly held: LruCache<WorkflowRead>;
  readonly reads: SingleFlight<WorkflowRead>;
  /** Reads in progress, at most one for each task, so that each is compared with the previous one. */
  readonly running: Map<string, RunningRead>;
  /** Number of reads so far. */
  count: number;
}

interface RunningRead {
  readonly number: number;
  readonly revision: Freshness['revision'];
  readonly ended: Promise<unknown>;
}

/** Bounds of the kept workflows. */
const HELD = {
  entries: 500,
  bytes: 48 * 1024 * 1024,
  sizeOf: ({ workflow }: WorkflowRead) => bytesOf(workflow),
};
/** Creates the workflows of one router; none is kept yet. */
export function createWorkflowReads(options: WorkflowReadsOptions): WorkflowReads {
  return {
    ...options,
    tracker: createGraphTracker({ most: options.most }),
    held: createLruCache(HELD),
    reads: createSingleFlight(),
    running: new Map(),
    count: 0,
  };
}

/**
 * Reads a workflow, or returns the kept one if the source reports no change.
 *
 * @param signal aborts when the request has ended
 * @throws MonitorError with the error code of the response
 */
export async function readWorkflow(
  state: WorkflowReads,
  task: WorkflowTask,
  signal: AbortSignal,
): Promise<WorkflowRead> {
  const { part, taskId, before } = task;
  const held = findHeld(state, task, before);
  if (held !== null) return held;
  const running = state.running.get(taskId);
  if (running === undefined || running.revision === before.revision) {
    const found = await state.reads.run(`now ${taskId}`, () => beginRead(state, task), leaveOnAbort(signal));
    // The read was started by a request that accepts the workflow of another task.
    const isOther = !task.isAnyTask && found.workflow !== null && found.workflow.taskId !== taskId;
    return isOther ? readWorkflow(state, task, signal) : found;
  }
  const again = (nextSignal: AbortSignal): Promise<WorkflowRead> =>
    readWorkflow(state, { ...task, before: freshnessOf(part, Date.now(), state.report) }, nextSignal);
  // The read in progress may have started before the latest change: all later requests share the next one.
  return state.reads.run(
    `after ${running.number} ${taskId}`,
    () =>
      abortableCall((nextSignal) =>
        running.ended.then(
          () => again(nextSignal),
          () => again(nextSignal),
        ),
      ),
    leaveOnAbort(signal),
  );
}

/** A kept workflow that is still up to date. */
function findHeld(
  { held }: WorkflowReads,
  { taskId, isAnyTask }: WorkflowTask,
  latest: Freshness,
): WorkflowRead | null {
  const isFresh = ({ freshness }: WorkflowRead): boolean => isStillFresh(freshness, latest, Date.now());
  const own = held.get(taskId);
  if (own !== undefined && isFresh(own)) return own;
  if (!isAnyTask) return null;
  for (const read of held.values()) if (isWholeOf(read, taskId) && isFresh(read)) return read;
  return null;
}

/** Whether this is the whole workflow of a task, whichever task it was read for. */
function isWholeOf({ workflow }: WorkflowRead, taskId: string): boolean {
  if (workflow === null || workflow.view.graph.isPartial) return false;
  return rootIdOf(workflow, taskId) !== null;
}

function beginRead(state: WorkflowReads, task: WorkflowTask) {
  const { running } = state;
  const { taskId, before } = task;
  state.count += 1;
  const number = state.count;
  const leave = (): void => {
    if (running.get(taskId)?.number === number) running.delete(taskId);
  };
  const { result, abandon } = abortableCall((signal) => readAnew(state, number, task, signal).finally(leave));
  running.set(taskId, { number, revision: before.revision, ended: result });
  return {
    result,
    abandon() {
      abandon?.();
      leave();
    },
  };
}

async function readAnew(
  state: WorkflowReads,
  number: number,
  task: WorkflowTask,
  signal: AbortSignal,
): Promise<WorkflowRead> {
  const { reader, report } = state;
  const { part, taskId, before, client } = task;
  const { tree, freshness } = await reader.read(
    {
      part,
      call: 'getTaskTree',
      key: taskId,
      client,
      keepsLast: true,
      read: (context) => part.getTaskTree(taskId, context),
      map: (raw: unknown, result) => ({
        tree: treeOf(raw),
        freshness: freshnessBetween(before, freshnessOf(part, Date.now(), report), result),
      }),
    },
    leaveOnAbort(signal),
  );
  if (tree === null) return { workflow: null, freshness };
  const work = build(state, number, task, tree, freshness);
  const found = await scheduler.run('graph', work, { signal, client });
  if (freshness.revision !== null) state.held.set(found.workflow?.taskId ?? taskId, found);
  return found;
}

/** Builds the graph, unless a request for another task of the workflow has built it in the meantime. */
function* build(
  state: WorkflowReads,
  number: number,
  task: WorkflowTask,
  tree: TaskTree,
  freshness: Freshness,
): Steps<WorkflowRead> {
  const held = findHeld(state, task, freshness);
  if (held !== null) return held;
  const view = yield* observe(state, task, tree);
  return { freshness, workflow: createWorkflow(number, task.taskId, view, state.serializer) };
}

/** Reports an unreadable tree to the host, like errors of any other read. */
function* observe(
  { tracker, report }: WorkflowReads,
  { part, taskId }: WorkflowTask,
  tree: TaskTree,
): Steps<GraphView> {
  try {
    return yield* tracker.observe(taskId, tree);
  } catch (error) {
    report(error, { code: 'source_invalid', source: part.name, call: 'getTaskTree' });
    throw new MonitorError('source_invalid');
  }
}
