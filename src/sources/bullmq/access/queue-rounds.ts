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

/** One read that is under way. */
interface Rider {
  /** The queues that have not been asked yet. */
  readonly left: Set<QueueRef>;
  commandsOf(queue: QueueRef): readonly RedisCommand[];
  take(replies: readonly unknown[], queue: QueueRef): void;
  /** Called when the last reply has been taken, or with what is wrong. */
  end(error?: unknown): void;
}

/** What riders need of a few queues. */
interface Portion {
  readonly commands: RedisCommand[];
  /** Which queue to give to which rider, and the indexes of its commands. */
  readonly stops: { readonly rider: Rider; readonly queue: QueueRef; readonly at: readonly number[] }[];
}

/** The reads of one Redis, the oldest first. */
interface Round {
  readonly riders: Set<Rider>;
  isRunning: boolean;
}

/** Commands that are sent at once: with their replies, they take a few milliseconds of a turn. */
const AT_ONCE = 100;

export function createReadEach(): ReadEach {
  const rounds = new WeakMap<RedisReader, Round>();

  return async (queues, commandsOf, take, { signal, timeoutMs } = {}) => {
    const results = new Map<QueueRef, ReturnType<typeof take>>();
    const takeOne: Rider['take'] = (replies, queue) => void results.set(queue, take(replies, queue));
    const left = new Map<RedisReader, Set<QueueRef>>();
    for (const queue of queues) left.set(queue.reader, (left.get(queue.reader) ?? new Set()).add(queue));
    const leaving: (() => void)[] = [];
    const rides = [...left].map(
      ([reader, own]) =>
        new Promise<void>((resolve, reject) => {
          const round = rounds.get(reader) ?? { riders: new Set(), isRunning: false };
          rounds.set(reader, round);
          const end = (error?: unknown): void => (error === undefined ? resolve() : reject(error));
          const rider: Rider = { left: own, commandsOf, take: takeOne, end };
          round.riders.add(rider);
          leaving.push(() => void round.riders.delete(rider));
          if (!round.isRunning) void goRound(reader, round);
        }),
    );
    try {
      await withDeadline(Promise.all(rides), signal, timeoutMs);
    } finally {
      for (const leave of leaving) leave();
    }
    return new Map(queues.map((queue) => [queue, results.get(queue) as ReturnType<typeof take>]));
  };
}

async function goRound(reader: RedisReader, round: Round): Promise<void> {
  const { riders } = round;
  round.isRunning = true;
  // All reads that begin in this turn take part from the first queue on.
  await nextTurn();
  while (riders.size > 0) {
    try {
      const portion = await scheduler.run('queues', nextPortion(riders));
      // Without the signal of a caller: others wait, too.
      const outcomes = await reader.outcomes(portion.commands);
      await scheduler.run('queues', takeReplies(portion, outcomes, riders));
    } catch (error) {
      for (const rider of riders) rider.end(error);
      riders.clear();
    }
  }
  round.isRunning = false;
}

/** The next queues of the oldest rider. All riders that still need one of them get it. */
function* nextPortion(riders: ReadonlySet<Rider>): Steps<Portion> {
  const { commands, stops }: Portion = { commands: [], stops: [] };
  const [oldest] = riders;
  for (const queue of oldest?.left ?? []) {
    const known = new Map<string, number>();
    for (const rider of riders) {
      if (!rider.left.delete(queue)) continue;
      const at = rider.commandsOf(queue).map((command) => {
        const key = command.join('\0');
        const index = known.get(key) ?? commands.push(command) - 1;
        known.set(key, index);
        return index;
      });
      stops.push({ rider, queue, at });
    }
    if (commands.length >= AT_ONCE) break;
    yield;
  }
  return { commands, stops };
}

function* takeReplies({ stops }: Portion, outcomes: readonly Outcome[], riders: Set<Rider>): Steps<void> {
  for (const { rider, queue, at } of stops) {
    try {
      if (riders.has(rider))
        rider.take(
          at.map((index) => replyOf(outcomes[index])),
          queue,
        );
    } catch (error) {
      riders.delete(rider);
      rider.end(error);
    }
    yield;
  }
  for (const rider of riders) {
    if (rider.left.size === 0 && riders.delete(rider)) rider.end();
  }
}
