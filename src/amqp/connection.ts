/** A connection to RabbitMQ that is opened again whenever it ends, on the next host of several. */
import { createProblemLog, type ServerProblem } from '../server-problems.ts';
import { pause, waitFor } from '../waiting.ts';
import type { AmqpChannel, AmqpLimits, ChannelKind } from './channel.ts';
import type { AmqpEndpoint } from './endpoint.ts';
import { AmqpError, amqpError, describeAmqpError } from './problems.ts';
import { type AmqpSession, type SessionOptions, type StartedSession, startAmqpSession } from './session.ts';

/** The pauses between attempts, in milliseconds. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 5_000;
/** How long a channel may take when no limit is given, with connecting, in milliseconds. */
const CHANNEL_MS = 5_000;

/** How a connection is doing. Times in milliseconds since 1970. */
export interface AmqpConnectionState {
  readonly up: boolean;
  /** When the connection was last known to work; `null` if it never did. */
  readonly asOf: number | null;
  /** Since when it has been up; `null` while it is down. */
  readonly since: number | null;
  /** How often it was re-established. */
  readonly reconnects: number;
  /** Why it is down; `null` while it is up, or before the first attempt has ended. */
  readonly problem: ServerProblem | null;
}

const NOT_CONNECTED: AmqpConnectionState = {
  up: false,
  asOf: null,
  since: null,
  reconnects: 0,
  problem: null,
};

/** The purpose of a connection. */
export interface AmqpConnectionOptions extends Pick<SessionOptions, 'prepare' | 'probe' | 'isPaced'> {
  /** Label for the log. */
  readonly label: string;
  readonly endpoint: AmqpEndpoint;
  /** Whether to begin with a host chosen at random. Default false: with the first. */
  readonly shuffle?: boolean;
  readonly onUp?: (session: AmqpSession) => void;
  /** @param asOf when it was last known to work, milliseconds since 1970 */
  readonly onDown?: (asOf: number) => void;
}

/** A connection that reconnects until it is closed. */
export interface AmqpConnection {
  /** Connects, unless it has been started. */
  start(): void;
  state(): AmqpConnectionState;
  /**
   * Whether RabbitMQ accepts no messages now, because it is short of memory or disk space. Known once a message was
   * sent.
   */
  isBlocked(): boolean;
  /** Such as `3.10.8`; `null` while unknown. */
  version(): string | null;
  /** Of the host that was last tried, without user, password and query. */
  url(): string | null;
  /**
   * Opens a channel. Connects first if that has not begun, and waits for an attempt that is under way.
   *
   * @throws AmqpError while RabbitMQ is unreachable, or when it is late
   */
  channel(kind?: ChannelKind, limits?: AmqpLimits): Promise<AmqpChannel>;
  /** Resolves within about a second, even if RabbitMQ does not answer. */
  close(): Promise<void>;
}

interface Kept {
  readonly options: AmqpConnectionOptions;
  readonly log: (problem: ServerProblem) => void;
  state: AmqpConnectionState;
  session: AmqpSession | null;
  started: StartedSession | null;
  version: string | null;
  isBlocked: boolean;
  /** Index of the host to connect to. */
  host: number;
  /** Attempts that failed since it was last up. */
  failures: number;
  /** Aborted by `close()`. Ends the pause between attempts. */
  readonly closing: AbortController;
  /** Resolves when the present attempt has ended. */
  attempt: { readonly ended: Promise<void>; readonly end: () => void };
  /** Resolves when no further attempt is made. */
  ran: Promise<void> | null;
}

