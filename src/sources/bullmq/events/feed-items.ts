/** Makes items of the feed from stream entries and the hashes of their jobs. */

import { createLruCache, type LruCache } from '../../../lru-cache.ts';
import type { TaskEvent } from '../../../model.ts';
import { redactEvent } from '../../../redact.ts';
import { asFields, asNumber } from '../../../redis/replies.ts';
import { type QueueAccess, readPer } from '../access/queue-access.ts';
import { keyCommand, type QueueRef, taskIdOf } from '../access/queue-reads.ts';
import { compareIds, OF_QUEUE, type StreamEntry } from './stream-entry.ts';

/** An entry and its item. */
export interface FeedItem {
  /** Id of the entry in its stream. */
  readonly id: string;
  /** Milliseconds since 1970, by the clock of Redis. */
  readonly time: number;
  /** `null`: nothing is shown. */
  readonly event: TaskEvent | null;
  /** Characters that its entry had. */
  readonly sizeRead: number;
}

/**
 * Items that were made, and what was learned of their jobs: each entry is described once, whoever reads it, and a name
 * is known for as long as it matters after its job is removed.
 */
export interface ItemMemory {
  readonly items: LruCache<FeedItem>;
  /** By task id: after which entry, and what is known after it. */
  readonly traces: LruCache<{ readonly after: string; readonly trace: JobTrace }>;
}

export function createItemMemory(): ItemMemory {
  return {
    items: createLruCache({ entries: 10_000, bytes: 16_000_000, sizeOf: ({ event }) => sizeOf(event) }),
    traces: createLruCache({ entries: 10_000 }),
  };
}

/** Makes items of entries, in their order. Each job is read once. */
export async function readItems(
  access: QueueAccess,
  { items, traces }: ItemMemory,
  queue: QueueRef,
  entries: readonly StreamEntry[],
): Promise<readonly FeedItem[]> {
  const keyOf = ({ id }: StreamEntry): string => `${queue.name}:${id}`;
  const known = entries.map((entry) => items.get(keyOf(entry)));
  const runs = await readRuns(
    access,
    queue,
    entries.filter((_, index) => known[index] === undefined),
  );
  return entries.map((entry, index) => {
    const made = known[index];
    if (made !== undefined) return made;
    const { id, time, jobId } = entry;
    const taskId = jobId === null ? '' : taskIdOf(queue.name, jobId);
    const last = traces.get(taskId);
    // Of data from later entries, only the name is valid.
    const later = last !== undefined && compareIds(last.after, id) >= 0 ? last : null;
    const name = later?.trace.name ?? null;
    const before = later === null ? last?.trace : { name, last: null, state: null, hasFailed: null };
    const { event: raw, trace } = describeEntry(queue.name, entry, before, runs.get(jobId ?? ''));
    const event = raw && redactEvent(raw, access.redactor);
    if (trace !== null && later === null) traces.set(taskId, { after: id, trace });
    else if (trace !== null && name === null) {
      traces.set(taskId, {
        after: later?.after ?? id,
        trace: { ...(later?.trace ?? trace), name: trace.name },
      });
    }
    const item = { id, time, event, sizeRead: entry.size };
    items.set(keyOf(entry), item);
    return item;
  });
}

/** By job id. */
async function readRuns(
  access: QueueAccess,
  queue: QueueRef,
  entries: readonly StreamEntry[],
): Promise<ReadonlyMap<string, JobRuns>> {
  /** Whether a worker may have given the job back. */
  const jobs = new Map<string, boolean>();
  for (const entry of entries) {
    const jobId = isComplete(entry) ? null : entry.jobId;
    if (jobId !== null) jobs.set(jobId, jobs.get(jobId) === true || mayReturn(entry));
  }
  const read = await readPer(access, [...jobs.keys()], (jobId) => [
    keyCommand(queue, 'HMGET', jobId, 'name', 'pb', 'atm', 'ats', 'timestamp'),
    ...(jobs.get(jobId) ? [keyCommand(queue, 'EXISTS', `${jobId}:lock`)] : []),
  ]);
  return new Map([...read].map(([jobId, [fields, lock = null]]) => [jobId, jobRunsOf(fields, lock)]));
}

const LONGEST = 4_096;
const NOTHING: JobRuns = { name: null, worker: null, made: null, begun: null, isHeld: false };

function jobRunsOf(fields: unknown, lock: unknown): JobRuns {
  const [name = null, worker = null, made, begun, timestamp = null] = asFields(fields);
  if (name === null && timestamp === null) return NOTHING;
  return {
    name: name === null ? null : name.slice(0, LONGEST),
    worker: worker === null ? null : worker.slice(0, LONGEST) || null,
    made: asNumber(made) ?? 0,
    begun: asNumber(begun),
    isHeld: lock === null ? null : lock === 1,
  };
}

/** Size of an item without its texts, in characters. */
const OVERHEAD = 200;

function sizeOf(event: TaskEvent | null): number {
  if (event === null) return OVERHEAD;
  const { id, task, taskId, worker, detail } = event;
  return OVERHEAD + [id, task, taskId, worker, detail].reduce((sum, text) => sum + (text?.length ?? 0), 0);
}

/** State of the hash when it was read, which may be long after the entry was written. */
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

/** Data about a job from earlier entries. It is needed to describe later ones. */
export interface JobTrace {
  /** Its name, which is stored nowhere else once the job is removed. */
  readonly name: string | null;
  /** BullMQ's name of the latest entry; `null`: not known. */
  readonly last: string | null;
  /** State of the job after that entry; `null`: not known. */
  readonly state: string | null;
  /** Whether one of its runs has failed; `null`: not known. */
  readonly hasFailed: boolean | null;
}

