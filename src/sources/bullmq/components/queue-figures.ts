/** Sizes and settings of queues: a handful of commands each, however many jobs there are. */

import { asCount, asFields, asNumber, asTexts } from '../../../redis/replies.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { QueueReplies } from '../access/queue-parts.ts';
import type { QueueRef } from '../access/queue-reads.ts';
import { isMarker } from '../jobs/job-sets.ts';
import { readActiveJobs } from '../workers/active-jobs.ts';
import type { WorkersByQueue } from '../workers/worker-connections.ts';

/** Jobs in each of BullMQ's states, as its own `getJobCounts` counts them. */
export interface JobCounts {
  readonly waiting: number;
  /** Waiting jobs of a paused queue, which BullMQ 5 keeps separately. */
  readonly paused: number;
  readonly prioritized: number;
  readonly delayed: number;
  readonly 'waiting-children': number;
  readonly active: number;
  readonly completed: number;
  readonly failed: number;
}

/** Figures of a queue that do not require reading its jobs. */
export interface QueueFigures {
  readonly counts: JobCounts;
  /** Job schedulers and repeatable jobs. */
  readonly schedules: number;
  readonly isPaused: boolean;
  /** Most jobs that may be active at a time; `null` if unlimited. */
  readonly concurrency: number | null;
  /** Most jobs that may start in a period; `null` if each worker has its own limit, which BullMQ does not store. */
  readonly rateLimit: number | null;
  /** Version of the BullMQ that made it, as `bullmq:6.7.0`; `null` if not recorded. */
  readonly version: string | null;
}

/** Lists of jobs that a free worker could take, with what runs next. */
const TAKEABLE = ['waiting', 'nextWaiting', 'paused', 'nextPaused', 'prioritized'] as const;

const FIGURES = [
  ...TAKEABLE,
  ...(['settings', 'delayed', 'children', 'active', 'completed', 'failed', 'schedules'] as const),
] as const;

export async function readQueueFigures(
  access: QueueAccess,
  queues: readonly QueueRef[],
): Promise<ReadonlyMap<QueueRef, QueueFigures>> {
  const read = await access.readParts(queues, FIGURES);
  return new Map([...read].map(([queue, replies]) => [queue, figuresOf(replies)]));
}

/** How many jobs a free worker could take now, by queue: five commands each. */
export async function readTakeable(
  access: QueueAccess,
  queues: readonly QueueRef[],
): Promise<ReadonlyMap<QueueRef, number>> {
  const read = await access.readParts(queues, TAKEABLE);
  return new Map([...read].map(([queue, replies]) => [queue, takeable(takeableOf(replies))]));
}

function takeableOf(
  replies: QueueReplies<(typeof TAKEABLE)[number]>,
): Pick<JobCounts, 'waiting' | 'paused' | 'prioritized'> {
  return {
    waiting: jobsIn(replies.waiting, replies.nextWaiting),
    paused: jobsIn(replies.paused, replies.nextPaused),
    prioritized: asCount(replies.prioritized),
  };
}

function figuresOf(replies: QueueReplies<(typeof FIGURES)[number]>): QueueFigures {
  const [isPaused, concurrency, version, most] = asFields(replies.settings);
  return {
    counts: {
      ...takeableOf(replies),
      delayed: asCount(replies.delayed),
      'waiting-children': asCount(replies.children),
      active: asCount(replies.active),
      completed: asCount(replies.completed),
      failed: asCount(replies.failed),
    },
    schedules: asCount(replies.schedules),
    isPaused: (isPaused ?? null) !== null,
    concurrency: asNumber(concurrency),
    rateLimit: asNumber(most),
    version: version ?? null,
  };
}

/** The last entry may be a mark of an older BullMQ, which is no job. */
function jobsIn(length: unknown, last: unknown): number {
  return Math.max(0, asCount(length) - (isMarker(asTexts(last).at(-1) ?? '') ? 1 : 0));
}

/**
 * Jobs by their `engineState`, as the list of tasks shows them: BullMQ 6 leaves the waiting jobs of a paused queue in
 * `wait`.
 */
export function engineStatesOf({ counts, isPaused }: QueueFigures): Readonly<Record<string, number>> {
  if (!isPaused) return { ...counts };
  return { ...counts, waiting: 0, paused: counts.waiting + counts.paused };
}

/** Jobs that a free worker could take now. */
export function takeable({
  waiting,
  paused,
  prioritized,
}: Pick<JobCounts, 'waiting' | 'paused' | 'prioritized'>): number {
  return waiting + paused + prioritized;
}

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
  return queues.flatMap((queue): QueueReport[] => {
    const [own, held] = [figures.get(queue), active.get(queue)];
    if (own === undefined || held === undefined) return [];
    return [
      {
        ...own,
        name: queue.name,
        waiting: takeable(own.counts),
        reserved: own.counts.active,
        consumers: workers?.get(queue)?.length ?? null,
        stalled: held.jobs.filter(({ isLost }) => isLost).length,
        isWhole: held.isWhole,
      },
    ];
  });
}
