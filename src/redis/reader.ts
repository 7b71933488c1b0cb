/** Readers of Redis, for all clients. Every wait has an end, whatever the client does. */

import type { ConnectionState } from '../kept-connection.ts';
import type { ServerProblem } from '../server-problems.ts';
import type { RedisClient, RedisCommand, Reply } from './client.ts';
import { describeError, isOutage, RedisError, redisError, withDeadline } from './problems.ts';

/** How long to wait for replies. */
export interface ReadOptions {
  /** Gives up waiting when aborted. */
  readonly signal?: AbortSignal | undefined;
  /** Gives up waiting after this many milliseconds. Default 5,000 for Celery, 4,000 for BullMQ. */
  readonly timeoutMs?: number;
}

/** The state of a connection, for whoever only reads. */
export type ReaderState = Pick<ConnectionState, 'up' | 'asOf' | 'problem'>;

/** The outcome of one command; `reply` is `null` if there is a problem. */
export interface Outcome {
  readonly reply: unknown;
  readonly problem: ServerProblem | null;
}

/** Sends commands to one Redis or cluster. All reject with a `RedisError`. */
export type RedisReader = ReturnType<typeof createReader>;

/** The supply of a reader's client. */
export interface ClientSupply {
  /** The client, once it is up. Rejects with the reason while it is not. */
  acquire(options: ReadOptions): Promise<RedisClient>;
  /** The promise, or a rejection as soon as the client loses its connection. */
  untilLost<T>(promise: Promise<T>): Promise<T>;
  /** Called when Redis has answered, with the time of the request. */
  answered(askedAt: number): void;
  /** Called when no read is possible. */
  failed(problem: ServerProblem): void;
  state(): ReaderState;
  address(): string | null;
  close(): Promise<void>;
}

/** Limits on the pending commands of a reader. */
interface ReaderLimits {
  /** Commands under way at a time. */
  readonly capacity: number;
  /** Groups of commands that may queue for room; 0: groups without room are refused. */
  readonly queued: number;
  /** Default for {@link ReadOptions.timeoutMs}. */
  readonly timeoutMs: number;
  /** Most commands in flight, so that the host's own commands can be sent in between. */
  readonly perWrite: number;
}

/** A caller that stops waiting earlier than this shows nothing about Redis, in milliseconds. */
const PATIENCE = 1_500;

interface Reading {
  readonly supply: ClientSupply;
  readonly limits: ReaderLimits;
  readonly gate: ReturnType<typeof createGate>;
  closed: boolean;
}

/** A reader whose client comes from this supply. */
export function createReader(supply: ClientSupply, limits: ReaderLimits) {
  const reading: Reading = { supply, limits, gate: createGate(limits), closed: false };

  async function outcomes(list: readonly RedisCommand[], options: ReadOptions = {}): Promise<Outcome[]> {
    if (list.length === 0) return [];
    const acquire = (): Promise<RedisClient> => supply.acquire(options);
    const replies = await run(reading, options, (isWanted) => sendAll(reading, list, acquire, isWanted));
    return replies.map((reply) => outcomeOf(reading, reply));
  }

  async function commands(list: readonly RedisCommand[], options?: ReadOptions): Promise<unknown[]> {
    return (await outcomes(list, options)).map(replyOf);
  }

  return {
    /**
     * The same as `commands`, but the refusal of a command is its outcome.
     *
     * @throws RedisError when Redis is unreachable or late
     */
    outcomes,
    /**
     * Sends several commands in this order, in as few writes as possible.
     *
     * @throws RedisError when Redis is unreachable, late or refuses one of them
     */
    commands,
    /** Sends one command. Replies are strings, numbers, `null` and arrays of them. */
    command: async (command: RedisCommand, options?: ReadOptions) => (await commands([command], options))[0],
    /**
     * One command to each master of a cluster, or to the one server, for what concerns a whole server.
     *
     * @param commandFor what to send to the master of this address; `null`: nothing
     */
    async onEachMaster(commandFor: (master: string) => RedisCommand | null, options: ReadOptions = {}) {
      const replies = await run(reading, options, (isWanted) =>
        sendToMasters(reading, commandFor, options, isWanted),
      );
      return replies.map(({ master, reply }) => ({ master, reply: replyOf(outcomeOf(reading, reply)) }));
    },
    /** Sends a PING: what is wrong, or `null`. Never rejects. */
    check: (signal?: AbortSignal): Promise<ServerProblem | null> =>
      commands([['PING']], { signal }).then(() => null, describeError),
    state: supply.state,
    /** As `redis://host:6379/0`, without user and password; `null` if it is not known. */
    address: supply.address,
    /** Ends clients of our own; later commands are refused. Resolves within about a second. */
    async close(): Promise<void> {
      reading.closed = true;
      await supply.close();
    },
  };
}

