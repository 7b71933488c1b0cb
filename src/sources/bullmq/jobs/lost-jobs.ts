import type { ReadOptions } from '../../../redis/reader.ts';
import { asNumber } from '../../../redis/replies.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { QueueCommand } from '../access/queue-reads.ts';
import type { JobRef } from '../access/queue-ref.ts';

/**
 * Finds the active jobs that their workers have lost. A worker renews a lock for each of its jobs; here the
 * lock is gone while the job is still active (bullmq, commands/moveStalledJobsToWait).
 */
export async function findLostJobs<Job extends JobRef>(
  access: QueueAccess,
  active: readonly Job[],
  options: ReadOptions,
): Promise<ReadonlySet<Job>> {
  const lock = ({ queue, id }: JobRef): QueueCommand => ({
    queue,
    command: ['EXISTS', queue.key(`${id}:lock`)],
  });
  const locks = await access.read(active.map(lock), options);
  const unlocked = active.filter((_, index) => locks[index] === 0);
  // A job that has just ended has no lock either.
  const again = await access.read(
    unlocked.flatMap((job) => [
      lock(job),
      { queue: job.queue, command: ['LPOS', job.queue.key('active'), job.id, 'MAXLEN', '10000'] as const },
    ]),
    options,
  );
  return new Set(
    unlocked.filter((_, index) => again[2 * index] === 0 && asNumber(again[2 * index + 1]) !== null),
  );
}
