import { debugChannel } from '../debug.ts';
import { withDeadline } from './deadline.ts';
import type { CeleryRedisConnection } from './node-redis.ts';
import { describeError, type RedisProblem, redisError } from './problems.ts';
import { type Session, type SessionOptions, startSession } from './session.ts';

const debug = debugChannel('celery');

/** The longest pause between attempts, in milliseconds: a Redis that returns is found within this time. */
const LONGEST_PAUSE = 1000;
const LOG_INTERVAL = 30_000;

/** How a connection is doing. Times in milliseconds since 1970. */
export interface ConnectionState {
  readonly up: boolean;
  /** When it was last known to work; `null` if it never did. */
  readonly asOf: number | null;
  /** Since when it has been up; `null` while it is not. */
  readonly since: number | null;
  /** Times that it came back. */
  readonly reconnects: number;
  /** Why it is not up; `null` while it is, or before the first attempt has ended. */
  readonly problem: RedisProblem | null;
}

/** What a connection is for. */
export interface ConnectionOptions extends Pick<SessionOptions, 'open' | 'prepare'> {
  /** For the log. */
  readonly label: string;
  /** @param again whether it had been up before */
  readonly onUp?: (again: boolean) => void;
  /** @param asOf when it was last known to work */
  readonly onDown?: (asOf: number) => void;
}

/** A connection that comes back by itself, for as long as it takes. */
export interface Connection {
  state(): ConnectionState;
  /** The client, once the first attempt to connect has ended; `null` while Redis is away. */
  client(): Promise<CeleryRedisConnection | null>;
  /** Asks Redis for a sign of life: what is wrong with it, or `null`. Never rejects. */
  check(signal: AbortSignal): Promise<RedisProblem | null>;
  /** Resolves within about a second, whatever Redis does. */
  close(): Promise<void>;
}

/** Opens a connection and keeps it open. */
export function createConnection(options: ConnectionOptions): Connection {
  const log = createLog(options.label);
  let state: ConnectionState = { up: false, asOf: null, since: null, reconnects: 0, problem: null };
  let client: CeleryRedisConnection | null = null;
  let session: Session | null = null;
  let failures = 0;
  let closed = false;
  let wake: () => void = () => {};
  let settleFirst: () => void = () => {};
  const first = new Promise<void>((resolve) => {
    settleFirst = resolve;
  });

  async function run(): Promise<void> {
    while (!closed) {
      session = startSession({ ...options, onReady, onAlive });
      try {
        await session.over;
      } catch (error) {
        onEnd(error);
      }
      if (!closed) await pause(Math.min(50 * 2 ** failures, LONGEST_PAUSE));
      failures += 1;
    }
  }

  function onReady(opened: CeleryRedisConnection): void {
    const again = state.asOf !== null;
    const now = Date.now();
    const reconnects = state.reconnects + (again ? 1 : 0);
    state = { up: true, asOf: now, since: now, reconnects, problem: null };
    client = opened;
    failures = 0;
    settleFirst();
    options.onUp?.(again);
  }

  function onAlive(asked: number): void {
    state = { ...state, asOf: asked };
  }

  function onEnd(error: unknown): void {
    const { up, asOf } = state;
    const problem = describeError(error);
    client = null;
    state = { ...state, up: false, since: null, problem };
    settleFirst();
    if (closed) return;
    log(problem);
    if (up && asOf !== null) options.onDown?.(asOf);
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  const ran = run();
  return {
    state: () => state,
    async client() {
      await first;
      return client;
    },
    async check(signal) {
      try {
        await withDeadline(first, signal);
        if (client === null) return state.problem ?? redisError('TimeoutError').problem;
        await withDeadline(client.ping(), signal);
        return null;
      } catch (error) {
        return describeError(error);
      }
    },
    async close() {
      closed = true;
      session?.close();
      wake();
      await ran;
    },
  };
}

/** One line for each kind of problem in half a minute, so that an outage does not flood the log. */
function createLog(label: string): (problem: RedisProblem) => void {
  const last = new Map<string, number>();
  return ({ code, sentence }) => {
    const now = performance.now();
    if (now - (last.get(code) ?? Number.NEGATIVE_INFINITY) < LOG_INTERVAL) return;
    last.set(code, now);
    debug('%s: %s (%s)', label, sentence, code);
  };
}
