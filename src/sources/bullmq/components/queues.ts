/**
 * Sizes and settings of queues, and since when the job has waited that has been due for longest: a handful of commands
 * each, however many jobs there are.
 */
import type { HistoryWriter } from '../../../history/history.ts';
import type { Queue, QueueLimiter } from '../../../model.ts';
import { asCount, asFields, asNumber, asScored, asTexts } from '../../../redis/replies.ts';
import { isTime, recordOf } from '../../../values.ts';
import { type QueueAccess, type RedisServer, readPer, serversOf } from '../access/queue-access.ts';
import { type JobRef, keyCommand, type QueueRef, type QueueReplies } from '../access/queue-reads.ts';
import { type JobFacts, type JobValue, jsonIn, readFacts, readValues } from '../jobs/job-hash.ts';
import { dueTime, isMarker } from '../jobs/job-sets.ts';
import { readWorkerConnections } from '../workers/workers.ts';

/** Figures of a queue that do not require reading its jobs. */
export type QueueFigures = ReturnType<typeof figuresOf>;

/** Numbers of jobs in the lists from which a free worker could take them. */
type Takeable = ReturnType<typeof takeableOf>;

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
async function readTakeable(
  access: QueueAccess,
  queues: readonly QueueRef[],
): Promise<ReadonlyMap<QueueRef, number>> {
  const read = await access.readParts(queues, TAKEABLE);
  return new Map([...read].map(([queue, replies]) => [queue, takeable(takeableOf(replies))]));
}

function takeableOf(replies: QueueReplies<(typeof TAKEABLE)[number]>) {
  return {
    waiting: jobsIn(replies.waiting, replies.nextWaiting),
    /** Waiting jobs of a paused queue, which BullMQ 5 keeps separately. */
    paused: jobsIn(replies.paused, replies.nextPaused),
    prioritized: asCount(replies.prioritized),
  };
}

