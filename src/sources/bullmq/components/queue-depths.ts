/** Records over time how many jobs wait in each queue. */
import type { HistoryWriter } from '../../../history/history.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { QueueRef } from '../access/queue-ref.ts';
import { serversOf } from '../access/redis-servers.ts';
import { readOldestDue } from './oldest-due.ts';
import { readTakeable } from './queue-figures.ts';

/** Between two readings, in milliseconds. */
const INTERVAL_MS = 10_000;
/** A thousand queues are read in no less than this many milliseconds each. */
const PER_QUEUE_MS = 20;

/** How long to wait between two readings of this many queues, in milliseconds. */
export function depthsInterval(queues: number): number {
  return Math.max(INTERVAL_MS, queues * PER_QUEUE_MS);
}

/**
 * Reads how many jobs wait: five commands for each queue, and about six more for each in which some do. Queues of an
 * unreachable server are left out.
 */
export async function recordDepths(
  access: QueueAccess,
  writer: Pick<HistoryWriter, 'recordQueue'>,
  queues: readonly QueueRef[],
  options: ReadOptions,
): Promise<void> {
  const servers = serversOf(access, queues).map(async (server) => {
    const waiting = await readTakeable(access, server.queues, options);
    const busy = server.queues.filter((queue) => (waiting.get(queue) ?? 0) > 0);
    const oldest = await readOldestDue(access, busy, Date.now(), options);
    for (const [queue, count] of waiting) writer.recordQueue(queue.name, count, oldest.get(queue) ?? null);
  });
  await Promise.allSettled(servers);
}
