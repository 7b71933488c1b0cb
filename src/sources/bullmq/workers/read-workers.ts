import type { Worker } from '../../../model.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { serversOf } from '../access/redis-servers.ts';
import { readActiveJobs } from './active-jobs.ts';
import { readWorkerConnections } from './worker-connections.ts';
import { type QueueCrew, workersOf } from './worker-rows.ts';

/**
 * Reads which workers serve which queue.
 *
 * @returns `null` if a server refuses CLIENT LIST: the list would be incomplete
 * @throws RedisError when Redis is away or late
 */
export async function readWorkers(
  access: QueueAccess,
  options: ReadOptions,
): Promise<readonly Worker[] | null> {
  const queues = await access.queues(options);
  // Jobs before connections: a worker that took a job was connected by then.
  const active = await readActiveJobs(access, queues, options);
  const byServer = await Promise.all(
    serversOf(access, queues).map((server) => readWorkerConnections(server, options)),
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