/** @param send must stop when `isWanted` is false, because no caller waits any more */
async function run<T>(
  reading: Reading,
  { signal, timeoutMs = reading.limits.timeoutMs }: ReadOptions,
  send: (isWanted: () => boolean) => Promise<T>,
): Promise<T> {
  const askedAt = Date.now();
  let wanted = true;
  try {
    if (reading.closed) throw redisError('CLOSED');
    const sent = await withDeadline(
      send(() => wanted),
      { signal, ms: timeoutMs },
    );
    reading.supply.answered(askedAt);
    return sent;
  } catch (error) {
    const leftEarly = signal?.aborted === true && Date.now() - askedAt < PATIENCE;
    throw new RedisError(problemOf(reading, error, !leftEarly));
  } finally {
    wanted = false;
  }
}

async function sendAll(
  reading: Reading,
  list: readonly RedisCommand[],
  acquire: () => Promise<RedisClient>,
  isWanted: () => boolean,
): Promise<readonly Reply[]> {
  const { perWrite } = reading.limits;
  if (list.length <= perWrite) return sendPart(reading, list, acquire, isWanted);
  const replies: Reply[] = [];
  for (let from = 0; from < list.length && isWanted(); from += perWrite) {
    replies.push(...(await sendPart(reading, list.slice(from, from + perWrite), acquire, isWanted)));
  }
  return replies;
}

/** A command without a waiting caller is not sent late, and none is sent after `close()`. */
async function sendPart(
  reading: Reading,
  part: readonly RedisCommand[],
  acquire: () => Promise<RedisClient>,
  isWanted: () => boolean,
): Promise<readonly Reply[]> {
  const { gate, supply } = reading;
  await gate.enter(part.length, isWanted);
  let replies: Promise<readonly Reply[]> | null = null;
  try {
    const client = await acquire();
    if (!isWanted() || reading.closed) throw redisError('CLOSED');
    replies = client.send(part).finally(() => gate.leave(part.length));
  } finally {
    if (replies === null) gate.leave(part.length);
  }
  return supply.untilLost(replies);
}

async function sendToMasters(
  reading: Reading,
  commandFor: (master: string) => RedisCommand | null,
  options: ReadOptions,
  isWanted: () => boolean,
): Promise<{ readonly master: string; readonly reply: Reply }[]> {
  const client = await reading.supply.acquire(options);
  const sending = client.masters().map(async (node) => {
    const master = node.address() ?? '';
    const command = commandFor(master);
    if (command === null) return [];
    const [reply = { reply: null }] = await sendPart(reading, [command], async () => node, isWanted);
    return [{ master, reply }];
  });
  return (await Promise.all(sending)).flat();
}

function outcomeOf(reading: Reading, reply: Reply): Outcome {
  if ('reply' in reply) return { reply: reply.reply, problem: null };
  return { reply: null, problem: problemOf(reading, reply.error, true) };
}

function replyOf({ reply, problem }: Outcome): unknown {
  if (problem !== null) throw new RedisError(problem);
  return reply;
}

/** @param counts whether the problem concerns the server */
function problemOf(reading: Reading, error: unknown, counts: boolean): ServerProblem {
  if (reading.closed) return redisError('CLOSED').problem;
  const problem = describeError(error);
  if (counts && isOutage(problem)) reading.supply.failed(problem);
  return problem;
}

function createGate({ capacity, queued }: ReaderLimits) {
  let inside = 0;
  let queue: { readonly count: number; readonly isWanted: () => boolean; readonly admit: () => void }[] = [];

  return {
    /**
     * Resolves when there is room for this many commands; `leave` frees it. Never resolves for
     * commands that are no longer wanted by then.
     *
     * @throws RedisError when too many are waiting already
     */
    async enter(count: number, isWanted: () => boolean) {
      if (queue.length === 0 && inside + count <= capacity) {
        inside += count;
        return;
      }
      if (queue.length >= queued) queue = queue.filter((turn) => turn.isWanted());
      if (queue.length >= queued || count > capacity) throw redisError('TOOMANY');
      await new Promise<void>((admit) => queue.push({ count, isWanted, admit }));
    },
    leave(count: number) {
      inside -= count;
      for (let next = queue[0]; next !== undefined; next = queue[0]) {
        const isWanted = next.isWanted();
        if (isWanted && inside + next.count > capacity) return;
        queue.shift();
        if (!isWanted) continue;
        inside += next.count;
        next.admit();
      }
    },
  };
}
