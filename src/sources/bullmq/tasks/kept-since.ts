/** Since when a queue still has all its jobs: BullMQ removes those that have ended as the app tells it. */
import type { ReadOptions } from '../../../redis/reader.ts';
import { asCount, asScored } from '../../../redis/replies.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { QueueRef } from '../access/queue-ref.ts';
import { readQueueFigures } from '../components/queue-figures.ts';

/**
 * BullMQ counts in `id` every job that it adds. Where it has fewer now, some were removed, of the succeeded ones the
 * oldest first. Failed jobs are often kept for longer and say nothing about them.
 *
 * @returns milliseconds since 1970; `-Infinity`: no job was ever removed; `Infinity`: no succeeded job is kept
 * @throws RedisError when Redis is away, late, or refuses one of the commands
 */
export async function keptSince(
  access: QueueAccess,
  queues: readonly QueueRef[],
  options: ReadOptions,
): Promise<number> {
  // The number of added jobs is read first: what is added meanwhile must not look like a removed job.
  const added = await access.read(
    queues.flatMap((queue) => [
      { queue, command: ['GET', queue.key('id')] as const, isOptional: true },
      { queue, command: ['ZRANGE', queue.key('completed'), '0', '0', 'WITHSCORES'] as const },
    ]),
    options,
  );
  const figures = await readQueueFigures(access, queues, options);
  const times = queues.map((queue, index) => {
    const counts = Object.values(figures.get(queue)?.counts ?? {});
    const kept = counts.reduce((sum, count) => sum + count, 0);
    // A user without the right to GET gets no number: as if nothing had been removed.
    if (asCount(added[2 * index]) <= kept) return Number.NEGATIVE_INFINITY;
    return asScored(added[2 * index + 1])[0]?.score ?? Number.POSITIVE_INFINITY;
  });
  return Math.max(Number.NEGATIVE_INFINITY, ...times);
}
