/** Priorities of jobs: each has its own range of scores in the set `prioritized`. */
import { asScored } from '../../../redis/replies.ts';
import type { ReadCommands } from '../access/queue-reads.ts';
import type { QueueRef } from '../access/queue-ref.ts';

/** Scores of jobs of one priority span this much: bullmq, includes/getPriorityScore.lua. */
export const PRIORITY_SPAN = 0x1_0000_0000;

/**
 * Reads which priorities the jobs of queues have, those that run last first, by skipping from one to the next.
 *
 * @returns by queue; one more than `most` when there are more
 */
export async function readPriorities(
  read: ReadCommands,
  queues: readonly QueueRef[],
  most: number,
): Promise<ReadonlyMap<QueueRef, readonly number[]>> {
  const found = new Map(queues.map((queue) => [queue, [] as number[]]));
  for (let left = [...found]; left.length > 0; ) {
    const replies = await read(
      left.map(([queue, known]) => {
        const last = known.at(-1);
        const below = last === undefined ? '+inf' : `(${last * PRIORITY_SPAN}`;
        const key = queue.key('prioritized');
        return { queue, command: ['ZREVRANGEBYSCORE', key, below, '-inf', 'WITHSCORES', 'LIMIT', '0', '1'] };
      }),
    );
    left = left.filter(([, known], index) => {
      const [next] = asScored(replies[index]);
      if (next !== undefined) known.push(Math.floor(next.score / PRIORITY_SPAN));
      return next !== undefined && known.length <= most;
    });
  }
  return found;
}
