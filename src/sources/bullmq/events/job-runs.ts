/** Reads from the hashes of jobs what their entries do not tell: name, worker, and how many runs there were. */
import { asFields, asNumber } from '../../../redis/replies.ts';
import { type QueueAccess, readPer } from '../access/queue-access.ts';
import { keyCommand, type QueueRef, taskIdOf } from '../access/queue-reads.ts';
import { shortText } from '../jobs/job-facts.ts';
import { type JobRuns, mayReturn } from './job-machine.ts';
import type { StreamEntry } from './stream-entry.ts';

/** An entry whose job is to be read. */
export interface QueueEntry {
  readonly queue: QueueRef;
  readonly entry: StreamEntry;
}

/** Reads the jobs of entries, each once: one command, and one more where a worker may have given it back. By task id. */
export async function readRuns(
  access: QueueAccess,
  entries: readonly QueueEntry[],
): Promise<ReadonlyMap<string, JobRuns>> {
  const jobs = new Map<
    string,
    { readonly queue: QueueRef; readonly id: string; readonly withLock: boolean }
  >();
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
