/**
 * Reads of many queues that several parts make at once, such as components, checks and rules. They go through the queues
 * of a Redis together: a command that several of them need is sent once, and never before it was asked for. Few queues
 * are read at a time, so that each turn of the event loop is short however many there are.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RedisCommand } from '../../../redis/client.ts';
import { withDeadline } from '../../../redis/deadline.ts';
import type { Outcome, ReadOptions, RedisReader } from '../../../redis/reader.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import { replyOf } from './queue-reads.ts';
import type { QueueRef } from './queue-ref.ts';

/**
 * Reads the same of each queue.
 *
 * @param commandsOf the commands about a queue
 * @param take makes the result of a queue from their replies. The reply for a key of another type is `null`
 * @returns by queue, in their order
 * @throws RedisError when Redis is unreachable, late, or refuses one of the commands; and what `take` throws
 */
export type ReadEach = <Result>(
  queues: readonly QueueRef[],
  commandsOf: (queue: QueueRef) => readonly RedisCommand[],
  take: (replies: readonly unknown[], queue: QueueRef) => Result,
  options?: ReadOptions,
) => Promise<ReadonlyMap<QueueRef, Result>>;

/** A read that is under way at one Redis. */
interface Read {
  /** The queues that have not been asked yet. */
  readonly left: Set<QueueRef>;
  commandsOf(queue: QueueRef): readonly RedisCommand[];
  take(replies: readonly unknown[], queue: QueueRef): void;
  /** Called when the last reply has been taken, or with what is wrong. */
  end(error?: unknown): void;
}

/** Commands about a few queues. */
interface Batch {
  readonly commands: RedisCommand[];
  /** Which read takes the replies about which queue, and the indexes of its commands. */
  readonly takers: { readonly read: Read; readonly queue: QueueRef; readonly at: readonly number[] }[];
}

/** The reads of one Redis, the oldest first. */
interface Pending {
  readonly reads: Set<Read>;
  isRunning: boolean;
}

/** Commands that are sent at once: with their replies, they take a few milliseconds of a turn. */
const AT_ONCE = 100;

export function createReadEach(): ReadEach {
  const pendingOf = new WeakMap<RedisReader, Pending>();

  return async (queues, commandsOf, take, { signal, timeoutMs } = {}) => {
    const results = new Map<QueueRef, ReturnType<typeof take>>();
    const takeOne: Read['take'] = (replies, queue) => void results.set(queue, take(replies, queue));
    const left = new Map<RedisReader, Set<QueueRef>>();
    for (const queue of queues) left.set(queue.reader, (left.get(queue.reader) ?? new Set()).add(queue));
    const forget: (() => void)[] = [];
    const ended = [...left].map(
      ([reader, own]) =>
        new Promise<void>((resolve, reject) => {
          const pending = pendingOf.get(reader) ?? { reads: new Set(), isRunning: false };
          pendingOf.set(reader, pending);
          const end = (error?: unknown): void => (error === undefined ? resolve() : reject(error));
          const read: Read = { left: own, commandsOf, take: takeOne, end };
          pending.reads.add(read);
          forget.push(() => void pending.reads.delete(read));
          if (!pending.isRunning) void readPending(reader, pending);
        }),
    );
    try {
      await withDeadline(Promise.all(ended), signal, timeoutMs);
    } finally {
      for (const one of forget) one();
    }
    return new Map(queues.map((queue) => [queue, results.get(queue) as ReturnType<typeof take>]));
  };
}

async function readPending(reader: RedisReader, pending: Pending): Promise<void> {
  const { reads } = pending;
  pending.isRunning = true;
  // All reads that begin in this turn take part from the first queue on.
  await nextTurn();
  while (reads.size > 0) {
    try {
      const batch = await scheduler.run('queues', nextBatch(reads));
      // Without the signal of a caller: others wait, too.
      const outcomes = await reader.outcomes(batch.commands);
      await scheduler.run('queues', takeReplies(batch, outcomes, reads));
    } catch (error) {
      for (const read of reads) read.end(error);
      reads.clear();
    }
  }
  pending.isRunning = false;
}

/** Commands about the next queues of the oldest read, for all reads that still need one of them. */
function* nextBatch(reads: ReadonlySet<Read>): Steps<Batch> {
  const { commands, takers }: Batch = { commands: [], takers: [] };
  const [oldest] = reads;
  for (const queue of oldest?.left ?? []) {
    const known = new Map<string, number>();
    for (const read of reads) {
      if (!read.left.delete(queue)) continue;
      const at = read.commandsOf(queue).map((command) => {
        const key = command.join('\0');
        const index = known.get(key) ?? commands.push(command) - 1;
        known.set(key, index);
        return index;
      });
      takers.push({ read, queue, at });
    }
    if (commands.length >= AT_ONCE) break;
    yield;
  }
  return { commands, takers };
}

function* takeReplies({ takers }: Batch, outcomes: readonly Outcome[], reads: Set<Read>): Steps<void> {
  for (const { read, queue, at } of takers) {
    // Nobody waits any more for a read that has been forgotten.
    if (!reads.has(read)) continue;
    try {
      const replies = at.map((index) => replyOf(outcomes[index]));
      read.take(replies, queue);
    } catch (error) {
      reads.delete(read);
      read.end(error);
    }
    yield;
  }
  for (const read of reads) if (read.left.size === 0 && reads.delete(read)) read.end();
}
