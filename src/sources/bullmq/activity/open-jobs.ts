/** The jobs that have not ended, for the rules. */
import { asCount } from '../../../redis/replies.ts';
import type { LostTasks, OpenTaskSummary, TaskGroup } from '../../../source.ts';
import { type QueueAccess, serversOf } from '../access/queue-access.ts';
import { type QueueRef, taskIdOf } from '../access/queue-reads.ts';
import { readNextDelayed } from '../components/oldest-due.ts';
import { type ActiveJob, readActiveJobs } from '../workers/active-jobs.ts';
import { readWorkerConnections } from '../workers/worker-connections.ts';

/** Most ids of tasks with the same problem. */
const MOST_EXAMPLES = 3;
/** Scores of delayed jobs are milliseconds times this. */
const SCORE_SPAN = 4_096;

/**
 * Sums up the open jobs of all queues. Waiting jobs are read from the queues, and BullMQ moves a job from its queue to
 * a worker in one step, so none is missing in between.
 *
 * @param now in milliseconds since 1970
 */
export async function summarizeOpen(
  access: QueueAccess,
  queues: readonly QueueRef[],
  now: number,
): Promise<OpenTaskSummary> {
  const [active, overdue] = await Promise.all([
    readActiveJobs(access, queues),
    readOverdue(access, queues, now),
  ]);
  const held = [...active.values()];
  const jobs = held.flatMap((one) => one.jobs);
  const running = jobs.flatMap(({ queue, id, name, worker, startedAt, isLost }) =>
    isLost || startedAt === null
      ? []
      : [{ id: taskIdOf(queue.name, id), name, worker, startedAt, queue: queue.name }],
  );
  return {
    running: running.sort((a, b) => a.startedAt - b.startedAt || (a.id < b.id ? -1 : 1)),
    isWhole: held.every(({ isWhole }) => isWhole),
    lost: await groupLost(
      access,
      jobs.filter(({ isLost }) => isLost),
    ),
    overdue,
    waiting: [],
  };
}

/** Delayed jobs whose moment has passed. */
async function readOverdue(
  access: QueueAccess,
  queues: readonly QueueRef[],
  now: number,
): Promise<TaskGroup | null> {
  const next = await readNextDelayed(access, queues);
  const due = next.filter((job) => job.due <= now).sort((a, b) => a.due - b.due);
  const [first] = due;
  if (first === undefined) return null;
  const before = `(${(now + 1) * SCORE_SPAN}`;
  const counts = await access.read(
    [...new Set(due.map(({ queue }) => queue))].map((queue) => ({
      queue,
      command: ['ZCOUNT', queue.key('delayed'), '-inf', before],
    })),
  );
  return {
    count: counts.reduce<number>((sum, count) => sum + asCount(count), 0),
    since: first.due,
    states: ['PENDING', 'RETRY'],
    examples: due.slice(0, MOST_EXAMPLES).map(({ queue, id }) => taskIdOf(queue.name, id)),
  };
}

/** By worker. BullMQ gives a job whose lock has expired to another worker, if there is one. */
async function groupLost(access: QueueAccess, lost: readonly ActiveJob[]): Promise<readonly LostTasks[]> {
  if (lost.length === 0) return [];
  const servers = serversOf(access, [...new Set(lost.map(({ queue }) => queue))]);
  const connections = await Promise.all(servers.map((server) => readWorkerConnections(server)));
  const online = new Set<string>();
  const served = new Set<QueueRef>();
  for (const [queue, workers] of connections.flatMap((found) => [...(found ?? [])])) {
    if (workers.length > 0) served.add(queue);
    for (const { worker } of workers) if (worker !== null) online.add(worker);
  }
  const groups = new Map<string | null, ActiveJob[]>();
  for (const job of lost) groups.set(job.worker, [...(groups.get(job.worker) ?? []), job]);
  return [...groups].map(([worker, jobs]) => ({
    worker,
    isWorkerOnline: worker !== null && online.has(worker),
    isTakenOver: jobs.every(({ queue }) => served.has(queue)),
    count: jobs.length,
    // When a lock expired is not recorded.
    since: null,
    states: ['STARTED'],
    examples: jobs.slice(0, MOST_EXAMPLES).map(({ queue, id }) => taskIdOf(queue.name, id)),
  }));
}
