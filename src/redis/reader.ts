/** Reads from one Redis over a connection of its own, which is made when it is first asked. */

import { type Connection, type ConnectionState, createConnection } from './connection.ts';
import { withDeadline } from './deadline.ts';
import type { RedisEndpoint } from './endpoint.ts';
import { sendCommand } from './node-redis.ts';
import { describeError, RedisError, type RedisProblem, redisError } from './problems.ts';

/** How one command is sent. */
export interface ReadOptions {
  /** Gives up waiting when aborted. */
  readonly signal?: AbortSignal | undefined;
  /** Gives up waiting after this many milliseconds. Default 5,000. */
  readonly timeoutMs?: number;
}

/** A connection for commands. */
export interface RedisReader {
  /**
   * Sends one command as it is (RESP 2 replies: strings, numbers, `null`, arrays). One that blocks must
   * do so for 2 seconds at most: a connection that is silent for longer counts as dead.
   *
   * @throws RedisError when Redis is away, late or refuses
   */
  command(args: readonly string[], options?: ReadOptions): Promise<unknown>;
  /**
   * Sends several at once, in one write and in this order; rejects with the first failure. Of one reader
   * 1,000 may wait at a time.
   */
  commands(list: readonly (readonly string[])[], options?: ReadOptions): Promise<unknown[]>;
  /** Asks for a sign of life: what is wrong, or `null`. Never rejects. */
  check(signal: AbortSignal): Promise<RedisProblem | null>;
  state(): ConnectionState;
  close(): Promise<void>;
}

/** In milliseconds. */
const TIMEOUT = 5000;
/** Commands that may wait for their replies at a time. */
const MAX_WAITING = 1000;

const NOT_ASKED: ConnectionState = { up: false, asOf: null, since: null, reconnects: 0, problem: null };

/** @param label for the log */
export function createRedisReader(label: string, endpoint: RedisEndpoint): RedisReader {
  let connection: Connection | null = null;
  let closed = false;
  let waiting = 0;

  function connect(): Connection {
    connection ??= createConnection({ label, open: (signal) => endpoint.open(signal, 'commands') });
    return connection;
  }

  /** @param wanted whether somebody still waits: a command that nobody waits for is not sent late */
  async function send(list: readonly (readonly string[])[], wanted: () => boolean): Promise<unknown[]> {
    const { client, state } = connect();
    const opened = await client();
    if (opened === null) throw new RedisError(state().problem ?? redisError('TimeoutError').problem);
    return wanted() ? Promise.all(list.map((args) => sendCommand(opened, args))) : [];
  }

  async function commands(
    list: readonly (readonly string[])[],
    { signal, timeoutMs = TIMEOUT }: ReadOptions = {},
  ): Promise<unknown[]> {
    if (closed) throw redisError('CLOSED');
    if (waiting + list.length > MAX_WAITING) throw redisError('TOOMANY');
    waiting += list.length;
    let wanted = true;
    try {
      const sent = send(list, () => wanted);
      return await withDeadline(sent, signal, timeoutMs);
    } catch (error) {
      if (error instanceof RedisError) throw error;
      throw closed ? redisError('CLOSED') : new RedisError(describeError(error));
    } finally {
      wanted = false;
      waiting -= list.length;
    }
  }

  return {
    commands,
    async command(args, options) {
      const [reply] = await commands([args], options);
      return reply;
    },
    check: async (signal) => (closed ? redisError('CLOSED').problem : connect().check(signal)),
    state: () => connection?.state() ?? NOT_ASKED,
    async close() {
      closed = true;
      await connection?.close();
    },
  };
}
