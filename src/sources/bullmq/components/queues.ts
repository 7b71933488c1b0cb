import type { Queue, QueueLimiter } from '../../../model.ts';
import { asNumber } from '../../../redis/replies.ts';
import { type QueueAccess, type RedisServer, serversOf } from '../access/queue-access.ts';
import type { QueueRef } from '../access/queue-reads.ts';
import { readWorkerConnections } from '../workers/workers.ts';
import {
  engineStatesOf,
  type QueueFigures,
  readOldestDue,
  readQueueFigures,
  takeable,
} from './queue-figures.ts';

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
