/** Reads workflows and builds their graphs: once for all requests that ask for the same task. */
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
import { createJsonList, type JsonList, type Serializer } from '../serialize.ts';
import { abortableCall, createSingleFlight, leaveOnAbort, type SingleFlight } from '../single-flight.ts';
import type { TaskSource } from '../source.ts';

/** A task source that has workflows. */
export type TreeSource = TaskSource & Required<Pick<TaskSource, 'getTaskTree'>>;

/** JSON of a workflow that answers share. */
export type SharedJson = 'nodes' | 'updates' | 'relations';

/** The workflow of a task, and the JSON of its parts as far as anybody has needed it. */
export interface Workflow extends Readonly<Record<SharedJson, JsonList>> {
  /** Number of the read. */
  readonly number: number;
  readonly view: GraphView;
}

/** What was read for a task. */
export interface WorkflowRead {
  /** `null` when no source knows the task. */
  readonly workflow: Workflow | null;
  readonly freshness: Freshness;
}

/** Which workflow to read. */
export interface WorkflowTask {
  readonly part: TreeSource;
  readonly taskId: string;
  /** Freshness of the part now. */
  readonly before: Freshness;
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
  /** The read of each task that is under way. There is one at most, so that each is compared with the one before. */
  readonly running: Map<string, RunningRead>;
  /** Number of reads so far. */
  count: number;
}

interface RunningRead {
  readonly number: number;
  readonly revision: Freshness['revision'];
  readonly ended: Promise<unknown>;
}

/** Bounds of the workflows that are held. */
const HELD = { entries: 500, bytes: 48 * 1024 * 1024, sizeOf: bytesOf };
/** Roughly what a task, its links and its relations take in memory. */
const BYTES_PER_TASK = 1_024;

/** Creates the workflows of one router; none is held yet. */
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

function bytesOf({ workflow }: WorkflowRead): number {
  if (workflow === null) return BYTES_PER_TASK;
  const { view, nodes, updates, relations } = workflow;
  const { links } = view.graph.shape;
  return links.length * BYTES_PER_TASK + nodes.bytes + updates.bytes + relations.bytes;
}

/**
 * Reads a workflow, or takes the one that is held if the source reports no change.
 *
 * @param signal aborts when the request has ended
 * @throws MonitorError with the error code of the response
 */
export function readWorkflow(
  state: WorkflowReads,
  task: WorkflowTask,
  signal: AbortSignal,
): Promise<WorkflowRead> {
  const { part, taskId, before } = task;
  const held = state.held.get(taskId);
  if (held !== undefined && isStillFresh(held.freshness, before, Date.now())) return Promise.resolve(held);
  const running = state.running.get(taskId);
  if (running === undefined || running.revision === before.revision) {
    return state.reads.run(`now ${taskId}`, () => beginRead(state, task), leaveOnAbort(signal));
  }
  const again = (nextSignal: AbortSignal): Promise<WorkflowRead> =>
    readWorkflow(state, { ...task, before: freshnessOf(part, Date.now(), state.report) }, nextSignal);
  // The read that is under way may have begun before the latest change: all who come now share the next one.
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
  { part, taskId, before }: WorkflowTask,
  signal: AbortSignal,
): Promise<WorkflowRead> {
  const { reader, report, serializer } = state;
  const { tree, freshness } = await reader.read(
    {
      part,
      call: 'getTaskTree',
      key: taskId,
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
  const view = await scheduler.run('graph', observe(state, part, taskId, tree), { signal });
  const { nodes, shape } = view.graph;
  const found: WorkflowRead = {
    freshness,
    workflow: {
      number,
      view,
      nodes: createJsonList(nodes, (node) => JSON.stringify(serializer.graphNode(node))),
      updates: createJsonList(nodes, (node) => JSON.stringify(serializer.nodeUpdate(node))),
      relations: createJsonList(shape.relations, (one) => JSON.stringify(serializer.relation(one))),
    },
  };
  if (freshness.revision !== null) state.held.set(taskId, found);
  return found;
}

/** Builds the graph. What cannot be read at all is reported to the host, as that of every other read. */
function* observe(
  { tracker, report }: WorkflowReads,
  part: TreeSource,
  taskId: string,
  tree: TaskTree,
): Steps<GraphView> {
  try {
    return yield* tracker.observe(taskId, tree);
  } catch (error) {
    report(error, { code: 'source_invalid', source: part.name, call: 'getTaskTree' });
    throw new MonitorError('source_invalid');
  }
}

/** @throws TypeError when it is not a tree */
function treeOf(given: unknown): TaskTree | null {
  // A source that reads a Map may return undefined.
  if (given === null || given === undefined) return null;
  const { rootId, tasks, relations } = given as Partial<Record<keyof TaskTree, unknown>>;
  const isTree =
    typeof rootId === 'string' &&
    rootId !== '' &&
    Array.isArray(tasks) &&
    (relations === undefined || Array.isArray(relations));
  if (!isTree) throw new TypeError('getTaskTree() must return { rootId, tasks }, or null.');
  return given as TaskTree;
}
