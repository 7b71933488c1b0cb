/** Makes items of the feed from stream entries and the hashes of their jobs. */

import { createLruCache, type LruCache } from '../../../lru-cache.ts';
import type { TaskEvent } from '../../../model.ts';
import { redactEvent } from '../../../redact.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { type QueueRef, taskIdOf } from '../access/queue-reads.ts';
import { dateOf } from '../jobs/job-hash.ts';
import { type JobRuns, type JobTrace, readRuns, stepJob, unknownJob } from './job-machine.ts';
import { compareIds, OF_QUEUE, type StreamEntry } from './stream-entry.ts';

/** An entry and its item. */
export interface FeedItem {
  /** Id of the entry in its stream. */
  readonly id: string;
  /** Milliseconds since 1970, by the clock of Redis. */
  readonly time: number;
  /** `null`: nothing is shown. */
  readonly event: TaskEvent | null;
}

/**
 * Items that were made, and what was learned of their jobs: each entry is described once, whoever reads it, and a name
 * is known for as long as it matters after its job is removed.
 */
export interface ItemMemory {
  readonly items: LruCache<FeedItem>;
  /** By task id: after which entry, and what is known after it. */
  readonly jobs: LruCache<{ readonly after: string; readonly job: JobTrace }>;
}

export function createItemMemory(): ItemMemory {
  return {
    items: createLruCache({ entries: 10_000, bytes: 16_000_000, sizeOf: ({ event }) => sizeOf(event) }),
    jobs: createLruCache({ entries: 10_000 }),
  };
}

/** Makes items of entries, in their order. Each job is read once. */
export async function readItems(
  access: QueueAccess,
  memory: ItemMemory,
  queue: QueueRef,
  entries: readonly StreamEntry[],
): Promise<readonly FeedItem[]> {
  const keyOf = ({ id }: StreamEntry): string => `${queue.name}:${id}`;
  const known = entries.map((entry) => memory.items.get(keyOf(entry)));
  const missing = entries.filter((entry, index) => known[index] === undefined && !isComplete(entry));
  const runs = await readRuns(
    access,
    missing.map((entry) => ({ queue, entry })),
  );
  return entries.map((entry, index) => {
    const made = known[index];
    if (made !== undefined) return made;
    const raw = entry.jobId === null ? ofQueue(queue, entry) : ofJob(memory, queue, entry, runs);
    const event = raw && redactEvent(raw, access.redactor);
    const item = { id: entry.id, time: entry.time, event };
    memory.items.set(keyOf(entry), item);
    return item;
  });
}

/** Whether the entry has all data to show, so that its job need not be read. */
function isComplete({ event, fields }: StreamEntry): boolean {
  return (event === 'added' && fields.has('name')) || (event === 'waiting' && !fields.has('prev'));
}

/** Size of an item without its texts, in characters. */
const OVERHEAD = 200;

function sizeOf(event: TaskEvent | null): number {
  if (event === null) return OVERHEAD;
  const { id, task, taskId, worker, detail } = event;
  return OVERHEAD + [id, task, taskId, worker, detail].reduce((sum, text) => sum + (text?.length ?? 0), 0);
}

function ofJob(
  { jobs }: ItemMemory,
  queue: QueueRef,
  entry: StreamEntry,
  read: ReadonlyMap<string, JobRuns>,
): TaskEvent | null {
  const taskId = taskIdOf(queue.name, entry.jobId ?? '');
  const runs = read.get(taskId);
  const known = jobs.get(taskId);
  // Of what later entries have told, only the name is valid.
  const later = known !== undefined && compareIds(known.after, entry.id) >= 0 ? known : null;
  const before = later === null ? known?.job : unknownJob(later.job.name);
  const { type, job } = stepJob(before ?? unknownJob(null), entry, runs);
  if (later === null) jobs.set(taskId, { after: entry.id, job });
  else if (later.job.name === null) {
    jobs.set(taskId, { after: later.after, job: { ...later.job, name: job.name } });
  }
  return type === null
    ? null
    : {
        ...itemOf(queue, entry, type),
        task: job.name,
        taskId,
        state: job.state,
        worker: workerOf(entry, runs),
        detail: detailOf(entry),
      };
}

function ofQueue(queue: QueueRef, entry: StreamEntry): TaskEvent {
  const { event, fields } = entry;
  const count = fields.get('count');
  const jobs = event === 'cleaned' && count !== undefined ? `: ${count} jobs` : '';
  const detail = OF_QUEUE.has(event) ? `queue ${queue.name}${jobs}` : ownFields(fields);
  return { ...itemOf(queue, entry, event || 'unknown'), detail };
}

function itemOf(queue: QueueRef, { id, time }: StreamEntry, type: string): TaskEvent {
  return {
    id: `${queue.name}:${id}`,
    type,
    task: null,
    taskId: null,
    state: null,
    worker: null,
    timestamp: dateOf(time),
    detail: null,
  };
}

/** Entries that a run writes. */
const OF_RUN: ReadonlySet<string> = new Set([
  'active',
  'progress',
  'completed',
  'failed',
  'retries-exhausted',
]);

/** The hash names the last worker. It is that of this run if the job has run once, or has completed. */
function workerOf({ event }: StreamEntry, runs: JobRuns | undefined): string | null {
  if (runs === undefined || !OF_RUN.has(event)) return null;
  return runs.begun === 1 || event === 'completed' ? runs.worker : null;
}

function detailOf({ event, fields }: StreamEntry): string | null {
  switch (event) {
    case 'added':
    case 'active':
    case 'completed':
    case 'waiting-children':
    case 'stalled':
      return null;
    case 'failed':
      return fields.get('failedReason') || null;
    case 'retries-exhausted':
      return phrase('attempts', fields.get('attemptsMade'));
    case 'waiting':
    case 'removed':
      return phrase('was', fields.get('prev'));
    case 'delayed':
      return phrase('due', dateOf(Number(fields.get('delay') ?? Number.NaN))?.toISOString());
    case 'progress':
      return fields.get('data') ?? null;
    default:
      return ownFields(fields);
  }
}

function phrase(word: string, value: string | undefined): string | null {
  return value === undefined ? null : `${word} ${value}`;
}

const LONGEST_DETAIL = 4_096;

/** A host may write events of its own, with any fields. */
function ownFields(fields: ReadonlyMap<string, string>): string | null {
  const own = [...fields].filter(([name]) => name !== 'event' && name !== 'jobId' && name !== 'name');
  return own.length === 0 ? null : JSON.stringify(Object.fromEntries(own)).slice(0, LONGEST_DETAIL);
}