function figuresOf(replies: QueueReplies<(typeof FIGURES)[number]>) {
  const [isPaused, concurrency, version, most] = asFields(replies.settings);
  return {
    /** Jobs in each of BullMQ's states, as its own `getJobCounts` counts them. */
    counts: {
      ...takeableOf(replies),
      delayed: asCount(replies.delayed),
      'waiting-children': asCount(replies.children),
      active: asCount(replies.active),
      completed: asCount(replies.completed),
      failed: asCount(replies.failed),
    },
    /** Job schedulers and repeatable jobs. */
    schedules: asCount(replies.schedules),
    isPaused: (isPaused ?? null) !== null,
    /** Most jobs that may be active at a time; `null` if unlimited. */
    concurrency: asNumber(concurrency),
    /** Most jobs that may start in a period; `null` if each worker has its own limit, which BullMQ does not store. */
    rateLimit: asNumber(most),
    /** Version of the BullMQ that made it, as `bullmq:6.7.0`; `null` if not recorded. */
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
function engineStatesOf({ counts, isPaused }: QueueFigures): Readonly<Record<string, number>> {
  if (!isPaused) return { ...counts };
  return { ...counts, waiting: 0, paused: counts.waiting + counts.paused };
}

/** Jobs that a free worker could take now. */
export function takeable({ waiting, paused, prioritized }: Takeable): number {
  return waiting + paused + prioritized;
}

/** Number of priorities that are examined, from those that run last. */
const MOST_PRIORITIES = 16;
/** Options of a job are short; longer ones are not read. In bytes. */
const OPTION_BOUNDS = { keep: 65_536, largest: 65_536, budget: 4_194_304 };

/**
 * Reads, for each queue, when the oldest of the jobs that a worker could take now, or that are delayed and overdue,
 * fell due. A retried job has waited since its last run began.
 *
 * @param now in milliseconds since 1970
 * @returns milliseconds since 1970, by queue; queues without such a job are left out
 */
async function readOldestDue(
  access: QueueAccess,
  queues: readonly QueueRef[],
  now: number,
): Promise<ReadonlyMap<QueueRef, number>> {
  const oldest = new Map<QueueRef, number>();
  const add = (queue: QueueRef, time: number): void => {
    oldest.set(queue, Math.min(time, oldest.get(queue) ?? Number.POSITIVE_INFINITY));
  };
  const [heads, delayed] = await Promise.all([readHeads(access, queues), readNextDelayed(access, queues)]);
  for (const { queue, due } of delayed) if (due <= now) add(queue, due);
  const [facts, values] = await Promise.all([
    readFacts(access, heads),
    readValues(
      access,
      heads.map((job) => ({ job, fields: ['opts'] })),
      OPTION_BOUNDS,
    ),
  ]);
  for (const [index, { queue }] of heads.entries()) {
    const known = facts[index] ?? null;
    const time = known === null ? null : waitingSince(known, values[index]?.opts);
    if (time !== null) add(queue, Math.min(time, now));
  }
  return oldest;
}

/** The next three delayed jobs of each queue, and when they fall due, in milliseconds since 1970. */
export async function readNextDelayed(
  access: QueueAccess,
  queues: readonly QueueRef[],
): Promise<readonly (JobRef & { readonly due: number })[]> {
  const next = await access.readParts(queues, ['nextDelayed']);
  return [...next].flatMap(([queue, { nextDelayed }]) =>
    asScored(nextDelayed).map(({ member, score }) => ({ queue, id: member, due: dueTime(score) })),
  );
}

/** The next job of each waiting list and of each priority. */
async function readHeads(access: QueueAccess, queues: readonly QueueRef[]): Promise<readonly JobRef[]> {
  const parts = await access.readParts(queues, ['nextWaiting', 'nextPaused', 'prioritized']);
  const prioritized = queues.filter((queue) => asCount(parts.get(queue)?.prioritized) > 0);
  const heads = [...parts].flatMap(([queue, { nextWaiting, nextPaused }]) => [
    ...nextOf(queue, nextWaiting),
    ...nextOf(queue, nextPaused),
  ]);
  return [...heads, ...(await readFirst(access, prioritized))];
}

/** Scores of jobs of one priority span this much: bullmq, includes/getPriorityScore.lua. */
const PRIORITY_SPAN = 0x1_0000_0000;

/** The next job of each priority. The priorities are found by skipping from one to the next, those that run last first. */
async function readFirst(access: QueueAccess, queues: readonly QueueRef[]): Promise<readonly JobRef[]> {
  const starts = new Map(queues.map((queue) => [queue, [] as number[]]));
  for (let left = queues; left.length > 0; ) {
    const next = await access.read(
      left.map((queue) => {
        const last = starts.get(queue)?.at(-1);
        const below = last === undefined ? '+inf' : `(${last}`;
        const limit = ['WITHSCORES', 'LIMIT', 0, 1] as const;
        return keyCommand(queue, 'ZREVRANGEBYSCORE', 'prioritized', below, '-inf', ...limit);
      }),
    );
    left = left.filter((queue, index) => {
      const [score, known] = [asScored(next[index])[0]?.score, starts.get(queue)];
      if (score === undefined || known === undefined) return false;
      return known.push(Math.floor(score / PRIORITY_SPAN) * PRIORITY_SPAN) < MOST_PRIORITIES;
    });
  }
  const first = await readPer(access, queues, (queue) =>
    (starts.get(queue) ?? []).map((start) =>
      keyCommand(queue, 'ZRANGEBYSCORE', 'prioritized', start, '+inf', 'LIMIT', 0, 1),
    ),
  );
  return [...first].flatMap(([queue, replies]) => replies.flatMap((reply) => nextOf(queue, reply)));
}

/** The job that runs next. The last entry of a list may be a mark of an older BullMQ instead of a job. */
function nextOf(queue: QueueRef, reply: unknown): readonly JobRef[] {
  const id = asTexts(reply).findLast((member) => !isMarker(member));
  return id === undefined ? [] : [{ queue, id }];
}

/** BullMQ keeps no time at which a delayed job joined the others, so its delay is taken from its options. */
function waitingSince({ addedAt, processedAt }: JobFacts, opts: JobValue | undefined): number | null {
  if (processedAt !== null) return processedAt;
  return addedAt === null ? null : addedAt + delayIn(opts);
}

function delayIn(opts: JobValue | undefined): number {
  const delay = recordOf(jsonIn(opts))?.delay;
  return isTime(delay) ? Math.max(0, delay) : 0;
}

/** Between two readings, in milliseconds. */
const INTERVAL_MS = 10_000;
/** A thousand queues are read in no less than this many milliseconds each. */
const PER_QUEUE_MS = 20;

/**
 * Reads how many jobs wait, when that is due: five commands for each queue, and about six more for each in which some do.
 * Queues of an unreachable server are left out.
 */
export function createDepths(
  record: HistoryWriter['recordQueue'],
): (access: QueueAccess, queues: readonly QueueRef[]) => Promise<void> {
  /** By the clock of the process. */
  let dueAt = Number.NEGATIVE_INFINITY;
  return async (access, queues) => {
    if (performance.now() < dueAt) return;
    dueAt = performance.now() + Math.max(INTERVAL_MS, queues.length * PER_QUEUE_MS);
    const servers = serversOf(access, queues).map(async (server) => {
      const waiting = await readTakeable(access, server.queues);
      const busy = server.queues.filter((queue) => (waiting.get(queue) ?? 0) > 0);
      const oldest = await readOldestDue(access, busy, Date.now());
      for (const [queue, count] of waiting) record(queue.name, count, oldest.get(queue) ?? null);
    });
    await Promise.allSettled(servers);
  };
}

/**
 * Answers the component `queues`: a fixed number of commands for each queue and priority, however many jobs there are.
 * While one of several Redis servers is unreachable, the figures of its queues are `null`.
 */
export async function listQueues(access: QueueAccess): Promise<readonly Queue[]> {
  const servers = serversOf(access, await access.queues());
  const read = await Promise.allSettled(servers.map((server) => readQueues(access, server)));
  const failure = read.find((outcome) => outcome.status === 'rejected');
  if (failure !== undefined && read.every(({ status }) => status === 'rejected')) throw failure.reason;
  return read.flatMap((outcome, index) =>
    outcome.status === 'fulfilled' ? outcome.value : (servers[index]?.queues.map(unreadQueue) ?? []),
  );
}

/** How often a queue is read again if jobs were counted but none was found: workers had just taken them. */
const MOST_READS = 3;

async function readQueues(access: QueueAccess, server: RedisServer, reads = 1): Promise<readonly Queue[]> {
  const rows = await readOnce(access, server);
  const isMoving = ({ waiting = null, oldestDueAt = null }: Queue): boolean =>
    waiting !== null && waiting > 0 && oldestDueAt === null;
  if (reads >= MOST_READS || !rows.some(isMoving)) return rows;
  const queues = server.queues.filter((_, index) => isMoving(rows[index] as Queue));
  const again = await readQueues(access, { ...server, queues }, reads + 1);
  const byName = new Map(again.map((row) => [row.name, row]));
  return rows.map((row) => byName.get(row.name) ?? row);
}

async function readOnce(access: QueueAccess, server: RedisServer): Promise<readonly Queue[]> {
  const asOf = new Date();
  const [figures, oldest, workers] = await Promise.all([
    readQueueFigures(access, server.queues),
    readOldestDue(access, server.queues, asOf.getTime()),
    readWorkerConnections(server),
  ]);
  const isBusy = (queue: QueueRef): boolean => takeable(figures.get(queue)?.counts ?? NO_JOBS) > 0;
  const limiters = await readLimiters(access, server.queues.filter(isBusy), figures);
  return server.queues.map((queue) => {
    const own = figures.get(queue);
    const counts = own?.counts;
    const since = oldest.get(queue);
    return {
      name: queue.name,
      waiting: counts === undefined ? null : takeable(counts),
      reserved: counts?.active ?? null,
      consumers: workers?.get(queue)?.length ?? null,
      oldestDueAt: since === undefined ? null : new Date(since),
      engineStates: own === undefined ? null : engineStatesOf(own),
      isPaused: own?.isPaused ?? null,
      concurrencyLimit: own?.concurrency ?? null,
      limiter: limiters.get(queue) ?? null,
      asOf,
    };
  });
}

const NO_JOBS = { waiting: 0, paused: 0, prioritized: 0 };

/** What `Worker.rateLimit` and `Queue.rateLimit` store to stop a queue, whatever its limit is. */
const STOPPED = Number.MAX_SAFE_INTEGER;

/** The rate limits that count now (bullmq, includes/getRateLimitTTL.lua). The user may not be allowed to read the time. */
async function readLimiters(
  access: QueueAccess,
  queues: readonly QueueRef[],
  figures: ReadonlyMap<QueueRef, QueueFigures>,
): Promise<ReadonlyMap<QueueRef, QueueLimiter>> {
  const replies = await access.read(
    queues.flatMap((queue) => [
      { queue, command: ['GET', queue.key('limiter')], isOptional: true },
      { queue, command: ['PTTL', queue.key('limiter')], isOptional: true },
    ]),
  );
  const limiters = new Map<QueueRef, QueueLimiter>();
  for (const [index, queue] of queues.entries()) {
    const taken = asNumber(replies[2 * index]);
    const left = asNumber(replies[2 * index + 1]);
    // Without a time it has just ended, or cannot be read.
    if (taken === null || left === -2) continue;
    const until = left === null || left < 0 ? null : new Date(Date.now() + left);
    const most = figures.get(queue)?.rateLimit ?? (taken >= STOPPED ? taken : null);
    limiters.set(queue, { taken, most, until });
  }
  return limiters;
}

function unreadQueue({ name }: { readonly name: string }): Queue {
  return { name, waiting: null, reserved: null, consumers: null, oldestDueAt: null, asOf: null };
}
