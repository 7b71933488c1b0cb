import type { ReadOptions } from '../../../redis/reader.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { QueueRef } from '../access/queue-ref.ts';
import { readActiveJobs } from '../workers/active-jobs.ts';
import type { WorkersByQueue } from '../workers/worker-connections.ts';
import { type JobCounts, type QueueFigures, readQueueFigures, takeable } from './queue-figures.ts';

/** What is known of a queue. */
export interface QueueReport
  extends Pick<QueueFigures, 'schedules' | 'isPaused' | 'concurrency' | 'version'> {
  readonly name: string;
  /** Jobs that the next free worker would take. */
  readonly waiting: number;
  /** Active jobs. */
  readonly reserved: number;
  /** Connected workers; `null` when they cannot be listed. */
  readonly consumers: number | null;
  readonly counts: JobCounts;
  /** Active jobs that their worker has let go of, of those that were looked at. */
  readonly stalled: number;
  /** Whether all active jobs were looked at. */
  readonly isWhole: boolean;
}

/**
 * Reads what waits in queues, who takes from them, and what is stuck.
 *
 * @param workers who is connected; `null` where nobody can tell
 * @throws RedisError when Redis is away, late, or refuses to be read
 */
export async function readQueueReports(
  access: QueueAccess,
  queues: readonly QueueRef[],
  workers: WorkersByQueue,
  options: ReadOptions,
): Promise<readonly QueueReport[]> {
  const [figures, active] = await Promise.all([
    readQueueFigures(access, queues, options),
    readActiveJobs(access, queues, options),
  ]);
  return queues.flatMap((queue) => {
    const [own, held] = [figures.get(queue), active.get(queue)];
    if (own === undefined || held === undefined) return [];
    return {
      ...own,
      name: queue.name,
      waiting: takeable(own.counts),
      reserved: own.counts.active,
      consumers: workers?.get(queue)?.length ?? null,
      stalled: held.jobs.filter(({ isLost }) => isLost).length,
      isWhole: held.isWhole,
    };
  });
}
