/** The runs of jobs, from the events of a queue. Times are milliseconds since 1970, by the clock of Redis. */
import type { Steps } from '../../../scheduler.ts';
import type { StreamEntry } from '../events/stream-entry.ts';
import { isOfChild } from '../jobs/job-row.ts';

/** A job that has not ended. */
interface WatchedJob {
  /** `null`: not known. */
  readonly name: string | null;
  /** Since when a worker could take it, also later than now; `null`: not known, or no worker can. */
  readonly readyAt: number | null;
  /** Since when a worker has it; `null`: none has. */
  readonly startedAt: number | null;
}

/** A queue whose events are counted. */
export interface WatchedQueue {
  readonly name: string;
  /** By job id. */
  readonly jobs: Map<string, WatchedJob>;
  /** Jobs that ended since counting began. */
  completed: number;
  failed: number;
  /** The job that its worker gave back with the last entry: the next one shows whether it stalled. */
  returned: { readonly jobId: string; readonly name: string | null; readonly ms: number } | null;
}

/** Receives the counts. */
export interface RunCounter {
  /** A worker had a job for this long. */
  run(queue: string, name: string | null, ms: number): void;
  /** A worker could have taken a job for this long before one did. */
  wait(queue: string, name: string | null, ms: number): void;
}

export function watchQueue(name: string): WatchedQueue {
  return { name, jobs: new Map(), completed: 0, failed: 0, returned: null };
}

/** The job that the entry counts, if no entry has said its name; else `null`. */
export function namelessJob({ jobs }: WatchedQueue, { event, jobId }: StreamEntry): string | null {
  const isNamed = jobId === null || jobs.get(jobId)?.name != null;
  return isNamed || !COUNTED.has(event) ? null : jobId;
}

const COUNTED: ReadonlySet<string> = new Set(['active', 'completed', 'failed']);

/**
 * Processes the next entry.
 *
 * @param counter `null`: counting had not begun
 * @param names those of jobs whose names no entry has reported, by job id
 */
export function takeEntry(
  queue: WatchedQueue,
  entry: StreamEntry,
  counter: RunCounter | null,
  names: ReadonlyMap<string, string>,
): void {
  const { event, jobId } = entry;
  // A worker that is gone did not run its job during the time until this was noticed.
  if (event === 'stalled' && jobId === queue.returned?.jobId) queue.returned = null;
  countReturned(queue, counter);
  if (jobId === null) return;
  const known = queue.jobs.get(jobId);
  const job: WatchedJob = {
    name: known?.name ?? entry.fields.get('name') ?? names.get(jobId) ?? null,
    readyAt: known?.readyAt ?? null,
    startedAt: known?.startedAt ?? null,
  };
  switch (event) {
    case 'added':
      queue.jobs.set(jobId, { ...job, readyAt: null, startedAt: null });
      break;
    case 'waiting':
    case 'delayed':
    case 'waiting-children':
      giveBack(queue, jobId, job, entry);
      break;
    case 'active':
      if (job.readyAt !== null) counter?.wait(queue.name, job.name, entry.time - job.readyAt);
      queue.jobs.set(jobId, { ...job, readyAt: null, startedAt: entry.time });
      break;
    case 'completed':
    case 'failed':
      queue.jobs.delete(jobId);
      end(queue, job, entry, counter);
      break;
    case 'removed':
      queue.jobs.delete(jobId);
  }
}

/** Counts the run of a job that was given back: it has not stalled. */
export function countReturned(queue: WatchedQueue, counter: RunCounter | null): void {
  const { returned, name } = queue;
  if (returned !== null) counter?.run(name, returned.name, returned.ms);
  queue.returned = null;
}

function giveBack(queue: WatchedQueue, jobId: string, job: WatchedJob, entry: StreamEntry): void {
  const { name, startedAt } = job;
  if (startedAt !== null) queue.returned = { jobId, name, ms: entry.time - startedAt };
  queue.jobs.set(jobId, { name, readyAt: readyAtOf(job, entry), startedAt: null });
}

function readyAtOf({ readyAt }: WatchedJob, { event, fields, time }: StreamEntry): number | null {
  if (event === 'waiting-children') return null;
  if (event === 'delayed') {
    const due = Number(fields.get('delay') ?? Number.NaN);
    return Number.isFinite(due) ? due : null;
  }
  // Workers move a delayed job when they check, which may be after its due time; an app may do so earlier.
  if (fields.get('prev') === 'delayed') return readyAt === null ? null : Math.min(readyAt, time);
  return time;
}

/** Reasons that BullMQ gives without a run. */
const STALLED = 'job stalled more than allowable limit';

function end(
  queue: WatchedQueue,
  { name, startedAt }: WatchedJob,
  { event, fields, time }: StreamEntry,
  counter: RunCounter | null,
): void {
  if (counter === null) return;
  if (event === 'completed') queue.completed += 1;
  else queue.failed += 1;
  const reason = fields.get('failedReason');
  const hasRun = reason !== STALLED && !isOfChild(reason);
  if (startedAt !== null && hasRun) counter.run(queue.name, name, time - startedAt);
}

/** Jobs that are remembered, of all queues together. */
const MOST_JOBS = 50_000;
/** Jobs that are forgotten in one step. */
const STEP = 100;

/** When too many jobs are remembered, every second one that waits is forgotten: the rest still shows how they wait. */
export function* forgetSome(queues: ReadonlyMap<string, WatchedQueue>): Steps<void> {
  let count = 0;
  for (const { jobs } of queues.values()) count += jobs.size;
  if (count <= MOST_JOBS) return;
  let seen = 0;
  for (const { jobs } of queues.values()) {
    for (const [id, { startedAt }] of jobs) {
      seen += 1;
      if (startedAt === null && seen % 2 === 0) jobs.delete(id);
      if (seen % STEP === 0) yield;
    }
  }
}
