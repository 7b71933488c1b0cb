/** Sizes and settings of queues: a handful of commands each, however many jobs there are. */

import type { RedisCommand } from '../../../redis/client.ts';
import { asCount, asFields, asNumber, asTexts } from '../../../redis/replies.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { QueueRef } from '../access/queue-reads.ts';
import { isMarker } from '../jobs/job-sets.ts';
import { type ActiveJobs, readActiveJobs } from '../workers/active-jobs.ts';
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

/** Range of the last two entries of a list: a job runs next, unless it is a mark. */
export const NEXT_TWO = ['-2', '-1'] as const;

/** In the order in which {@link figuresOf} reads their replies. */
const PARTS: readonly (readonly [name: string, part: string, ...args: string[]])[] = [
  ['HMGET', 'meta', 'paused', 'concurrency', 'version', 'max'],
  ['LLEN', 'wait'],
  // The last entry may be a mark of an older BullMQ, which is no job.
  ['LRANGE', 'wait', ...NEXT_TWO],
  ['LLEN', 'paused'],
  ['LRANGE', 'paused', ...NEXT_TWO],
  ['ZCARD', 'prioritized'],
  ['ZCARD', 'delayed'],
  ['ZCARD', 'waiting-children'],
  ['LLEN', 'active'],
  ['ZCARD', 'completed'],
  ['ZCARD', 'failed'],
  ['ZCARD', 'repeat'],
];

export function readQueueFigures(
  access: QueueAccess,
  queues: readonly QueueRef[],
): Promise<ReadonlyMap<QueueRef, QueueFigures>> {
  return access.readEach(queues, (queue) => commandsOf(queue, PARTS), figuresOf);
}

const SETTINGS = PARTS.slice(0, 1);

/** The jobs of a queue that a free worker could take: the {@link PARTS} that {@link takeable} adds up. */
const TAKEABLE = PARTS.slice(1, 6);

/** How many jobs a free worker could take now, by queue: five commands each. */
export function readTakeable(
  access: QueueAccess,
  queues: readonly QueueRef[],
): Promise<ReadonlyMap<QueueRef, number>> {
  return access.readEach(
    queues,
    (queue) => commandsOf(queue, TAKEABLE),
    ([wait, lastWaiting, paused, lastPaused, prioritized]) =>
      jobsIn(wait, lastWaiting) + jobsIn(paused, lastPaused) + asCount(prioritized),
  );
}

/** Reads the settings of queues, which exist as long as they do. */
export async function readSettings(access: QueueAccess, queues: readonly QueueRef[]): Promise<void> {
  await access.readEach(
    queues,
    (queue) => commandsOf(queue, SETTINGS),
    () => {},
  );
}

function commandsOf(queue: QueueRef, parts: typeof PARTS): readonly RedisCommand[] {
  return parts.map(([name, part, ...args]) => [name, queue.key(part), ...args]);
}

function figuresOf(replies: readonly unknown[]): QueueFigures {
  const [meta, wait, lastWaiting, paused, lastPaused, prioritized, delayed, children, ...rest] = replies;
  const [active, completed, failed, schedules] = rest;
  const [isPaused, concurrency, version, most] = asFields(meta);
  return {
    counts: {
      waiting: jobsIn(wait, lastWaiting),
      paused: jobsIn(paused, lastPaused),
      prioritized: asCount(prioritized),
      delayed: asCount(delayed),
      'waiting-children': asCount(children),
      active: asCount(active),
      completed: asCount(completed),
      failed: asCount(failed),
    },
    schedules: asCount(schedules),
    isPaused: (isPaused ?? null) !== null,
    concurrency: asNumber(concurrency),
    rateLimit: asNumber(most),
    version: version ?? null,
  };
}

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
