/** Sends the commands of readers. Every wait has an end, whatever the client does. */
import type { RedisClient, RedisCommand, Reply } from './client.ts';
import { withDeadline } from './deadline.ts';
import { describeError, isOutage, RedisError, type RedisProblem, redisError } from './problems.ts';
import type { Outcome, ReaderState, ReadOptions, RedisReader } from './reader.ts';

/** The supply of a reader's client. */
export interface ClientSupply {
  /** The client, once it is up. Rejects with the reason while it is not. */
  acquire(options: ReadOptions): Promise<RedisClient>;
  /** The promise, or a rejection as soon as the client loses its connection. */
  untilLost<T>(promise: Promise<T>): Promise<T>;
  /** Called when Redis has answered, with the time of the request. */
  answered(askedAt: number): void;
  /** Called when no read is possible. */
  failed(problem: RedisProblem): void;
  state(): ReaderState;
  address(): string | null;
  close(): Promise<void>;
}

/** Limits on the pending commands of a reader. */
export interface ReaderLimits extends GateLimits {
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
  readonly gate: Gate;
  closed: boolean;
}

/** A reader whose client comes from this supply. */
export function createReader(supply: ClientSupply, limits: ReaderLimits): RedisReader {
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
    outcomes,
    commands,
    command: async (command, options) => (await commands([command], options))[0],
    async onEachMaster(commandFor, options = {}) {
      const replies = await run(reading, options, (isWanted) =>
        sendToMasters(reading, commandFor, options, isWanted),
      );
      return replies.map(({ master, reply }) => ({ master, reply: replyOf(outcomeOf(reading, reply)) }));
    },
    check: (signal) => commands([['PING']], { signal }).then(() => null, describeError),
    state: supply.state,
    address: supply.address,
    async close() {
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
      signal,
      timeoutMs,
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
function problemOf(reading: Reading, error: unknown, counts: boolean): RedisProblem {
  if (reading.closed) return redisError('CLOSED').problem;
  const problem = describeError(error);
  if (counts && isOutage(problem)) reading.supply.failed(problem);
  return problem;
}

/** How many commands may wait for their replies. */
interface GateLimits {
  /** Commands under way at a time. */
  readonly capacity: number;
  /** Groups of commands that may queue for room; 0: groups without room are refused. */
  readonly queued: number;
}

/** Limits the number of commands in flight; the others wait in a queue. */
interface Gate {
  /**
   * Resolves when there is room for this many commands; {@link Gate.leave} frees it. Never resolves for
   * commands that are no longer wanted by then.
   *
   * @throws RedisError when too many are waiting already
   */
  enter(count: number, isWanted: () => boolean): Promise<void>;
  leave(count: number): void;
}

function createGate({ capacity, queued }: GateLimits): Gate {
  let inside = 0;
  let queue: { readonly count: number; readonly isWanted: () => boolean; readonly admit: () => void }[] = [];

  return {
    async enter(count, isWanted) {
      if (queue.length === 0 && inside + count <= capacity) {
        inside += count;
        return;
      }
      if (queue.length >= queued) queue = queue.filter((turn) => turn.isWanted());
      if (queue.length >= queued || count > capacity) throw redisError('TOOMANY');
      await new Promise<void>((admit) => queue.push({ count, isWanted, admit }));
    },
    leave(count) {
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
