/**
 * Lengths, settings and heads of queues, which several parts of a look ask for: components, checks and rules. What they
 * ask for at once is read once, and never before it was asked for.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Outcome, type ReadOptions, type RedisReader, withDeadline } from '../../../redis/reader.ts';
import { COMMANDS_AT_ONCE, type QueueRef, replyOf } from './queue-reads.ts';

/** Range of the last two entries of a list: a job runs next, unless it is a mark of an older BullMQ. */
const NEXT_TWO = ['-2', '-1'] as const;

/** The command for each, without the key, whose part follows the name. */
const COMMANDS = {
  settings: ['HMGET', 'meta', 'paused', 'concurrency', 'version', 'max'],
  waiting: ['LLEN', 'wait'],
  nextWaiting: ['LRANGE', 'wait', ...NEXT_TWO],
  paused: ['LLEN', 'paused'],
  nextPaused: ['LRANGE', 'paused', ...NEXT_TWO],
  prioritized: ['ZCARD', 'prioritized'],
  delayed: ['ZCARD', 'delayed'],
  nextDelayed: ['ZRANGE', 'delayed', '0', '2', 'WITHSCORES'],
  children: ['ZCARD', 'waiting-children'],
  active: ['LLEN', 'active'],
  completed: ['ZCARD', 'completed'],
  failed: ['ZCARD', 'failed'],
  schedules: ['ZCARD', 'repeat'],
} as const satisfies Readonly<Record<string, readonly [name: string, part: string, ...args: string[]]>>;

/** What can be read of a queue. */
export type QueuePart = keyof typeof COMMANDS;

/** Replies by part; the reply for a key of another type is `null`. */
export type QueueReplies<Part extends QueuePart> = Readonly<Record<Part, unknown>>;

/**
 * Reads the same parts of each queue.
 *
 * @returns by queue, in their order
 * @throws RedisError when Redis is unreachable, late, or refuses one of the commands
 */
export type ReadParts = <Part extends QueuePart>(
  queues: readonly QueueRef[],
  parts: readonly Part[],
) => Promise<ReadonlyMap<QueueRef, QueueReplies<Part>>>;

/** What is to be read of a queue, and for whom. */
interface Wanted {
  readonly parts: Set<QueuePart>;
  readonly takers: {
    readonly signal: AbortSignal | undefined;
    resolve(outcomes: ReadonlyMap<QueuePart, Outcome | undefined>): void;
    reject(error: unknown): void;
  }[];
}

export function createReadParts(): (options: ReadOptions) => ReadParts {
  /** Of each Redis, what has not been sent yet. */
  const links = new Map<RedisReader, Map<QueueRef, Wanted>>();

  function wantedOf(queue: QueueRef): Wanted {
    const { reader } = queue;
    const link = links.get(reader) ?? new Map<QueueRef, Wanted>();
    if (!links.has(reader)) {
      links.set(reader, link);
      void sendAll(reader, link, () => links.delete(reader));
    }
    const wanted = link.get(queue) ?? { parts: new Set(), takers: [] };
    link.set(queue, wanted);
    return wanted;
  }

  return ({ signal, timeoutMs }) =>
    async (queues, parts) => {
      const asked = queues.map((queue) => {
        const wanted = wantedOf(queue);
        for (const part of parts) wanted.parts.add(part);
        return new Promise<ReadonlyMap<QueuePart, Outcome | undefined>>((resolve, reject) => {
          wanted.takers.push({ signal, resolve, reject });
        });
      });
      const outcomes = await withDeadline(Promise.all(asked), signal, timeoutMs);
      return new Map(
        queues.map((queue, index) => {
          const own = parts.map((part) => [part, replyOf(outcomes[index]?.get(part))]);
          return [queue, Object.fromEntries(own)];
        }),
      );
    };
}

/** Sends what is wanted of a few queues at a time, until nothing is left. */
async function sendAll(reader: RedisReader, link: Map<QueueRef, Wanted>, end: () => void): Promise<void> {
  // All that is asked for in this turn takes part from the first queue on.
  await nextTurn();
  while (link.size > 0) {
    const some = takeSome(link);
    try {
      const commands = some.flatMap(([queue, { parts }]) =>
        [...parts].map((part) => {
          const [name, key, ...args] = COMMANDS[part];
          return [name, queue.key(key), ...args];
        }),
      );
      // Without the signal of a caller: others wait, too.
      const outcomes = (await reader.outcomes(commands)).values();
      for (const [, { parts, takers }] of some) {
        const own = new Map([...parts].map((part) => [part, outcomes.next().value]));
        for (const { resolve } of takers) resolve(own);
      }
    } catch (error) {
      for (const [, { takers }] of [...some, ...link]) for (const { reject } of takers) reject(error);
      link.clear();
    }
  }
  // In the same turn, so that nothing is added to what is no longer read.
  end();
}

/** The next queues for which somebody still waits. */
function takeSome(link: Map<QueueRef, Wanted>): readonly (readonly [QueueRef, Wanted])[] {
  const some: (readonly [QueueRef, Wanted])[] = [];
  let commands = 0;
  for (const [queue, wanted] of link) {
    if (commands >= COMMANDS_AT_ONCE) break;
    link.delete(queue);
    if (wanted.takers.every(({ signal }) => signal?.aborted)) continue;
    some.push([queue, wanted]);
    commands += wanted.parts.size;
  }
  return some;
}
