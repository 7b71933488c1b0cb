import type { Worker } from '../../../model.ts';
import { RedisError, type RedisProblem } from '../../../redis/problems.ts';
import type { WorkerSource } from '../../../source.ts';
import { type BullMQRedis, type QueueAccess, serversOf } from '../access/queue-access.ts';
import type { QueueRef } from '../access/queue-reads.ts';
import { type ActiveJob, type ActiveJobs, readActiveJobs } from './active-jobs.ts';
import { readWorkerConnections, type WorkerConnection } from './worker-connections.ts';

/**
 * Reads which workers serve which queue.
 *
 * @returns `null` if a server refuses CLIENT LIST: the list would be incomplete
 */
export async function readWorkers(access: QueueAccess): Promise<readonly Worker[] | null> {
  const queues = await access.queues();
  // Jobs before connections: a worker that took a job was connected by then.
  const active = await readActiveJobs(access, queues);
  const byServer = await Promise.all(
    serversOf(access, queues).map((server) => readWorkerConnections(server)),
  );
  const crews: QueueCrew[] = [];
  for (const connections of byServer) {
    if (connections === null) return null;
    for (const [queue, own] of connections) {
      const held = active.get(queue);
      if (held !== undefined) crews.push({ queue, connections: own, active: held });
    }
  }
  return workersOf(crews.sort((a, b) => (a.queue.name < b.queue.name ? -1 : 1)));
}

/** Workers and active jobs of one queue. */
interface QueueCrew {
  readonly queue: QueueRef;
  readonly connections: readonly WorkerConnection[];
  readonly active: ActiveJobs;
}

/**
 * One row per worker that is connected, and one per name that holds a job without being connected. Those of
 * the same name are one row: the jobs that they hold tell them apart no more. One without a name is called
 * after its queue and where it connects from, as `mail@10.0.0.7:51234`.
 */
function workersOf(crews: readonly QueueCrew[]): readonly Worker[] {
  const rows = new Map<string, Worker>();
  for (const row of [...unnamedWorkers(crews), ...namedWorkers(crews), ...absentWorkers(crews)]) {
    rows.set(row.hostname, row);
  }
  return [...rows.values()];
}

function unnamedWorkers(crews: readonly QueueCrew[]): readonly Worker[] {
  return crews.flatMap(({ queue, connections, active }) =>
    connections
      .filter(({ worker }) => worker === null)
      .map(
        ({ address, ageSeconds }): Worker => ({
          hostname: `${queue.name}@${address}`,
          status: 'online',
          queues: [queue.name],
          // Jobs do not say which unnamed worker holds them; only an empty queue is certain.
          active: active.count === 0 ? 0 : null,
          uptimeSeconds: ageSeconds,
        }),
      ),
  );
}

function namedWorkers(crews: readonly QueueCrew[]): readonly Worker[] {
  const names = new Map<string, { readonly crews: Set<QueueCrew>; readonly ages: (number | null)[] }>();
  for (const crew of crews) {
    for (const { worker, ageSeconds } of crew.connections) {
      if (worker === null) continue;
      const known = names.get(worker) ?? { crews: new Set(), ages: [] };
      known.crews.add(crew);
      known.ages.push(ageSeconds);
      names.set(worker, known);
    }
  }
  const held = countHeld(crews);
  return [...names].map(([hostname, { crews: own, ages }]) => ({
    hostname,
    status: 'online',
    queues: [...own].map(({ queue }) => queue.name),
    active: [...own].every(({ active }) => active.isWhole) ? (held.get(hostname) ?? 0) : null,
    // The age of its oldest connection.
    uptimeSeconds: ages.includes(null) ? null : Math.max(...ages.map(Number)),
  }));
}

/** Active jobs by worker name, without those whose lock has expired. */
function countHeld(crews: readonly QueueCrew[]): ReadonlyMap<string, number> {
  const held = new Map<string, number>();
  for (const { worker, isLost } of crews.flatMap(({ active }) => active.jobs)) {
    if (worker !== null && !isLost) held.set(worker, (held.get(worker) ?? 0) + 1);
  }
  return held;
}

/**
 * Workers that hold jobs and are not connected. While the lock of a job is valid, the worker has just left or is
 * closing; once it has expired, the worker is gone. BullMQ remembers no others.
 */
function absentWorkers(crews: readonly QueueCrew[]): readonly Worker[] {
  const connected = new Set(crews.flatMap(({ connections }) => connections.map(({ worker }) => worker)));
  const absent = new Map<string, ActiveJob[]>();
  for (const job of crews.flatMap(({ active }) => active.jobs)) {
    if (job.worker === null || connected.has(job.worker)) continue;
    const jobs = absent.get(job.worker) ?? [];
    jobs.push(job);
    absent.set(job.worker, jobs);
  }
  const isWhole = crews.every(({ active }) => active.isWhole);
  return [...absent].map(([hostname, jobs]) => {
    const held = jobs.filter(({ isLost }) => !isLost);
    return {
      hostname,
      status: held.length === 0 ? 'offline' : canBeListed(hostname) ? 'stale' : 'online',
      queues: [...new Set(jobs.map(({ queue }) => queue.name))],
      active: isWhole ? held.length : null,
    };
  });
}

/** Redis accepts only these characters in connection names; other workers are known by their jobs alone. */
function canBeListed(name: string): boolean {
  return /^[!-~]+$/.test(name);
}

/** The problem when CLIENT LIST is refused. */
export const WORKERS_HIDDEN: RedisProblem = {
  code: 'WORKERSHIDDEN',
  sentence: 'Redis does not allow this user to list clients, so the workers are unknown.',
};

/**
 * Answers `/api/workers/` from Redis' list of clients. Where that is forbidden it throws, which is answered
 * as `source_unavailable`: an empty list would say that there are none.
 */
export function createWorkerSource(name: string, redis: BullMQRedis): WorkerSource {
  return {
    name,
    status: redis.status,
    async listWorkers(context) {
      const workers = await readWorkers(redis.within(context));
      if (workers === null) throw new RedisError(WORKERS_HIDDEN);
      return workers;
    },
  };
}
