/** Answers from the graphs of workflows. Each workflow is read once for all requests for the same task. */
import { MonitorError } from '../errors.ts';
import { createGraphTracker, type GraphTracker, type GraphView } from '../graph.ts';
import { createLruCache, type LruCache } from '../lru-cache.ts';
import type { TaskTree } from '../model.ts';
import {
  type Freshness,
  freshnessBetween,
  freshnessOf,
  isStillFresh,
  type OnLeave,
  type Reader,
  type Report,
} from '../read.ts';
import { type Steps, scheduler } from '../scheduler.ts';
import { createJsonList, type JsonList, type Serializer } from '../serialize.ts';
import {
  abortableCall,
  type Call,
  createSingleFlight,
  leaveOnAbort,
  type SingleFlight,
} from '../single-flight.ts';
import type { TaskSource } from '../source.ts';
import { type AnswerContent, type AnswerEntry, answerWith, type DocumentRequest } from './answer-body.ts';

/** A task source that has workflows. */
export type TreeSource = TaskSource & Required<Pick<TaskSource, 'getTaskTree'>>;

/** JSON of a workflow that answers share. */
export type SharedJson = 'nodes' | 'updates' | 'relations';

/** The workflow of a task, and the JSON of its parts, as far as answers have needed it. */
export interface Workflow extends Readonly<Record<SharedJson, JsonList>> {
  readonly taskId: string;
  readonly view: GraphView;
}

/** One answer from a workflow. */
export interface WorkflowQuestion extends DocumentRequest<TreeSource> {
  readonly taskId: string;
  /** Whether a workflow that was read for another of its tasks may answer it. */
  readonly isAnyTask: boolean;
  /** Equal for all requests that get the same answer while the source does not change. */
  readonly key: string;
  /** The shared JSON that it needs, and the number of items. That JSON is written first. */
  needs(workflow: Workflow): readonly [list: SharedJson, count: number];
  content(workflow: Workflow): Steps<AnswerContent>;
}

/** Options of {@link createWorkflows}. */
interface WorkflowsOptions {
  readonly reader: Reader;
  readonly serializer: Serializer;
  readonly report: Report;
  /** Maximum number of nodes of a graph. */
  readonly most: number;
  /** Longest time of a read, in milliseconds. */
  readonly timeoutMs: number;
}

/** The result of reading the workflow of a task. */
interface WorkflowRead {
  /** `null` when no source knows the task. */
  readonly workflow: Workflow | null;
  readonly freshness: Freshness;
}

interface WorkflowsState extends WorkflowsOptions {
  readonly tracker: GraphTracker;
  readonly answers: SingleFlight<AnswerEntry>;
  readonly writes: SingleFlight<unknown>;
  /** By task. They are read again only when their source reports a change. */
  readonly held: LruCache<WorkflowRead>;
  /** Reads in progress: at most one for each task, so that each graph is compared with the previous one. */
  readonly reads: SingleFlight<WorkflowRead>;
  /** The revisions of the source at which they began. */
  readonly begunAt: Map<string, Freshness['revision']>;
}

/** Longest time of our own work on an answer, in milliseconds. */
const OWN_WORK_MS = 5_000;
/** JSON is written for this many items at a time, so that similar limits share the work. */
const ITEMS_AT_ONCE = 1_000;
/** Approximate memory of a task, its links and its relations, in bytes. */
const BYTES_PER_TASK = 1_024;
/** Bounds of the kept workflows. */
const HELD = { entries: 500, bytes: 48 * 1024 * 1024, sizeOf: bytesOf };

/** Creates the workflows of one router; none is kept yet. */
export function createWorkflows(options: WorkflowsOptions) {
  const state: WorkflowsState = {
    ...options,
    tracker: createGraphTracker({ most: options.most }),
    answers: createSingleFlight(),
    writes: createSingleFlight(),
    held: createLruCache(HELD),
    reads: createSingleFlight(),
    begunAt: new Map(),
  };
  return {
    /**
     * Answers a question; equal questions share the answer. Stops when the last client has disconnected.
     *
     * @throws MonitorError with the error code of the response
     */
    answer(question: WorkflowQuestion, onLeave: OnLeave | undefined): Promise<AnswerEntry> {
      // No request gets an answer that was started before the latest change.
      const key = `${question.before.revision} ${question.key}`;
      return state.answers.run(key, () => beginAnswer(state, question), onLeave);
    },
    /** Frees the kept workflows. */
    clear: () => state.held.clear(),
  };
}

