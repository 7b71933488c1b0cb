/** The memory of a job in Redis: one command that bounds the lengths of all its texts. */
import { asNumber } from '../../../redis/replies.ts';
import type { QueueCommand } from '../access/queue-reads.ts';
import type { JobRef } from '../access/queue-ref.ts';

/** Fields that Redis examines; it would estimate the rest. BullMQ writes about 30 to a job. */
const MOST_FIELDS = '1000';

/** Requests the size of a job. It is optional: the user may not be allowed to, and not every Redis knows it. */
export function sizeCommand({ queue, id }: JobRef): QueueCommand {
  return { queue, command: ['MEMORY', 'USAGE', queue.key(id), 'SAMPLES', MOST_FIELDS], isOptional: true };
}

/** @returns bytes; `null` when Redis does not report it, or there is no such job */
export function sizeOf(reply: unknown): number | null {
  return asNumber(reply);
}