/** The result of describing an entry. */
export interface DescribedEntry {
  /** `null` when an earlier entry has reported the same. */
  readonly event: TaskEvent | null;
  /** The data to remember about the job; `null` when the entry is about none. */
  readonly trace: JobTrace | null;
}

/** The parts of an item that depend on the kind of entry. */
interface Description {
  readonly type: string;
  readonly state: string | null;
  readonly hasFailed?: boolean | null;
  readonly detail?: string | null;
}

/** The data that is known when an entry is described. */
interface Known {
  readonly fields: ReadonlyMap<string, string>;
  readonly trace: JobTrace | undefined;
  readonly runs: JobRuns | undefined;
}

/** Entries that a run writes. */
const OF_RUN: ReadonlySet<string> = new Set([
  'active',
  'progress',
  'completed',
  'failed',
  'retries-exhausted',
]);

const LONGEST_DETAIL = 4_096;

/** Whether the entry has all data to show, so that its job need not be read. */
function isComplete({ event, fields }: StreamEntry): boolean {
  return (event === 'added' && fields.has('name')) || (event === 'waiting' && !fields.has('prev'));
}

/** Whether a worker may have given the job back. Its runs show why. */
function mayReturn({ event, fields }: StreamEntry): boolean {
  return event === 'delayed' || (event === 'waiting' && fields.get('prev') === 'active');
}

/**
 * Creates an item of the feed from an entry.
 *
 * @param trace data from earlier entries of the job
 * @param runs data from the job's hash
 */
function describeEntry(
  queue: string,
  entry: StreamEntry,
  trace: JobTrace | undefined,
  runs: JobRuns | undefined,
): DescribedEntry {
  const { id, time, event, jobId, fields } = entry;
  const described = jobId === null ? ofQueue(queue, event, fields) : ofJob(event, { fields, trace, runs });
  const name = jobId === null ? null : (fields.get('name') ?? runs?.name ?? trace?.name ?? null);
  const item: TaskEvent | null = described && {
    id: `${queue}:${id}`,
    type: described.type,
    task: name,
    taskId: jobId === null ? null : taskIdOf(queue, jobId),
    state: described.state,
    worker: OF_RUN.has(event) ? workerOf(event, runs) : null,
    timestamp: time <= 8.64e15 ? new Date(time) : null,
    detail: described.detail ?? null,
  };
  if (jobId === null) return { event: item, trace: null };
  const hasFailed = described?.hasFailed === undefined ? (trace?.hasFailed ?? null) : described.hasFailed;
  const state = described === null ? (trace?.state ?? null) : described.state;
  return { event: item, trace: { name, last: event, state, hasFailed } };
}

/** The hash names the last worker. It is that of this run if the job has run once, or has completed. */
function workerOf(event: string, runs: JobRuns | undefined): string | null {
  return runs !== undefined && (runs.begun === 1 || event === 'completed') ? runs.worker : null;
}

function ofJob(event: string, known: Known): Description | null {
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

function ofWaiting(prev: string, known: Known): Description {
  const detail = phrase('was', prev);
  // Another run was requested.
  if (prev === 'failed' || prev === 'completed')
    return { type: 'waiting', state: 'RETRY', hasFailed: true, detail };
  return prev === 'active'
    ? ofReturn('waiting', known, detail)
    : { type: 'waiting', ...waits(known), detail };
}

function ofDelayed(known: Known): Description {
  const { fields, trace } = known;
  const due = Number(fields.get('delay') ?? Number.NaN);
  const detail = Math.abs(due) <= 8.64e15 ? `due ${new Date(due).toISOString()}` : null;
  // It was returned by a worker, or was delayed again while it waited.
  const last = trace?.last ?? null;
  const isReturn = last === null || last === 'active' || last === 'progress';
  return isReturn ? ofReturn('delayed', known, detail) : { type: 'delayed', ...waits(known), detail };
}

/** A worker has given back a job that has not ended. */
function ofReturn(event: string, known: Known, detail: string | null): Description {
  if (known.runs !== undefined && countsEveryRun(known.runs)) {
    return { type: 'task-retried', state: 'RETRY', hasFailed: true, detail };
  }
  // The run may have failed, so whether the job waits as PENDING or RETRY is unknown.
  const hasFailed = known.runs?.made === 0 ? false : known.trace?.hasFailed || null;
  return {
    type: event,
    ...waits({ ...known, trace: known.trace && { ...known.trace, hasFailed } }),
    hasFailed,
    detail,
  };
}

/**
 * Whether every run that ended counts as an attempt. Then a job that went from a worker back to its queue has
 * failed; otherwise it may have stalled, been given back, or waited for its children.
 */
function countsEveryRun({ made, begun, isHeld }: JobRuns): boolean {
  return made !== null && made > 0 && begun !== null && isHeld !== null && begun - made === (isHeld ? 1 : 0);
}

/** A job that waits is PENDING, or RETRY if one of its runs has failed. */
function waits({ trace, runs }: Known): { readonly state: string | null } {
  if (runs?.made === 0) return { state: 'PENDING' };
  const hasFailed = trace?.hasFailed ?? null;
  return { state: hasFailed === null ? null : hasFailed ? 'RETRY' : 'PENDING' };
}

function ofQueue(queue: string, event: string, fields: ReadonlyMap<string, string>): Description {
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

/** A host may write events of its own, with any fields. */
function detailOf(fields: ReadonlyMap<string, string>): string | null {
  const own = [...fields].filter(([name]) => name !== 'event' && name !== 'jobId' && name !== 'name');
  return own.length === 0 ? null : JSON.stringify(Object.fromEntries(own)).slice(0, LONGEST_DETAIL);
}
