/** Makes items of the feed from stream entries and the hashes of their jobs. */
import { createLruCache, type LruCache } from '../../../lru-cache.ts';
import type { TaskEvent } from '../../../model.ts';
import { redactEvent } from '../../../redact.ts';
import { asFields, asNumber } from '../../../redis/replies.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { type QueueCommand, type QueueRef, taskIdOf } from '../access/queue-reads.ts';
import { describeEntry, isComplete, type JobRuns, type JobTrace, mayReturn } from './event-item.ts';
import { compareIds, type StreamEntry } from './stream-entry.ts';

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
  const replies = await access.read(
    [...jobs].flatMap(([jobId, hasLock]): QueueCommand[] => [
      { queue, command: ['HMGET', queue.key(jobId), 'name', 'pb', 'atm', 'ats', 'timestamp'] },
      ...(hasLock ? [{ queue, command: ['EXISTS', queue.key(`${jobId}:lock`)] }] : []),
    ]),
  );
  let next = 0;
  return new Map(
    [...jobs].map(([jobId, hasLock]) => [
      jobId,
      jobRunsOf(replies[next++], hasLock ? replies[next++] : null),
    ]),
  );
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
