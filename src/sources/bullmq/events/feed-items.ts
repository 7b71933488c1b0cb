/** Makes items of the feed from stream entries and the hashes of their jobs. */
import type { TaskEvent } from '../../../model.ts';
import { redactEvent } from '../../../redact.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { type QueueRef, taskIdOf } from '../access/queue-reads.ts';
import { describeEntry, isComplete, mayReturn } from './event-item.ts';
import { type JobMemory, type JobRuns, jobRunsOf, lockCommand, runsCommand } from './job-memory.ts';
import type { StreamEntry } from './stream-entry.ts';

/** An entry and its item. */
export interface FeedItem {
  /** Id of the entry in its stream. */
  readonly id: string;
  /** Milliseconds since 1970, by the clock of Redis. */
  readonly time: number;
  /** `null`: nothing is shown. */
  readonly event: TaskEvent | null;
  /** Approximate number of characters kept in memory. */
  readonly size: number;
  /** Characters that its entry had. */
  readonly sizeRead: number;
}

/** Entries of one stream, in their order. */
export interface EntryList {
  readonly queue: QueueRef;
  readonly entries: readonly StreamEntry[];
}

/**
 * Creates items of all entries. Each job is read once.
 *
 * @param memory data from earlier entries of their jobs
 */
export async function readItems(
  access: QueueAccess,
  lists: readonly EntryList[],
  memory: JobMemory,
): Promise<readonly (readonly FeedItem[])[]> {
  const runs = await readRuns(access, lists, memory);
  return lists.map(({ queue, entries }) => {
    const items: FeedItem[] = [];
    for (const entry of entries) {
      const key = entry.jobId === null ? '' : taskIdOf(queue.name, entry.jobId);
      const { event: raw, trace } = describeEntry(queue.name, entry, memory.get(key), runs.get(key));
      const event = raw && redactEvent(raw, access.redactor);
      if (trace !== null) memory.set(key, trace);
      items.push({ id: entry.id, time: entry.time, event, size: sizeOf(event), sizeRead: entry.size });
    }
    return items;
  });
}

async function readRuns(
  access: QueueAccess,
  lists: readonly EntryList[],
  memory: JobMemory,
): Promise<ReadonlyMap<string, JobRuns>> {
  const jobs = new Map<string, { readonly queue: QueueRef; readonly jobId: string; hasLock: boolean }>();
  const runs = new Map<string, JobRuns>();
  for (const { queue, entries } of lists) {
    for (const entry of entries) {
      const jobId = isComplete(entry) ? null : entry.jobId;
      if (jobId === null) continue;
      const key = taskIdOf(queue.name, jobId);
      const known = memory.runsOf(key);
      if (known !== undefined) runs.set(key, known);
      const job = jobs.get(key) ?? { queue, jobId, hasLock: false };
      job.hasLock ||= mayReturn(entry);
      if (known === undefined || (job.hasLock && known.isHeld === null)) jobs.set(key, job);
    }
  }
  const commands = [...jobs.values()].flatMap(({ queue, jobId, hasLock }) => [
    runsCommand(queue, jobId),
    ...(hasLock ? [lockCommand(queue, jobId)] : []),
  ]);
  const replies = await access.read(commands);
  let next = 0;
  for (const [key, { hasLock }] of jobs) {
    const read = jobRunsOf(replies[next++], hasLock ? replies[next++] : null);
    runs.set(key, read);
    memory.setRuns(key, read);
  }
  return runs;
}

/** Size of an item without its texts, in characters. */
const OVERHEAD = 200;

function sizeOf(event: TaskEvent | null): number {
  if (event === null) return OVERHEAD;
  const { id, task, taskId, worker, detail } = event;
  return OVERHEAD + [id, task, taskId, worker, detail].reduce((sum, text) => sum + (text?.length ?? 0), 0);
}
