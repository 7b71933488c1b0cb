/**
 * Queues and jobs, the keys that BullMQ gives them (bullmq, classes/queue-keys), and reads of many of them, each Redis
 * with as few writes as possible, over as many turns of the event loop as keep each of them short. Lengths, settings and
 * heads of queues, which several parts of a look ask for (components, checks, rules), are read once for all that ask at
 * once, and never before they were asked for.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RedisCommand } from '../../../redis/client.ts';
import { isOutage, RedisError, withDeadline } from '../../../redis/problems.ts';
import type { Outcome, ReadOptions, RedisReader } from '../../../redis/reader.ts';
import { addTo } from '../../../values.ts';

/** A queue that is read. */
export interface QueueRef {
  /** Has no colon, which BullMQ refuses. Unique within one source. */
  readonly name: string;
  /** Such as `bull`, or `{bull}` in a cluster. */
  readonly prefix: string;
  /** The Redis that stores it. */
  readonly reader: RedisReader;
  /** Key of a part of the queue, such as `wait`, `events`, `repeat:<id>`; of a job for its id. */
  key(part: string): string;
}

/** The address of a job, which need not exist any more. */
export interface JobRef {
  readonly queue: QueueRef;
  /** BullMQ's id, unique within its queue. */
  readonly id: string;
}

export function createQueueRef(name: string, prefix: string, reader: RedisReader): QueueRef {
  return { name, prefix, reader, key: (part) => `${prefix}:${name}:${part}` };
}

/** The task's id, `<queue>:<job id>`. Queue names have no colons, so the first one ends the name. */
export function taskIdOf(queue: string, jobId: string): string {
  return `${queue}:${jobId}`;
}

/** Splits a task id into queue and job id; `null` if it is not a task id. */
export function splitTaskId(taskId: string): { readonly queue: string; readonly jobId: string } | null {
  const colon = taskId.indexOf(':');
  if (colon <= 0 || colon === taskId.length - 1) return null;
  return { queue: taskId.slice(0, colon), jobId: taskId.slice(colon + 1) };
}

/**
 * The parts of a job's full key, as parents and children name each other. Prefix and id may have colons: the
 * prefix is one of the known prefixes, or else everything before the last but one colon.
 *
 * @returns `null` if it is not such a key
 */
export function splitJobKey(
  key: string,
  prefixes: Iterable<string>,
): { readonly prefix: string; readonly queue: string; readonly jobId: string } | null {
  for (const prefix of prefixes) {
    const parts = key.startsWith(`${prefix}:`) ? splitTaskId(key.slice(prefix.length + 1)) : null;
    if (parts !== null) return { prefix, ...parts };
  }
  const [, prefix, queue, jobId] = /^(.+):([^:]+):([^:]+)$/s.exec(key) ?? [];
  return prefix === undefined || queue === undefined || jobId === undefined ? null : { prefix, queue, jobId };
}

/** One command about one queue: all its keys belong to that queue. */
export interface QueueCommand {
  readonly queue: QueueRef;
  readonly command: RedisCommand;
  /**
   * Whether the read works without it. If Redis refuses such a command, the reply is `null`, and the command is not
   * sent again for a minute. Default: false.
   */
  readonly isOptional?: boolean;
  /** How many commands it counts as, because it reads as much. Default: 1. */
  readonly weight?: number;
}

/** A command about one key of a queue, such as `LLEN` of its part `wait`. */
export function keyCommand(
  queue: QueueRef,
  name: string,
  part: string,
  ...args: readonly (string | number)[]
): QueueCommand {
  return { queue, command: [name, queue.key(part), ...args.map(String)] };
}

/** Replies to commands, in their order. */
export type ReadCommands = (commands: readonly QueueCommand[]) => Promise<readonly unknown[]>;

/** For how long a refused optional command is not sent again, in milliseconds. */
const REFUSED_MS = 60_000;

/** Codes of problems of a key with another type than BullMQ's. */
const NO_SUCH_VALUE = new Set(['WRONGTYPE', 'NOKEY']);

/**
 * @returns sends commands and resolves with their replies, in their order. A key of another type is answered with
 *   `null`, as if it were absent. Rejects with a `RedisError` when a Redis is unreachable, late, or refuses a command
 *   that is not optional.
 */
export function createQueueReads(): (options: ReadOptions) => ReadCommands {
  /** When to send refused commands again, by their names, in the time of `performance.now()`. */
  const refusals = new WeakMap<RedisReader, Map<string | undefined, number>>();

  function refusedUntil(reader: RedisReader, [name]: RedisCommand): number {
    return refusals.get(reader)?.get(name) ?? 0;
  }

  function refuse(reader: RedisReader, [name]: RedisCommand, until: number): void {
    refusals.set(reader, (refusals.get(reader) ?? new Map()).set(name, until));
  }

  return (options) => async (list) => {
    const now = performance.now();
    const groups = new Map<RedisReader, (QueueCommand & { readonly index: number })[]>();
    for (const [index, one] of list.entries()) {
      const { reader } = one.queue;
      if (!one.isOptional || refusedUntil(reader, one.command) <= now)
        addTo(groups, reader, { ...one, index });
    }
    const replies: unknown[] = new Array(list.length).fill(null);
    await Promise.all(
      [...groups].map(async ([reader, commands]) => {
        const outcomes = await readInTurns(reader, commands, options);
        for (const [at, { index, isOptional, command }] of commands.entries()) {
          const outcome = outcomes[at];
          if (isOptional && isRefused(outcome)) refuse(reader, command, now + REFUSED_MS);
          else replies[index] = replyOf(outcome);
        }
      }),
    );
    return replies;
  };
}

/** Commands that are sent in one turn of the event loop: with their replies, they take a few milliseconds. */
const COMMANDS_AT_ONCE = 100;

/** Sends commands in their order. Those of a turn do not wait for the replies to those before. */
async function readInTurns(
  reader: RedisReader,
  commands: readonly QueueCommand[],
  options: ReadOptions,
): Promise<readonly Outcome[]> {
  const sent: Promise<readonly Outcome[]>[] = [];
  for (let from = 0; from < commands.length; ) {
    if (from > 0) await nextTurn();
    let end = from;
    for (let weight = 0; end < commands.length && weight < COMMANDS_AT_ONCE; end += 1)
      weight += commands[end]?.weight ?? 1;
    const batch = commands.slice(from, end);
    from = end;
    const some = reader.outcomes(
      batch.map(({ command }) => command),
      options,
    );
    // It is awaited below. Until then, a failure must not be an unhandled rejection.
    some.catch(() => {});
    sent.push(some);
  }
  return (await Promise.all(sent)).flat();
}

/** Whether Redis refused it. An unknown reason counts: if it is an outage, the reads that follow fail, too. */
function isRefused(outcome: Outcome | undefined): boolean {
  const problem = outcome?.problem ?? null;
  if (problem === null || NO_SUCH_VALUE.has(problem.code)) return false;
  return problem.code === 'UNKNOWN' || !isOutage(problem);
}

/**
 * The reply to a command. One about a key of another type is `null`.
 *
 * @throws RedisError when Redis refuses it
 */
function replyOf(outcome: Outcome | undefined): unknown {
  if (outcome?.problem && !NO_SUCH_VALUE.has(outcome.problem.code)) throw new RedisError(outcome.problem);
  return outcome?.reply ?? null;
}

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
      const outcomes = await withDeadline(Promise.all(asked), { signal, ms: timeoutMs });
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
