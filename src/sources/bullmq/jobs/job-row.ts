/** A job as a task. */
import {
  LONGEST_PROGRESS,
  progressOf,
  type TaskFlag,
  type TaskProgress,
  type TaskTextField,
  traceIdOf,
} from '../../../model.ts';
import type { NewTask } from '../../../redact.ts';
import { waitBetween } from '../../../select/durations.ts';
import { isRecord } from '../../../values.ts';
import { taskIdOf } from '../access/queue-reads.ts';
import {
  dateOf,
  type JobContent,
  type JobFacts,
  type JobValue,
  type JobValues,
  jsonIn,
  lastChange,
  parseJson,
  type SetEntry,
  STALLED_TOO_OFTEN,
  type ValueField,
} from './job-hash.ts';
import { dueTime, stateIn } from './job-sets.ts';

/** A job that was found, and the data that was read about it. */
export interface KnownJob extends SetEntry, JobContent {
  readonly taskId: string;
  /** When it last changed, in milliseconds; `null` when that is not known. */
  readonly time: number | null;
}

/** Data about a job from other keys. */
interface JobContext {
  readonly parentId: string | null;
  /** The task that the flow begins with: itself when it has no parent; `null`: unknown. */
  readonly rootId: string | null;
  /** Whether its worker has lost it: an active job whose lock has expired. */
  readonly isLost?: boolean;
}

export function knownJob({ queue, id, set, score }: SetEntry, { facts, values }: JobContent): KnownJob {
  const taskId = taskIdOf(queue.name, id);
  return { queue, id, set, score, taskId, facts, values, time: lastChange(set, score, facts) };
}

/** The values to show of a job in its state. */
export function fieldsToShow({ set, facts }: KnownJob): readonly ValueField[] {
  switch (stateIn(set, facts.attemptsMade)) {
    case 'SUCCESS':
      return ['data', 'progress', 'returnvalue'];
    // The reason of a failure stays in the hash even if a later run succeeds.
    case 'FAILURE':
    case 'RETRY':
      return ['data', 'progress', 'failedReason', 'stacktrace'];
    default:
      return ['data', 'progress'];
  }
}

/** @param now for `overdue`, in milliseconds since 1970 */
export function taskOf(job: KnownJob, context: JobContext, values: JobValues, now: number): NewTask {
  const { set, score, facts } = job;
  const state = stateIn(set, facts.attemptsMade);
  const isDone = state === 'SUCCESS' || state === 'FAILURE';
  const finished = isDone ? (job.time ?? facts.finishedAt) : null;
  // Neither the first run nor the final outcome is a retry.
  const retries = Math.max(0, facts.attemptsMade - (isDone ? 1 : 0));
  const due = set.part === 'delayed' && score !== null ? dueTime(score) : null;
  const content = contentOf(values);
  const { exception } = content;
  return {
    id: job.taskId,
    state,
    engineState: set.engineState,
    name: facts.name,
    worker: facts.worker,
    queue: job.queue.name,
    sent: dateOf(facts.addedAt),
    // A worker starts a job as soon as it takes it.
    received: dateOf(facts.processedAt),
    started: dateOf(facts.processedAt),
    finished: dateOf(finished),
    timestamp: dateOf(job.time),
    runtime: runtimeOf(facts.processedAt, finished),
    // BullMQ records no run time.
    runtimeSource: 'derived',
    waitSeconds: waitOf(facts, retries),
    ...content,
    retries,
    progress: jobProgress(values.progress),
    eta: dateOf(due),
    expires: null,
    parentId: context.parentId,
    rootId: context.rootId,
    groupId: null,
    chordId: null,
    flags: [
      ...flagsOf(context, due, now, state === 'FAILURE' && isOfChild(exception)),
      ...(hasRunAgain(job, exception) ? (['ran_twice'] as const) : []),
    ],
  };
}

/** Whether it stalled and another run began. */
function hasRunAgain({ set, facts }: KnownJob, error: string | null): boolean {
  const hasRun = set.part === 'active' || set.part === 'completed' || set.part === 'failed';
  return hasRun && facts.stalls > (error === STALLED_TOO_OFTEN ? 1 : 0);
}

function flagsOf(
  { isLost }: JobContext,
  due: number | null,
  now: number,
  isConsequence: boolean,
): readonly TaskFlag[] {
  if (isConsequence) return ['consequence'];
  if (isLost) return ['worker_lost'];
  return due !== null && due < now ? ['overdue'] : [];
}

