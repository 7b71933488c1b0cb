/** Entries made into items of the feed, with what their jobs tell. */
import type { TaskEvent } from '../../../model.ts';
import type { QueueAccess } from '../queue-access.ts';
import { type QueueRef, taskIdOf } from '../queue-ref.ts';
import type { ReadOptions } from '../redis-link.ts';
import { jobIdOf, saysAll, tellEntry } from './event-item.ts';
import type { JobMemory } from './job-memory.ts';
import { type JobRuns, jobRunsOf, runsCommands } from './job-runs.ts';
import type { StreamEntry } from './stream-entry.ts';

/** An entry with what is shown of it. */
export interface FeedItem {
  /** Of the entry, in its stream. */
  readonly id: string;
  /** Milliseconds since 1970, by the clock of Redis. */
  readonly time: number;
  /** `null`: it is passed over. */
  readonly event: TaskEvent | null;
  /** Characters held, about. */
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
 * Makes items of all of them, reading each job once.
 *
 * @param memory of entries before these
 */
export async function readItems(
  access: QueueAccess,
  lists: readonly EntryList[],
  memory: JobMemory,
  options: ReadOptions,
): Promise<readonly (readonly FeedItem[])[]> {
  const runs = await readRuns(access, lists, options);
  return lists.map(({ queue, entries }) => {
    const items: FeedItem[] = [];
    for (const entry of entries) {
      const jobId = jobIdOf(entry);
      const key = jobId === null ? '' : taskIdOf(queue.name, jobId);
      const { event, trace } = tellEntry(queue.name, entry, memory.get(key), runs.get(key));
      if (trace !== null) memory.set(key, trace);
      items.push({ id: entry.id, time: entry.time, event, size: sizeOf(event), sizeRead: entry.size });
    }
    return items;
  });
}

async function readRuns(
  access: QueueAccess,
  lists: readonly EntryList[],
  options: ReadOptions,
): Promise<ReadonlyMap<string, JobRuns>> {
  const jobs = new Map<string, { readonly queue: QueueRef; readonly jobId: string }>();
  for (const { queue, entries } of lists) {
    for (const entry of entries) {
      const jobId = saysAll(entry) ? null : jobIdOf(entry);
      if (jobId !== null) jobs.set(taskIdOf(queue.name, jobId), { queue, jobId });
    }
  }
  const commands = [...jobs.values()].flatMap(({ queue, jobId }) => runsCommands(queue, jobId));
  const replies = await access.read(commands, options);
  return new Map(
    [...jobs.keys()].map((key, at) => [key, jobRunsOf(replies[2 * at], replies[2 * at + 1])] as const),
  );
}

/** What an item takes beside its texts. */
const OVERHEAD = 200;

function sizeOf(event: TaskEvent | null): number {
  if (event === null) return OVERHEAD;
  const { id, task, taskId, worker, detail } = event;
  return OVERHEAD + [id, task, taskId, worker, detail].reduce((sum, text) => sum + (text?.length ?? 0), 0);
}
