/** Answers from the graphs of workflows. */
import { MonitorError } from '../errors.ts';
import type { Freshness, OnLeave } from '../read.ts';
import { type Steps, scheduler } from '../scheduler.ts';
import {
  abortableCall,
  type Call,
  createSingleFlight,
  leaveOnAbort,
  type SingleFlight,
} from '../single-flight.ts';
import type { AnswerContent, AnswerEntry } from './answer-entry.ts';
import { answerWith } from './render.ts';
import type { SharedJson, Workflow } from './workflow.ts';
import {
  createWorkflowReads,
  readWorkflow,
  type WorkflowReads,
  type WorkflowReadsOptions,
  type WorkflowTask,
} from './workflow-reads.ts';

/** One answer from a workflow. */
export interface WorkflowQuestion extends WorkflowTask {
  /** Equal for all requests that get the same answer while the source does not change. */
  readonly key: string;
  /** The shared JSON that it needs, and the number of items. That JSON is written first. */
  needs(workflow: Workflow): readonly [list: SharedJson, count: number];
  content(workflow: Workflow): Steps<AnswerContent>;
}

/** The workflows of one router. */
export interface Workflows {
  /**
   * Answers a question; equal questions share the answer. Stops when the last client has disconnected.
   *
   * @throws MonitorError with the error code of the response
   */
  answer(question: WorkflowQuestion, onLeave: OnLeave | undefined): Promise<AnswerEntry>;
  /** Frees the kept workflows. */
  clear(): void;
}

/** Options of {@link createWorkflows}. */
export interface WorkflowsOptions extends WorkflowReadsOptions {
  /** Longest time of a read, in milliseconds. */
  readonly timeoutMs: number;
}

interface WorkflowsState extends Pick<WorkflowsOptions, 'timeoutMs'> {
  readonly reads: WorkflowReads;
  readonly answers: SingleFlight<AnswerEntry>;
  readonly writes: SingleFlight<unknown>;
}

/** Longest time of our own work on an answer, in milliseconds. */
const OWN_WORK_MS = 5_000;
/** JSON is written for this many items at a time, so that similar limits share the work. */
const ITEMS_AT_ONCE = 1_000;

/** Creates the workflows of one router; none is kept yet. */
export function createWorkflows(options: WorkflowsOptions): Workflows {
  const state: WorkflowsState = {
    timeoutMs: options.timeoutMs,
    reads: createWorkflowReads(options),
    answers: createSingleFlight(),
    writes: createSingleFlight(),
  };
  return {
    answer(question, onLeave) {
      // No request gets an answer that was started before the latest change.
      const key = `${question.before.revision} ${question.key}`;
      return state.answers.run(key, () => beginAnswer(state, question), onLeave);
    },
    clear: () => state.reads.held.clear(),
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
  { reads, writes }: WorkflowsState,
  question: WorkflowQuestion,
  signal: AbortSignal,
): Promise<AnswerEntry> {
  const { now, client } = question;
  const found = await readWorkflow(reads, question, signal);
  const { workflow, freshness } = found;
  if (workflow === null) return answerWith(null, freshness, now);
  const [list, needed] = question.needs(workflow);
  const count = Math.ceil(needed / ITEMS_AT_ONCE) * ITEMS_AT_ONCE;
  await writes.run(
    `${workflow.number} ${list} ${count}`,
    () => beginWriting(workflow, list, count, client),
    leaveOnAbort(signal),
  );
  const steps = write(question, workflow, freshness);
  const entry = await scheduler.run('graph answer', steps, { signal, client });
  // Writing the JSON has made the entry larger.
  if (reads.held.get(workflow.taskId) === found) reads.held.set(workflow.taskId, found);
  return entry;
}

function* write(
  { content, now }: WorkflowQuestion,
  workflow: Workflow,
  freshness: Freshness,
): Steps<AnswerEntry> {
  return answerWith(yield* content(workflow), freshness, now);
}

/** Writes JSON that several answers need, once for all of them. */
function beginWriting(
  workflow: Workflow,
  list: SharedJson,
  count: number,
  client: string | undefined,
): Call<unknown> {
  return abortableCall(async (signal) =>
    scheduler.run(`graph ${list}`, workflow[list].first(count), { signal, client }),
  );
}
