/**
 * What the entries of a queue's stream tell of its jobs. It is the only place that interprets them: the feed, the counts,
 * the meter and the recorder all go by its steps. What entries do not tell (name, worker, how many runs there were) is
 * read from the hashes of the jobs. Times are milliseconds since 1970, by the clock of Redis.
 */
import type { TaskState } from '../../../model.ts';
import { asFields, asNumber } from '../../../redis/replies.ts';
import { type QueueAccess, readPer } from '../access/queue-access.ts';
import { type JobRef, keyCommand, type QueueRef, taskIdOf } from '../access/queue-reads.ts';
import { STALLED_TOO_OFTEN, shortText } from '../jobs/job-hash.ts';
import { isOfChild } from '../jobs/job-row.ts';
import type { StreamEntry } from './stream-entry.ts';

/** What is known of a job from its entries so far. */
export interface JobTrace {
  /** Its name, which is stored nowhere else once the job is removed. */
  readonly name: string | null;
  /** BullMQ's name of the latest entry; `null`: not known. */
  readonly last: string | null;
  /** State of the job after that entry; `null`: not known. */
  readonly state: TaskState | null;
  /** Whether one of its runs has failed; `null`: not known. */
  readonly hasFailed: boolean | null;
  /** Since when a worker could take it, also later than now; `null`: not known, or no worker can. */
  readonly readyAt: number | null;
  /** When its latest run began; `null`: not known, or none has. */
  readonly startedAt: number | null;
  /** Whether a worker has it, as far as its entries tell. */
  readonly isRunning: boolean;
}

/** A job of which nothing is known but perhaps its name. */
export function unknownJob(name: string | null): JobTrace {
  return {
    name,
    last: null,
    state: null,
    hasFailed: null,
    readyAt: null,
    startedAt: null,
    isRunning: false,
  };
}

/** State of the job's hash when it was read, which may be long after the entry was written. */
export interface JobRuns {
  readonly name: string | null;
  /** Name of the worker of the last run; `null` when workers have no names. */
  readonly worker: string | null;
  /** The number of runs that ended and count as attempts; `null` if the job was removed. */
  readonly made: number | null;
  /** Runs that have begun; `null` when this version of BullMQ does not count them. */
  readonly begun: number | null;
  /** Whether the job is locked by a worker; `null`: not read. */
  readonly isHeld: boolean | null;
}

/** What an entry means for its job. */
export interface JobStep {
  /** The event in the words of Celery where they mean the same, else of BullMQ; `null`: an earlier entry told the same. */
  readonly type: string | null;
  /** What is known of the job after it. */
  readonly job: JobTrace;
  /** How long a worker had the job that ended or was given back; `null`: not known, or it did not run. */
  readonly ranMs: number | null;
  /** How long a worker could have taken the job before one did; `null`: not known, or none has taken it. */
  readonly waitedMs: number | null;
  /** A worker has given the job back. */
  readonly isReturn: boolean;
  /** It has failed because of a child. */
  readonly isConsequence: boolean;
}

/** Processes the next entry of a job. @param runs `undefined`: not read */
export function stepJob(before: JobTrace, entry: StreamEntry, runs: JobRuns | undefined): JobStep {
  const { event, fields, time } = entry;
  const { type, state, hasFailed = before.hasFailed, isReturn = false } = meaningOf(before, entry, runs);
  const reason = event === 'failed' ? fields.get('failedReason') : undefined;
  const isConsequence = isOfChild(reason);
  const isFreed = event === 'added' || ENDS_RUN.has(event);
  // A job that stalled too often, or whose child failed, is failed without a run.
  const hasRun = before.isRunning && event !== 'added' && reason !== STALLED_TOO_OFTEN && !isConsequence;
  return {
    type,
    job: {
      name: fields.get('name') ?? runs?.name ?? before.name,
      last: event,
      state,
      hasFailed,
      readyAt: readyAtOf(before, entry),
      startedAt: event === 'active' ? time : event === 'added' ? null : before.startedAt,
      isRunning: event === 'active' || (before.isRunning && !isFreed),
    },
    ranMs: isFreed && hasRun && before.startedAt !== null ? time - before.startedAt : null,
    waitedMs: event === 'active' && before.readyAt !== null ? time - before.readyAt : null,
    isReturn,
    isConsequence,
  };
}

