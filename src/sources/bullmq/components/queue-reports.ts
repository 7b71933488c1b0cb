import { type Steps, scheduler } from '../../../scheduler.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { QueueRef } from '../access/queue-reads.ts';
import { type ActiveJobs, readActiveJobs } from '../workers/active-jobs.ts';
import type { WorkersByQueue } from '../workers/worker-connections.ts';
import { type JobCounts, type QueueFigures, readQueueFigures, takeable } from './queue-figures.ts';

/** The data about a queue. */
export interface QueueReport
  extends Pick<QueueFigures, 'schedules' | 'isPaused' | 'concurrency' | 'version'> {
  readonly name: string;
  /** Jobs that a free worker could take now. */
  readonly waiting: number;
  /** Active jobs. */
  readonly reserved: number;
  /** Connected workers; `null` when they cannot be listed. */
  readonly consumers: number | null;
  readonly counts: JobCounts;
  /** Active jobs whose lock has expired, among those read. */
  readonly stalled: number;
  /** Whether all active jobs were read. */
  readonly isWhole: boolean;
}

/**
 * Reads the lengths of queues, their workers and their stalled jobs.
 *
 * @param connected the connected workers; `null` if unknown
 * @throws RedisError when Redis is unreachable, late, or refuses to be read
 */
export async function readQueueReports(
  access: QueueAccess,
  queues: readonly QueueRef[],
  connected: Promise<WorkersByQueue>,
): Promise<readonly QueueReport[]> {
  const [figures, active, workers] = await Promise.all([
    readQueueFigures(access, queues),
    readActiveJobs(access, queues),
    connected,
  ]);
  return scheduler.run('queues', reportsOf(queues, figures, active, workers));
}

function* reportsOf(
  queues: readonly QueueRef[],
  figures: ReadonlyMap<QueueRef, QueueFigures>,
  active: ReadonlyMap<QueueRef, ActiveJobs>,
  workers: WorkersByQueue,
): Steps<readonly QueueReport[]> {
  const reports: QueueReport[] = [];
  for (const queue of queues) {
    const [own, held] = [figures.get(queue), active.get(queue)];
    if (own === undefined || held === undefined) continue;
    reports.push({
      ...own,
      name: queue.name,
      waiting: takeable(own.counts),
      reserved: own.counts.active,
      consumers: workers?.get(queue)?.length ?? null,
      stalled: held.jobs.filter(({ isLost }) => isLost).length,
      isWhole: held.isWhole,
    });
    yield;
  }
  return reports;
}
