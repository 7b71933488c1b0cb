/** The jobs that workers hold now, up to a limit. */

import { asCount, asTexts } from '../../../redis/replies.ts';
import { type QueueAccess, readFields } from '../access/queue-access.ts';
import { type JobRef, keyCommand, type QueueRef } from '../access/queue-reads.ts';
import { shortText, timeOf } from '../jobs/job-facts.ts';
import { findLostJobs } from '../jobs/job-loader.ts';
import { isMarker } from '../jobs/job-sets.ts';

/** A job that a worker took and has not finished. */
export interface ActiveJob extends JobRef {
  /** Name of the worker that took it; `null` if the worker has none. */
  readonly worker: string | null;
  /** `null`: not known. */
  readonly name: string | null;
  /** When its run began, in milliseconds since 1970; `null`: not known. */
  readonly startedAt: number | null;
  /** Whether the worker's lock on it has expired: BullMQ calls such a job stalled. */
  readonly isLost: boolean;
}

/** The active jobs of one queue. */
export interface ActiveJobs {
  readonly count: number;
  /** The jobs taken first, which are the most likely to be stuck. */
  readonly jobs: readonly ActiveJob[];
  /** Whether `jobs` holds all of them. */
  readonly isWhole: boolean;
}

/** Jobs read for one answer, over all queues. */
const MOST_JOBS = 1_000;

export async function readActiveJobs(
  access: QueueAccess,
  queues: readonly QueueRef[],
): Promise<ReadonlyMap<QueueRef, ActiveJobs>> {
  const parts = await access.readParts(queues, ['active']);
  const counts = new Map([...parts].map(([queue, { active }]) => [queue, asCount(active)]));
  const busy = queues.filter((queue) => counts.get(queue) !== 0);
  const share = Math.max(1, Math.floor(MOST_JOBS / Math.max(1, busy.length)));
  const lists = await access.read(busy.map((queue) => keyCommand(queue, 'LRANGE', 'active', -share, -1)));
  const jobs = await withWorkers(
    access,
    busy.flatMap((queue, index) => jobsOf(queue, lists[index])),
  );
  const found = new Map(queues.map((queue) => [queue, [] as ActiveJob[]]));
  for (const job of jobs) found.get(job.queue)?.push(job);
  return new Map(
    [...counts].map(([queue, count]) => [
      queue,
      { count, jobs: found.get(queue) ?? [], isWhole: count <= share },
    ]),
  );
}

function jobsOf(queue: QueueRef, list: unknown): readonly JobRef[] {
  return asTexts(list)
    .filter((id) => !isMarker(id))
    .map((id) => ({ queue, id }));
}

async function withWorkers(access: QueueAccess, jobs: readonly JobRef[]): Promise<readonly ActiveJob[]> {
  const [fields, lost] = await Promise.all([
    readFields(access, jobs, ['pb', 'name', 'processedOn']),
    findLostJobs(access, jobs),
  ]);
  return jobs.map((job, index) => {
    const [worker, name, processedOn] = fields[index] ?? [];
    return {
      ...job,
      worker: shortText(worker) || null,
      name: shortText(name),
      startedAt: timeOf(processedOn),
      isLost: lost.has(job),
    };
  });
}