/** Entries after which no worker has the job. */
const ENDS_RUN: ReadonlySet<string> = new Set([
  'waiting',
  'delayed',
  'waiting-children',
  'completed',
  'failed',
]);

/** Entries that are counted by the name of their job. */
export const NAMED: ReadonlySet<string> = new Set(['active', 'completed', 'failed']);

/** Whether the job has ended, or is gone. */
function isOver({ event }: StreamEntry): boolean {
  return event === 'completed' || event === 'failed' || event === 'removed';
}

/** Whether a worker may have given the job back. Its runs show why. */
export function mayReturn({ event, fields }: StreamEntry): boolean {
  return event === 'delayed' || (event === 'waiting' && fields.get('prev') === 'active');
}

interface Meaning {
  readonly type: string | null;
  readonly state: TaskState | null;
  readonly hasFailed?: boolean | null;
  readonly isReturn?: boolean;
}

function meaningOf(before: JobTrace, entry: StreamEntry, runs: JobRuns | undefined): Meaning {
  const { event, fields } = entry;
  switch (event) {
    case 'added':
      return { type: 'task-sent', state: 'PENDING', hasFailed: false };
    case 'active':
      return { type: 'task-started', state: 'STARTED' };
    case 'completed':
      return { type: 'task-succeeded', state: 'SUCCESS' };
    case 'failed':
      return { type: 'task-failed', state: 'FAILURE', hasFailed: true };
    case 'retries-exhausted':
      return { type: event, state: 'FAILURE' };
    case 'waiting':
      return afterWaiting(before, fields.get('prev'), runs);
    case 'delayed':
      // It was returned by a worker, or was delayed again while it waited.
      return before.last === null || before.last === 'active' || before.last === 'progress'
        ? afterReturn(event, before, runs)
        : { type: event, state: waitingState(before.hasFailed, runs) };
    case 'waiting-children':
    case 'stalled':
      return { type: event, state: waitingState(before.hasFailed, runs) };
    case 'removed':
      return { type: event, state: null };
    default:
      return { type: event === '' ? 'unknown' : event, state: before.state };
  }
}

function afterWaiting(before: JobTrace, prev: string | undefined, runs: JobRuns | undefined): Meaning {
  if (prev === undefined) return { type: null, state: before.state };
  // Another run was requested.
  if (prev === 'failed' || prev === 'completed') return { type: 'waiting', state: 'RETRY', hasFailed: true };
  if (prev === 'active') return afterReturn('waiting', before, runs);
  return { type: 'waiting', state: waitingState(before.hasFailed, runs) };
}

/** A worker has given back a job that has not ended. */
function afterReturn(event: string, before: JobTrace, runs: JobRuns | undefined): Meaning {
  if (runs !== undefined && countsEveryRun(runs)) {
    return { type: 'task-retried', state: 'RETRY', hasFailed: true, isReturn: true };
  }
  // The run may have failed, so whether the job waits as PENDING or RETRY is unknown.
  const hasFailed = runs?.made === 0 ? false : before.hasFailed || null;
  return { type: event, state: waitingState(hasFailed, runs), hasFailed, isReturn: true };
}

/**
 * Whether every run that ended counts as an attempt. Then a job that went from a worker back to its queue has
 * failed; otherwise it may have stalled, been given back, or waited for its children.
 */
function countsEveryRun({ made, begun, isHeld }: JobRuns): boolean {
  return made !== null && made > 0 && begun !== null && isHeld !== null && begun - made === (isHeld ? 1 : 0);
}

