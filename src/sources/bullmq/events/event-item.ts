/**
 * Entries of BullMQ as items of the feed.
 *
 * | BullMQ | type | state |
 * |---|---|---|
 * | `added` | `task-sent` | PENDING |
 * | `active` | `task-started` | STARTED |
 * | `completed` | `task-succeeded` | SUCCESS |
 * | `failed` (for good) | `task-failed` | FAILURE |
 * | `waiting`, `delayed` after a run that failed | `task-retried` | RETRY |
 * | `waiting` as it was added | none: `added` has said so | |
 * | any other | verbatim | where the job stands then, where that is known |
 */
import type { TaskEvent } from '../../../model.ts';
import { taskIdOf } from '../queue-ref.ts';
import type { JobTrace } from './job-memory.ts';
import { countsEveryRun, type JobRuns } from './job-runs.ts';
import type { StreamEntry } from './stream-entry.ts';

/** What an entry tells. */
export interface ToldEntry {
  /** `null`: nothing that has not been told. */
  readonly event: TaskEvent | null;
  /** What to remember of its job; `null` for an entry of none. */
  readonly trace: JobTrace | null;
}

interface Told {
  readonly type: string;
  readonly state: string | null;
  readonly hasFailed?: boolean | null;
  readonly detail?: string | null;
}

interface Known {
  readonly fields: ReadonlyMap<string, string>;
  readonly trace: JobTrace | undefined;
  readonly runs: JobRuns | undefined;
}

/** Entries of a whole queue: what they have of a job is none that they are about. */
const OF_QUEUE: ReadonlySet<string> = new Set(['drained', 'paused', 'resumed', 'cleaned']);
/** Entries that a run leaves. */
const OF_RUN: ReadonlySet<string> = new Set([
  'active',
  'progress',
  'completed',
  'failed',
  'retries-exhausted',
]);

const LONGEST_ID = 4_096;

/** The job that an entry is about; `null` for none. */
export function jobIdOf({ fields }: StreamEntry): string | null {
  const id = fields.get('jobId');
  if (id === undefined || id === '' || id.length >= LONGEST_ID) return null;
  return OF_QUEUE.has(fields.get('event') ?? '') ? null : id;
}

/** Whether the entry says all that is shown of it, so that its job need not be read. */
export function saysAll({ fields }: StreamEntry): boolean {
  const event = fields.get('event');
  return (event === 'added' && fields.has('name')) || (event === 'waiting' && !fields.has('prev'));
}

/** Whether a worker may have let go of the job, which takes its runs to tell. */
export function mayReturn({ fields }: StreamEntry): boolean {
  const event = fields.get('event');
  return event === 'delayed' || (event === 'waiting' && fields.get('prev') === 'active');
}

export function tellEntry(
  queue: string,
  entry: StreamEntry,
  trace: JobTrace | undefined,
  runs: JobRuns | undefined,
): ToldEntry {
  const { id, time, fields } = entry;
  const event = fields.get('event') ?? '';
  const jobId = jobIdOf(entry);
  const told = jobId === null ? ofQueue(queue, event, fields) : ofJob(event, { fields, trace, runs });
  const name = jobId === null ? null : (fields.get('name') ?? runs?.name ?? trace?.name ?? null);
  const item: TaskEvent | null = told && {
    id: `${queue}:${id}`,
    type: told.type,
    task: name,
    taskId: jobId === null ? null : taskIdOf(queue, jobId),
    state: told.state,
    worker: OF_RUN.has(event) ? workerOf(event, runs) : null,
    timestamp: time <= 8.64e15 ? new Date(time) : null,
    detail: told.detail ?? null,
  };
  if (jobId === null) return { event: item, trace: null };
  const hasFailed = told?.hasFailed === undefined ? (trace?.hasFailed ?? null) : told.hasFailed;
  const state = told === null ? (trace?.state ?? null) : told.state;
  return { event: item, trace: { name, last: event, state, hasFailed } };
}

/** A job of one run has had one worker; what is completed keeps its last. */
function workerOf(event: string, runs: JobRuns | undefined): string | null {
  return runs !== undefined && (runs.begun === 1 || event === 'completed') ? runs.worker : null;
}

