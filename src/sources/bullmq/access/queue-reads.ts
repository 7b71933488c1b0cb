/** Reads of many queues at once, each Redis with as few writes as possible. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RedisCommand } from '../../../redis/client.ts';
import { isOutage, RedisError } from '../../../redis/problems.ts';
import type { Outcome, ReadOptions, RedisReader } from '../../../redis/reader.ts';
import type { QueueRef } from './queue-ref.ts';

/** One command about one queue: all its keys belong to that queue. */
export interface QueueCommand {
  readonly queue: QueueRef;
  readonly command: RedisCommand;
  /**
   * Whether the read works without it. If Redis refuses such a command, the reply is `null`, and the command is not
   * sent again for a minute. Default: false.
   */
  readonly isOptional?: boolean;
}

/** Replies to commands, in their order. */
export type ReadCommands = (commands: readonly QueueCommand[]) => Promise<readonly unknown[]>;

/** For how long a refused optional command is not sent again, in milliseconds. */
const REFUSED_MS = 60_000;

/** Codes of problems of a key with another type than BullMQ's. */
const NO_SUCH_VALUE = new Set(['WRONGTYPE', 'NOKEY']);

/** The commands for one Redis, and their positions in the whole list. */
interface Group {
  readonly commands: RedisCommand[];
  readonly indexes: number[];
}

/**
 * @returns sends commands and resolves with their replies, in their order. A key of another type is answered with
 *   `null`, as if it were absent. Rejects with a `RedisError` when a Redis is unreachable, late, or refuses a command
 *   that is not optional.
 */
export function createQueueReads(): (
  list: readonly QueueCommand[],
  options?: ReadOptions,
) => Promise<unknown[]> {
  /** When to send it again, by `performance.now()`. */
  const refusedUntil = new WeakMap<RedisReader, number>();

  return async (list, options) => {
    const now = performance.now();
    const groups = new Map<RedisReader, Group>();
    for (const [index, { queue, command, isOptional }] of list.entries()) {
      if (isOptional && (refusedUntil.get(queue.reader) ?? 0) > now) continue;
      const group = groups.get(queue.reader) ?? { commands: [], indexes: [] };
      group.commands.push(command);
      group.indexes.push(index);
      groups.set(queue.reader, group);
    }
    const replies: unknown[] = new Array(list.length).fill(null);
    await Promise.all(
      [...groups].map(async ([reader, { commands, indexes }]) => {
        const outcomes = await readInTurns(reader, commands, options);
        for (const [at, index] of indexes.entries()) {
          const outcome = outcomes[at];
          if (list[index]?.isOptional && isRefused(outcome)) refusedUntil.set(reader, now + REFUSED_MS);
          else replies[index] = replyOf(outcome);
        }
      }),
    );
    return replies;
  };
}

/** Commands that are sent in one turn of the event loop: with their replies, they take a few milliseconds. */
const AT_ONCE = 100;

/** Sends commands in their order. Those of a turn do not wait for the replies to those before. */
async function readInTurns(
  reader: RedisReader,
  commands: readonly RedisCommand[],
  options: ReadOptions | undefined,
): Promise<readonly Outcome[]> {
  const sent: Promise<readonly Outcome[]>[] = [];
  for (let from = 0; from < commands.length; from += AT_ONCE) {
    if (from > 0) await nextTurn();
    const some = reader.outcomes(commands.slice(from, from + AT_ONCE), options);
    // It is awaited below. Until then, a failure must not be an unhandled rejection.
    some.catch(() => {});
    sent.push(some);
  }
  return (await Promise.all(sent)).flat();
}

function isRefused(outcome: Outcome | undefined): boolean {
  return outcome?.problem != null && !isOutage(outcome.problem);
}

/**
 * The reply to a command. One about a key of another type is `null`.
 *
 * @throws RedisError when Redis refuses it
 */
export function replyOf(outcome: Outcome | undefined): unknown {
  if (outcome?.problem && !NO_SUCH_VALUE.has(outcome.problem.code)) throw new RedisError(outcome.problem);
  return outcome?.reply ?? null;
}