/** A connection that has not been started. */
export function createAmqpConnection(options: AmqpConnectionOptions): AmqpConnection {
  const { endpoint, shuffle = false } = options;
  const kept: Kept = {
    options,
    log: createProblemLog(options.label),
    state: NOT_CONNECTED,
    session: null,
    started: null,
    version: null,
    isBlocked: false,
    host: shuffle ? Math.floor(Math.random() * endpoint.hosts) : 0,
    failures: 0,
    closing: new AbortController(),
    attempt: newAttempt(),
    ran: null,
  };
  const start = (): void => {
    if (!kept.closing.signal.aborted) kept.ran ??= keepOpen(kept);
  };
  return {
    start,
    state: () => kept.state,
    isBlocked: () => kept.isBlocked,
    version: () => kept.version,
    url: () => endpoint.url(kept.host),
    channel(kind, limits) {
      start();
      return channelOf(kept, kind, limits);
    },
    async close() {
      kept.closing.abort();
      kept.started?.close();
      await kept.ran;
    },
  };
}

async function channelOf(kept: Kept, kind: ChannelKind = {}, limits: AmqpLimits = {}): Promise<AmqpChannel> {
  const { signal, timeoutMs = CHANNEL_MS } = limits;
  const end = performance.now() + timeoutMs;
  // During a pause, the problem of the last attempt is the answer.
  if (kept.session === null && kept.started !== null)
    await waitFor(kept.attempt.ended, { ms: timeoutMs, signal });
  if (kept.closing.signal.aborted) throw amqpError('CLOSED');
  if (kept.session === null) {
    throw kept.state.problem === null ? amqpError('TimeoutError') : new AmqpError(kept.state.problem);
  }
  return kept.session.channel(kind, { signal, timeoutMs: Math.max(1, end - performance.now()) });
}

async function keepOpen(kept: Kept): Promise<void> {
  const { endpoint, prepare, probe, isPaced } = kept.options;
  const { signal } = kept.closing;
  while (!signal.aborted) {
    kept.started = startAmqpSession({
      endpoint,
      host: kept.host,
      prepare,
      probe,
      isPaced,
      onReady: (session) => noteUp(kept, session),
      onAlive(askedAt) {
        kept.state = { ...kept.state, asOf: askedAt };
      },
      onBlocked(isBlocked) {
        kept.isBlocked = isBlocked;
      },
    });
    try {
      await kept.started.over;
    } catch (error) {
      noteEnd(kept, describeAmqpError(error));
    }
    if (!signal.aborted) await pause(pauseAfter(kept.failures, endpoint.hosts), signal);
    kept.attempt = newAttempt();
  }
}

/**
 * Each host once in quick succession, then a pause that doubles. It is partly random, so that the instances of an
 * app do not all come back to a restarted RabbitMQ in the same moment.
 */
function pauseAfter(failures: number, hosts: number): number {
  const isEndOfRound = failures % hosts === 0;
  const longest = isEndOfRound ? Math.min(FIRST_PAUSE * 2 ** (failures / hosts), LONGEST_PAUSE) : FIRST_PAUSE;
  return longest * (0.5 + Math.random() / 2);
}

function noteUp(kept: Kept, session: AmqpSession): void {
  const now = Date.now();
  const { asOf, reconnects } = kept.state;
  kept.state = {
    up: true,
    asOf: now,
    since: now,
    reconnects: reconnects + (asOf === null ? 0 : 1),
    problem: null,
  };
  kept.session = session;
  kept.version = session.version;
  kept.failures = 0;
  kept.attempt.end();
  kept.options.onUp?.(session);
}

function noteEnd(kept: Kept, problem: ServerProblem): void {
  const { up, asOf } = kept.state;
  kept.session = null;
  kept.started = null;
  kept.state = { ...kept.state, up: false, since: null, problem };
  kept.failures = up ? 0 : kept.failures + 1;
  // The host that worked last is tried first.
  if (!up) kept.host = (kept.host + 1) % kept.options.endpoint.hosts;
  kept.attempt.end();
  if (kept.closing.signal.aborted) return;
  kept.log(problem);
  if (up && asOf !== null) kept.options.onDown?.(asOf);
}

function newAttempt(): Kept['attempt'] {
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { ended, end };
}