function ofJob(event: string, known: Known): Told | null {
  const { fields, trace } = known;
  const prev = fields.get('prev');
  switch (event) {
    case 'added':
      return { type: 'task-sent', state: 'PENDING', hasFailed: false };
    case 'active':
      return { type: 'task-started', state: 'STARTED' };
    case 'completed':
      return { type: 'task-succeeded', state: 'SUCCESS' };
    case 'failed':
      return {
        type: 'task-failed',
        state: 'FAILURE',
        hasFailed: true,
        detail: fields.get('failedReason') || null,
      };
    case 'retries-exhausted':
      return { type: event, state: 'FAILURE', detail: phrase('attempts', fields.get('attemptsMade')) };
    case 'waiting':
      return prev === undefined ? null : ofWaiting(prev, known);
    case 'delayed':
      return ofDelayed(known);
    case 'waiting-children':
    case 'stalled':
      return { type: event, ...waits(known) };
    case 'progress':
      return { type: event, state: trace?.state ?? null, detail: fields.get('data') ?? null };
    case 'removed':
      return { type: event, state: null, detail: phrase('was', prev) };
    default:
      return { type: typeOf(event), state: trace?.state ?? null, detail: detailOf(fields) };
  }
}

function ofWaiting(prev: string, known: Known): Told {
  const detail = phrase('was', prev);
  // Somebody asked for it once more.
  if (prev === 'failed' || prev === 'completed')
    return { type: 'waiting', state: 'RETRY', hasFailed: true, detail };
  return prev === 'active'
    ? ofReturn('waiting', known, detail)
    : { type: 'waiting', ...waits(known), detail };
}

function ofDelayed(known: Known): Told {
  const { fields, trace } = known;
  const due = Number(fields.get('delay') ?? Number.NaN);
  const detail = Math.abs(due) <= 8.64e15 ? `due ${new Date(due).toISOString()}` : null;
  // It comes from a worker, or has been delayed anew where it was.
  const last = trace?.last ?? null;
  const isReturn = last === null || last === 'active' || last === 'progress';
  return isReturn ? ofReturn('delayed', known, detail) : { type: 'delayed', ...waits(known), detail };
}

/** A worker has let go of a job that has not ended. */
function ofReturn(event: string, known: Known, detail: string | null): Told {
  if (known.runs !== undefined && countsEveryRun(known.runs)) {
    return { type: 'task-retried', state: 'RETRY', hasFailed: true, detail };
  }
  // It may have failed: what it waits as is not known any more.
  const hasFailed = known.runs?.made === 0 ? false : known.trace?.hasFailed || null;
  return {
    type: event,
    ...waits({ ...known, trace: known.trace && { ...known.trace, hasFailed } }),
    hasFailed,
    detail,
  };
}

/** A job that waits is PENDING, or RETRY if a run of it has failed. */
function waits({ trace, runs }: Known): { readonly state: string | null } {
  if (runs?.made === 0) return { state: 'PENDING' };
  const hasFailed = trace?.hasFailed ?? null;
  return { state: hasFailed === null ? null : hasFailed ? 'RETRY' : 'PENDING' };
}

function ofQueue(queue: string, event: string, fields: ReadonlyMap<string, string>): Told {
  const count = fields.get('count');
  if (!OF_QUEUE.has(event)) return { type: typeOf(event), state: null, detail: detailOf(fields) };
  const jobs = event === 'cleaned' && count !== undefined ? `: ${count} jobs` : '';
  return { type: event, state: null, detail: `queue ${queue}${jobs}` };
}

function typeOf(event: string): string {
  return event === '' ? 'unknown' : event;
}

function phrase(word: string, value: string | undefined): string | null {
  return value === undefined ? null : `${word} ${value}`;
}

/** Events of the host's own have fields of any name. */
function detailOf(fields: ReadonlyMap<string, string>): string | null {
  const own = [...fields].filter(([name]) => name !== 'event' && name !== 'jobId' && name !== 'name');
  return own.length === 0 ? null : JSON.stringify(Object.fromEntries(own)).slice(0, LONGEST_ID);
}
