/** A connection that is opened again whenever it ends, for subscriptions and for commands. */
import { createProblemLog } from '../server-problems.ts';
import { pause } from '../waiting.ts';
import type { CeleryRedisConnection } from './node-redis.ts';
import { describeError, RedisError, type RedisProblem, redisError } from './problems.ts';
import type { ReaderState } from './reader.ts';
import { type Session, type SessionOptions, startSession } from './session.ts';

/** The pauses between attempts, in milliseconds: a Redis that is available again is found within the longest. */
const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 1_000;

/** How a connection is doing. Times in milliseconds since 1970. */
export interface ConnectionState extends ReaderState {
  /** Since when it has been up; `null` while it is not. */
  readonly since: number | null;
  /** How often it was re-established. */
  readonly reconnects: number;
}

/** The state before the first attempt has ended. */
export const NOT_CONNECTED: ConnectionState = {
  up: false,
  asOf: null,
  since: null,
  reconnects: 0,
  problem: null,
};

/** The purpose of a connection. */
export interface ConnectionOptions extends Pick<SessionOptions, 'open' | 'prepare'> {
  /** Label for the log. */
  readonly label: string;
  /** @param again whether it had been up before */
  readonly onUp?: (again: boolean) => void;
  /** @param asOf when it was last known to work */
  readonly onDown?: (asOf: number) => void;
}

/** A connection that reconnects until it is closed. */
export interface Connection {
  state(): ConnectionState;
  /**
   * The client, once the first attempt to connect has ended.
   *
   * @throws RedisError while Redis is unreachable
   */
  client(): Promise<CeleryRedisConnection>;
  /** Resolves within about a second, even if Redis does not answer. */
  close(): Promise<void>;
}

interface Kept {
  readonly options: ConnectionOptions;
  readonly log: (problem: RedisProblem) => void;
  state: ConnectionState;
  client: CeleryRedisConnection | null;
  session: Session | null;
  /** Attempts that failed since it was last up. */
  failures: number;
  /** Aborted by `close()`. Ends the pause between attempts. */
  readonly closing: AbortController;
}

/** Opens a connection and keeps it open. */
export function createConnection(options: ConnectionOptions): Connection {
  const kept: Kept = {
    options,
    log: createProblemLog(options.label),
    state: NOT_CONNECTED,
    client: null,
    session: null,
    failures: 0,
    closing: new AbortController(),
  };
  let firstEnded: () => void = () => {};
  const first = new Promise<void>((resolve) => {
    firstEnded = resolve;
  });
  const ran = keepOpen(kept, firstEnded);
  return {
    state: () => kept.state,
    async client() {
      await first;
      if (kept.client !== null) return kept.client;
      throw kept.state.problem === null ? redisError('TimeoutError') : new RedisError(kept.state.problem);
    },
    async close() {
      kept.closing.abort();
      kept.session?.close();
      await ran;
    },
  };
}

/** @param settled called whenever an attempt has ended or the connection is up */
async function keepOpen(kept: Kept, settled: () => void): Promise<void> {
  const { signal } = kept.closing;
  while (!signal.aborted) {
    kept.session = startSession({
      ...kept.options,
      onReady(client) {
        const again = noteUp(kept, client);
        settled();
        kept.options.onUp?.(again);
      },
      onAlive(askedAt) {
        kept.state = { ...kept.state, asOf: askedAt };
      },
    });
    try {
      await kept.session.over;
    } catch (error) {
      noteEnd(kept, describeError(error), settled);
    }
    if (!signal.aborted) await pause(Math.min(FIRST_PAUSE * 2 ** kept.failures, LONGEST_PAUSE), signal);
    kept.failures += 1;
  }
}

function noteUp(kept: Kept, client: CeleryRedisConnection): boolean {
  const again = kept.state.asOf !== null;
  const now = Date.now();
  const reconnects = kept.state.reconnects + (again ? 1 : 0);
  kept.state = { up: true, asOf: now, since: now, reconnects, problem: null };
  kept.client = client;
  kept.failures = 0;
  return again;
}

function noteEnd(kept: Kept, problem: RedisProblem, settled: () => void): void {
  const { up, asOf } = kept.state;
  kept.client = null;
  kept.state = { ...kept.state, up: false, since: null, problem };
  settled();
  if (kept.closing.signal.aborted) return;
  kept.log(problem);
  if (up && asOf !== null) kept.options.onDown?.(asOf);
}
