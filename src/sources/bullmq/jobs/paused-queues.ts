/** Finds paused queues. */
import type { ReadCommands } from '../access/queue-reads.ts';
import type { QueueRef } from '../access/queue-ref.ts';
import { type JobSet, setIn } from './job-sets.ts';

/** The paused queues. Each queue takes one command. */
export async function findPaused(
  read: ReadCommands,
  queues: readonly QueueRef[],
): Promise<ReadonlySet<QueueRef>> {
  const replies = await read(
    queues.map((queue) => ({ queue, command: ['HGET', queue.key('meta'), 'paused'] as const })),
  );
  return new Set(queues.filter((_, index) => replies[index] !== null));
}

/** The entries, with the waiting jobs of paused queues as paused ones. */
export async function withPaused<Entry extends { readonly queue: QueueRef; readonly set: JobSet }>(
  read: ReadCommands,
  entries: readonly Entry[],
): Promise<readonly Entry[]> {
  const waiting = entries.filter(({ set }) => set.part === 'wait').map(({ queue }) => queue);
  if (waiting.length === 0) return entries;
  const paused = await findPaused(read, [...new Set(waiting)]);
  return entries.map((entry) => ({ ...entry, set: setIn(entry.set, paused.has(entry.queue)) }));
}
