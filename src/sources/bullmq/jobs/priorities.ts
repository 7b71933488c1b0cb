/** Priorities of jobs: each has its own range of scores in the set `prioritized`. */
import { asScored } from '../../../redis/replies.ts';
import type { QueueCommand } from '../access/queue-reads.ts';
import type { QueueRef } from '../access/queue-ref.ts';

/** Scores of jobs of one priority span this much: bullmq, includes/getPriorityScore.lua. */
export const PRIORITY_SPAN = 0x1_0000_0000;

/**
 * Reads which priorities the jobs of a queue have, those that run last first, by skipping from one to the
 * next.
 *
 * @returns one more than `most` when there are more
 */
export async function readPriorities(
  read: (commands: readonly QueueCommand[]) => Promise<readonly unknown[]>,
  queue: QueueRef,
  most: number,
): Promise<readonly number[]> {
  const key = queue.key('prioritized');
  const priorities: number[] = [];
  for (let below = '+inf'; priorities.length <= most; ) {
    const command = ['ZREVRANGEBYSCORE', key, below, '-inf', 'WITHSCORES', 'LIMIT', '0', '1'] as const;
    const [reply] = await read([{ queue, command }]);
    const [found] = asScored(reply);
    if (found === undefined) break;
    const priority = Math.floor(found.score / PRIORITY_SPAN);
    priorities.push(priority);
    below = `(${priority * PRIORITY_SPAN}`;
  }
  return priorities;
}
