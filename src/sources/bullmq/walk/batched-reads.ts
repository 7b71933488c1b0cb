import { nextTick } from 'node:process';
import type { ReadOptions } from '../../../redis/reader.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { QueueCommand, ReadCommands } from '../access/queue-reads.ts';

/** Commands that one sequence waits for. */
interface WaitingRead {
  readonly commands: readonly QueueCommand[];
  resolve(replies: readonly unknown[]): void;
  reject(error: unknown): void;
}

/**
 * Sends the commands of several sequences to Redis together. Each sequence sends its own commands; all commands before
 * Node's next tick become one read.
 */
export function batchReads(access: QueueAccess, options: ReadOptions): ReadCommands {
  let waiting: WaitingRead[] = [];

  async function send(): Promise<void> {
    const batch = waiting;
    waiting = [];
    try {
      const replies = await access.read(
        batch.flatMap(({ commands }) => commands),
        options,
      );
      let from = 0;
      for (const { commands, resolve } of batch) {
        resolve(replies.slice(from, from + commands.length));
        from += commands.length;
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  return (commands) =>
    new Promise((resolve, reject) => {
      if (waiting.push({ commands, resolve, reject }) === 1) nextTick(send);
    });
}