/** A job that waits is PENDING, or RETRY if one of its runs has failed. */
function waitingState(hasFailed: boolean | null, runs: JobRuns | undefined): TaskState | null {
  if (runs?.made === 0) return 'PENDING';
  return hasFailed === null ? null : hasFailed ? 'RETRY' : 'PENDING';
}

function readyAtOf({ readyAt }: JobTrace, { event, fields, time }: StreamEntry): number | null {
  switch (event) {
    case 'waiting':
      // Workers move a delayed job when they check, which may be after its due time; an app may do so earlier.
      if (fields.get('prev') === 'delayed') return readyAt === null ? null : Math.min(readyAt, time);
      return time;
    case 'delayed': {
      const due = Number(fields.get('delay') ?? Number.NaN);
      return Number.isFinite(due) ? due : null;
    }
    case 'added':
    case 'active':
    case 'waiting-children':
    case 'completed':
    case 'failed':
      return null;
    default:
      return readyAt;
  }
}

/** Entries that tell where a job is. Others tell nothing of a job that is not known. */
const PLACES: ReadonlySet<string> = new Set(['added', 'waiting', 'delayed', 'waiting-children', 'active']);

/** The jobs of a queue that have not ended, as far as the entries of its stream have told. */
export function createOpenJobs() {
  const jobs = new Map<string, JobTrace>();
  return {
    get: (jobId: string) => jobs.get(jobId),
    /** Processes an entry about a job. @returns `null` if it is about none */
    step(entry: StreamEntry, runs: JobRuns | undefined): JobStep | null {
      const { event, jobId } = entry;
      if (jobId === null) return null;
      const known = jobs.get(jobId);
      const step = stepJob(known ?? unknownJob(null), entry, runs);
      if (isOver(entry)) jobs.delete(jobId);
      else if (known !== undefined || PLACES.has(event)) jobs.set(jobId, step.job);
      return step;
    },
    /** Forgets jobs until there are no more than this, if possible. */
    trim(most: number) {
      if (jobs.size <= most) return;
      let seen = 0;
      // Every second one that waits: the rest still shows how they wait.
      for (const [jobId, { isRunning }] of jobs) {
        seen += 1;
        if (!isRunning && seen % 2 === 0) jobs.delete(jobId);
      }
    },
    clear: () => jobs.clear(),
  };
}

/** An entry whose job is to be read. */
export interface QueueEntry {
  readonly queue: QueueRef;
  readonly entry: StreamEntry;
}

/** Reads from the hashes of jobs what their entries do not tell, each once: one command, and one more where a worker may have given it back. By task id. */
export async function readRuns(
  access: QueueAccess,
  entries: readonly QueueEntry[],
): Promise<ReadonlyMap<string, JobRuns>> {
  const jobs = new Map<string, JobRef & { readonly withLock: boolean }>();
  for (const { queue, entry } of entries) {
    const { jobId: id } = entry;
    if (id === null) continue;
    const taskId = taskIdOf(queue.name, id);
    jobs.set(taskId, { queue, id, withLock: jobs.get(taskId)?.withLock === true || mayReturn(entry) });
  }
  const read = await readPer(access, [...jobs], ([, { queue, id, withLock }]) => [
    keyCommand(queue, 'HMGET', id, 'name', 'pb', 'atm', 'ats', 'timestamp'),
    ...(withLock ? [keyCommand(queue, 'EXISTS', `${id}:lock`)] : []),
  ]);
  return new Map([...read].map(([[taskId], [fields, lock = null]]) => [taskId, jobRunsOf(fields, lock)]));
}

const GONE: JobRuns = { name: null, worker: null, made: null, begun: null, isHeld: false };

function jobRunsOf(fields: unknown, lock: unknown): JobRuns {
  const [name = null, worker, made, begun, timestamp = null] = asFields(fields);
  if (name === null && timestamp === null) return GONE;
  return {
    name: shortText(name),
    worker: shortText(worker) || null,
    made: asNumber(made) ?? 0,
    begun: asNumber(begun),
    isHeld: lock === null ? null : lock === 1,
  };
}
