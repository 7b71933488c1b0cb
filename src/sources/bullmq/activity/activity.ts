/**
 * The data for the rules. BullMQ has no collector that listens all the time: events are counted on request, from where
 * the last count ended. Streams keep about the last 10,000 events of a queue; removed events are replaced by counting
 * the jobs that the queue still has.
 */

import { createMinuteAggregate, type MinuteAggregate } from '../../../history/aggregate/minute-aggregate.ts';
import { asCount } from '../../../redis/replies.ts';
import { shareCalls } from '../../../single-flight.ts';
import type { Activity, LostTasks, OpenTaskSummary, TaskGroup } from '../../../source.ts';
import { addTo } from '../../../values.ts';
import { type BullMQRedis, type QueueAccess, serversOf } from '../access/queue-access.ts';
import { keyCommand, type QueueRef, taskIdOf } from '../access/queue-reads.ts';
import { createDepths, readNextDelayed } from '../components/queues.ts';
import type { StepConsumer, StreamFollower } from '../events/stream-follower.ts';
import { type ActiveJob, readActiveJobs, readWorkerConnections } from '../workers/workers.ts';
import {
  type CountedQueue,
  countEvents,
  countedSince,
  type EndedJobs,
  judgedStalls,
} from './count-events.ts';
import { countEnded } from './kept-jobs.ts';

/** Bounds of one answer. The rest is read for the next one. */
const MOST_ENDED = 5_000;
const MOST_MS = 2_000;
/** Queues whose gaps are read at once. */
const GAPS_AT_ONCE = 25;
/** Time limit of a read in milliseconds. */
const READ_MS = 4_000;
/** Memory for counts, in bytes: some 300 names for an hour and a half, or 20 for a day. */
const COUNTS_BYTES = 16_777_216;

const READING = 'The event streams are still being read.';

/** The activity, and the queues over time for the times of requests. */
export function createActivity(redis: BullMQRedis, follower: StreamFollower) {
  const counts = createMinuteAggregate(COUNTS_BYTES);
  const events = countEvents(counts);
  const readDepths = createDepths((queue, waiting, oldestDueAt) => {
    const now = Date.now();
    const ageMs = oldestDueAt === null ? null : now - oldestDueAt;
    counts.queues.addReading(queue, waiting, { ageMs, isAtLeast: false }, now);
  });
  const state: ActivityState = { follower, counts, events, readDepths };
  return {
    /** Calls while one runs share its answer. */
    read: shareCalls(() => readActivity(redis.within({ timeoutMs: READ_MS }), state)),
    queues: counts.queues,
    /** The latest jobs of a queue that ended, by the counted events. */
    endedJobs: ({ name }: QueueRef): Iterable<EndedJobs> => events.get(name)?.samples.values() ?? [],
  };
}

interface ActivityState {
  readonly follower: StreamFollower;
  readonly counts: MinuteAggregate;
  readonly events: StepConsumer<CountedQueue>;
  readonly readDepths: ReturnType<typeof createDepths>;
}

async function readActivity(access: QueueAccess, state: ActivityState): Promise<Activity> {
  const { counts, events } = state;
  const queues = await access.queues();
  const [isWhole, open] = await Promise.all([
    countAll(access, state, queues),
    summarizeOpen(access, queues, Date.now()),
    state.readDepths(access, queues),
  ]);
  const counted = queues.flatMap(({ name }) => events.get(name) ?? []);
  return {
    since: Math.max(0, ...counted.map(countedSince)),
    blind: isWhole ? null : READING,
    counts,
    open,
    workersPull: true,
    silent: [],
    growing: counts.queues.growing(Date.now()),
    recent: (queue) => counts.queues.recent(queue, Date.now()),
    ...judgedStalls(counted, Date.now()),
  };
}

/** @returns whether all events have been counted */
async function countAll(
  access: QueueAccess,
  { follower, counts, events }: ActivityState,
  queues: readonly QueueRef[],
): Promise<boolean> {
  const isWhole = await follower.catchUp(events, access, MOST_MS);
  const gaps = queues.flatMap(({ name }) => events.get(name) ?? []).filter(({ gap }) => gap !== null);
  const most = Math.max(1, Math.floor(MOST_ENDED / Math.max(1, gaps.length)));
  for (let at = 0; at < gaps.length; at += GAPS_AT_ONCE) {
    const some = gaps.slice(at, at + GAPS_AT_ONCE);
    await Promise.all(some.map((queue) => countEnded(access, counts, queue, most)));
  }
  return isWhole;
}

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
async function summarizeOpen(
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
    [...new Set(due.map(({ queue }) => queue))].map((queue) =>
      keyCommand(queue, 'ZCOUNT', 'delayed', '-inf', before),
    ),
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
  for (const job of lost) addTo(groups, job.worker, job);
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
