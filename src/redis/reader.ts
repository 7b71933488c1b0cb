/** Reads from one Redis over a connection of its own, which is made when it is first asked. */

import { type Connection, type ConnectionState, createConnection } from './connection.ts';
import { unlessLate } from './deadline.ts';
import type { RedisEndpoint } from './endpoint.ts';
import { sendCommand } from './redis-client.ts';
import { describeError, type RedisProblem, silence } from './redis-errors.ts';

/** How one command is sent. */
export interface CommandOptions {
  /** Gives up waiting when aborted. */
  readonly signal?: AbortSignal;
  /** Gives up waiting after this many milliseconds. Default 5,000. */
  readonly timeoutMs?: number;
}

/** A connection for commands. */
export interface Reader {
  /**
   * Sends one command as it is (RESP 2 replies: strings, numbers, `null`, arrays). One that blocks must
   * do so for 2 seconds at most: a connection that is silent for longer counts as dead.
   *
   * @throws ReaderError when Redis is away, late or refuses
   */
  command(args: readonly string[], options?: CommandOptions): Promise<unknown>;
  /**
   * Sends several at once, in one write and in this order; rejects with the first failure. Of one reader
   * 1,000 may wait at a time.
   */
  commands(list: readonly (readonly string[])[], options?: CommandOptions): Promise<unknown[]>;
  /** Asks for a sign of life: what is wrong, or `null`. Never rejects. */
  check(signal: AbortSignal): Promise<RedisProblem | null>;
  state(): ConnectionState;
  close(): Promise<void>;
}

/** Why a command failed. Its message is a sentence of ours, without secrets. */
export class ReaderError extends Error {
  readonly problem: RedisProblem;

  constructor(problem: RedisProblem) {
    super(problem.sentence);
    this.name = 'ReaderError';
    this.problem = problem;
  }
}

/** In milliseconds. */
const TIMEOUT = 5000;
/** Commands that may wait for their replies at a time. */
const MAX_WAITING = 1000;

const CLOSED: RedisProblem = { code: 'CLOSED', sentence: 'The monitor has been closed.' };
const TOO_MANY: RedisProblem = { code: 'TOOMANY', sentence: 'Too many commands wait for Redis.' };
const NOT_ASKED: ConnectionState = { up: false, asOf: null, since: null, reconnects: 0, problem: null };

/** @param label for the log */
export function createReader(label: string, endpoint: RedisEndpoint): Reader {
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
    if (opened === null) throw new ReaderError(state().problem ?? describeError(silence()));
    return wanted() ? Promise.all(list.map((args) => sendCommand(opened, args))) : [];
  }

  async function commands(
    list: readonly (readonly string[])[],
    { signal, timeoutMs = TIMEOUT }: CommandOptions = {},
  ): Promise<unknown[]> {
    if (closed) throw new ReaderError(CLOSED);
    if (waiting + list.length > MAX_WAITING) throw new ReaderError(TOO_MANY);
    waiting += list.length;
    let wanted = true;
    try {
      const sent = send(list, () => wanted);
      return await unlessLate(sent, signal, timeoutMs);
    } catch (error) {
      if (error instanceof ReaderError) throw error;
      throw new ReaderError(closed ? CLOSED : describeError(error));
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
    check: async (signal) => (closed ? CLOSED : connect().check(signal)),
    state: () => connection?.state() ?? NOT_ASKED,
    async close() {
      closed = true;
      await connection?.close();
    },
  };
}
