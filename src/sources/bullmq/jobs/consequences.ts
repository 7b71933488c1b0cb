/** Finds parents that failed because a child failed (`failParentOnFailure`). */
import type { Task } from '../../../model.ts';
import { asCount } from '../../../redis/replies.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { JobRef } from '../access/queue-reads.ts';
import { isOfChild, type KnownJob } from './job-row.ts';
import { ROW_BOUNDS, readValues } from './job-values.ts';

/**
 * The failed jobs that failed because of a child. That takes one command for each failed job, and two more for each
 * with a failed child.
 */
export async function findConsequences<Job extends JobRef>(
  access: QueueAccess,
  failed: readonly Job[],
): Promise<ReadonlySet<Job>> {
  const replies = await access.read(
    failed.map(({ queue, id }) => ({ queue, command: ['EXISTS', queue.key(`${id}:unsuccessful`)] as const })),
  );
  const parents = failed.filter((_, index) => asCount(replies[index]) > 0);
  const requests = parents.map((job) => ({ job, fields: ['failedReason'] as const }));
  const values = await readValues(access, requests, ROW_BOUNDS);
  return new Set(parents.filter((_, index) => isOfChild(values[index]?.failedReason?.text)));
}

/** Flags those of the tasks that failed because of a child, of which no text has been read. */
export async function flagConsequences(
  access: QueueAccess,
  jobs: readonly KnownJob[],
  tasks: readonly Task[],
): Promise<readonly Task[]> {
  const failed = jobs.filter(({ set }) => set.part === 'failed');
  const flagged = await findConsequences(access, failed);
  return tasks.map((task, index) => {
    const job = jobs[index];
    return job !== undefined && flagged.has(job) ? { ...task, flags: ['consequence'] } : task;
  });
}