function beginAnswer(state: WorkflowsState, question: WorkflowQuestion): Call<AnswerEntry> {
  return abortableCall(async (left) => {
    const late = new AbortController();
    const abort = (): void => late.abort(new MonitorError('overloaded'));
    const timer = setTimeout(abort, state.timeoutMs + OWN_WORK_MS).unref();
    const signal = AbortSignal.any([left, late.signal]);
    try {
      return await answer(state, question, signal);
    } catch (error) {
      // If this signal ended the work, its reason is the right error.
      signal.throwIfAborted();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  });
}

async function answer(
  state: WorkflowsState,
  question: WorkflowQuestion,
  signal: AbortSignal,
): Promise<AnswerEntry> {
  const { now, client } = question;
  const read = await readWorkflow(state, question, signal);
  const { workflow, freshness } = read;
  if (workflow === null) return answerWith(null, freshness, now);
  // Otherwise the first of equal answers would take long, and the scheduler would refuse the others as if they did, too.
  const [list, needed] = question.needs(workflow);
  const count = Math.ceil(needed / ITEMS_AT_ONCE) * ITEMS_AT_ONCE;
  const beginWriting = (): Call<unknown> =>
    abortableCall(async (left) =>
      scheduler.run(`graph ${list}`, workflow[list].first(count), { signal: left, client }),
    );
  await state.writes.run(`${list} ${workflow.view.cursor(count)}`, beginWriting, leaveOnAbort(signal));
  const steps = write(question, workflow, freshness);
  const entry = await scheduler.run('graph answer', steps, { signal, client });
  // Writing the JSON has made the entry larger.
  if (state.held.get(workflow.taskId) === read) state.held.set(workflow.taskId, read);
  return entry;
}

function* write(
  { content, now }: WorkflowQuestion,
  workflow: Workflow,
  freshness: Freshness,
): Steps<AnswerEntry> {
  return answerWith(yield* content(workflow), freshness, now);
}

/** Reads a workflow, or returns the kept one if the source reports no change. */
async function readWorkflow(
  state: WorkflowsState,
  question: WorkflowQuestion,
  signal: AbortSignal,
): Promise<WorkflowRead> {
  const { reads, begunAt } = state;
  const { taskId, isAnyTask, before } = question;
  const held = findHeld(state, question, before);
  if (held !== null) return held;
  const join = () => reads.run(taskId, () => beginRead(state, question), leaveOnAbort(signal));
  if (reads.has(taskId) && begunAt.get(taskId) !== before.revision) {
    // This read may have begun before the latest change: only the next one is certain to show it.
    await join().catch(() => null);
    signal.throwIfAborted();
  }
  const read = await join();
  // A request that accepts the workflow of another task may have begun the read.
  const isOther = !isAnyTask && read.workflow !== null && read.workflow.taskId !== taskId;
  return isOther ? readWorkflow(state, question, signal) : read;
}

/** A kept workflow that is still up to date. */
function findHeld(
  { held }: WorkflowsState,
  { taskId, isAnyTask }: WorkflowQuestion,
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
  return workflow !== null && !workflow.view.graph.isPartial && rootIdOf(workflow, taskId) !== null;
}

/** The root id of a task of the workflow; `null` when the workflow does not show it. */
export function rootIdOf({ taskId, view: { graph } }: Workflow, askedId: string): string | null {
  return askedId === taskId ? graph.rootId : (graph.tasks.get(askedId)?.rootId ?? null);
}

function beginRead(state: WorkflowsState, question: WorkflowQuestion): Call<WorkflowRead> {
  const { begunAt, report } = state;
  const { part, taskId } = question;
  const before = freshnessOf(part, Date.now(), report);
  begunAt.set(taskId, before.revision);
  const end = (): void => void begunAt.delete(taskId);
  return abortableCall((signal) => readAnew(state, { ...question, before }, signal).finally(end));
}

async function readAnew(
  state: WorkflowsState,
  question: WorkflowQuestion,
  signal: AbortSignal,
): Promise<WorkflowRead> {
  const { reader, report, held } = state;
  const { part, taskId, before, client } = question;
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
  const read = await scheduler.run('graph', build(state, question, tree, freshness), { signal, client });
  if (freshness.revision !== null) held.set(read.workflow?.taskId ?? taskId, read);
  return read;
}

/** Builds the graph, unless a request for another task of the workflow has built it in the meantime. */
function* build(
  state: WorkflowsState,
  question: WorkflowQuestion,
  tree: TaskTree,
  freshness: Freshness,
): Steps<WorkflowRead> {
  const { tracker, serializer, report } = state;
  const { part, taskId } = question;
  const held = findHeld(state, question, freshness);
  if (held !== null) return held;
  try {
    const view = yield* tracker.observe(taskId, tree);
    return { workflow: createWorkflow(taskId, view, serializer), freshness };
  } catch (error) {
    // An unreadable tree is reported to the host, like errors of any other read.
    report(error, { code: 'source_invalid', source: part.name, call: 'getTaskTree' });
    throw new MonitorError('source_invalid');
  }
}

/** Checks that a source returned a tree. @throws TypeError when it did not */
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

/** The workflow of a graph; its JSON is not written yet. */
function createWorkflow(taskId: string, view: GraphView, serializer: Serializer): Workflow {
  const { nodes, shape } = view.graph;
  return {
    taskId,
    view,
    nodes: createJsonList(nodes, (node) => JSON.stringify(serializer.graphNode(node))),
    updates: createJsonList(nodes, (node) => JSON.stringify(serializer.nodeUpdate(node))),
    relations: createJsonList(shape.relations, (one) => JSON.stringify(serializer.relation(one))),
  };
}

/** Approximate memory of a workflow, in bytes. */
function bytesOf({ workflow }: WorkflowRead): number {
  if (workflow === null) return BYTES_PER_TASK;
  const { view, nodes, updates, relations } = workflow;
  return view.graph.tasks.size * BYTES_PER_TASK + nodes.bytes + updates.bytes + relations.bytes;
}