/** The texts of a job as those of its task, and which of them are cut. */
export function contentOf(
  values: JobValues,
): Record<TaskTextField, string | null> & { readonly truncated: readonly TaskTextField[] } {
  const args = values.data;
  const kwargs = shownOptions(values.opts);
  const result = plain(values.returnvalue);
  const exception = values.failedReason;
  const traceback = lastTrace(values.stacktrace);
  const texts = { args, kwargs, result, exception, traceback };
  return {
    args: args?.text ?? null,
    kwargs: kwargs?.text ?? null,
    result: result?.text ?? null,
    exception: exception?.text ?? null,
    traceback: traceback?.text ?? null,
    truncated: TEXT_FIELDS.filter((field) => texts[field]?.isCut),
  };
}

const TEXT_FIELDS = ['args', 'kwargs', 'result', 'exception', 'traceback'] as const;

/** Seconds from the start of the last run to its end, as BullMQ recorded them. */
function runtimeOf(started: number | null, finished: number | null): number | null {
  return started === null || finished === null || finished < started ? null : (finished - started) / 1_000;
}

/** Seconds until its first run began. When a retry was put back is not recorded. */
function waitOf({ addedAt, processedAt, delay }: JobFacts, retries: number): number | null {
  if (retries > 0 || addedAt === null) return null;
  return waitBetween(addedAt, addedAt + Math.max(0, delay ?? 0), processedAt);
}

/** BullMQ stores some options under shorter names (bullmq, utils/optsDecodeMap). */
const OPTION_NAMES: Readonly<Record<string, string>> = {
  cpof: 'continueParentOnFailure',
  de: 'deduplication',
  fpof: 'failParentOnFailure',
  idof: 'ignoreDependencyOnFailure',
  kl: 'keepLogs',
  rdof: 'removeDependencyOnFailure',
};

/** The options of a job under the names by which they were given. */
function shownOptions(value: JobValue | undefined): JobValue | undefined {
  const stored = jsonIn(value);
  if (!isRecord(stored) || value === undefined) return value;
  const named = Object.entries(stored).map(([name, option]) => [
    Object.hasOwn(OPTION_NAMES, name) ? OPTION_NAMES[name] : name,
    option,
  ]);
  return { ...value, text: JSON.stringify(Object.fromEntries(named)) };
}

/** The trace in which a job was added, as `telemetry` of its queue has written it (bullmq, `opts.telemetry.metadata`). */
export function traceIn(options: JobValue | undefined): string | null {
  const stored = jsonIn(options);
  const carrier = isRecord(stored) && typeof stored.tm === 'string' ? parseJson(stored.tm) : null;
  return isRecord(carrier) ? traceIdOf(carrier.traceparent) : null;
}

/** Text is shown without quotes, as everywhere. */
function plain(value: JobValue | undefined): JobValue | undefined {
  const parsed = value?.text.startsWith('"') ? jsonIn(value) : undefined;
  return typeof parsed === 'string' ? { text: parsed, isCut: false } : value;
}

/** The stack traces that BullMQ keeps, one for each failed run, oldest first (bullmq, classes/job). */
export function tracesOf(value: JobValue | undefined): readonly string[] {
  const traces = jsonIn(value);
  return Array.isArray(traces) ? traces.filter((trace) => typeof trace === 'string') : [];
}

function lastTrace(value: JobValue | undefined): JobValue | undefined {
  if (value === undefined) return undefined;
  if (value.isCut) return value;
  const trace = tracesOf(value).at(-1);
  return trace === undefined ? undefined : { text: trace, isCut: false };
}

/** Whether BullMQ has given this reason to a parent whose child failed (bullmq, moveChildFromDependenciesIfNeeded). */
export function isOfChild(failedReason: string | null | undefined): boolean {
  return /^child [^:]+:.+ failed$/s.test(failedReason ?? '');
}

/** Longest progress that is read, in characters. */
const LONGEST = 4_096;

/**
 * The value that a job has passed to `updateProgress`: a number is a percentage. For an object or text without a
 * figure, its beginning is shown.
 */
export function jobProgress(value: JobValue | undefined): TaskProgress | null {
  if (value === undefined) return null;
  const { text } = value;
  const given = text.length > LONGEST ? undefined : jsonIn(value);
  if (given === null || typeof given === 'boolean') return null;
  const shown = typeof given === 'string' ? given : text;
  return (
    progressOf(given) ??
    (shown === '' || typeof given === 'number'
      ? null
      : { current: null, total: null, percent: null, text: shown.slice(0, LONGEST_PROGRESS) })
  );
}
