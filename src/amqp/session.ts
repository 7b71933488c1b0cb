/** One connection to RabbitMQ, from opening to its end. Every attempt to connect is a new session. */
import {
  type AmqpChannel,
  type AmqpLimits,
  type ChannelKind,
  openChannel,
  withAmqpDeadline,
} from './channel.ts';
import type { AmqpEndpoint, OpenedClient } from './endpoint.ts';
import { amqpError, describeAmqpError } from './problems.ts';

/** All in milliseconds. Logging in takes several replies, and a busy RabbitMQ is slow to give them. */
const HANDSHAKE_TIMEOUT = 10_000;
const PROBE_INTERVAL = 2_000;
const CLOSE_GRACE = 1_000;
/** Intervals without a reply after which a connection counts as dead, though its socket is open. */
const SILENT_INTERVALS = 4;

/** A connection that is up. */
export interface AmqpSession {
  /** Such as `3.10.8`; `null` if RabbitMQ does not report it. */
  readonly version: string | null;
  /** @throws AmqpError when there is no channel in time */
  channel(kind?: ChannelKind, limits?: AmqpLimits): Promise<AmqpChannel>;
  /** Ends the session; another one follows. */
  fail(reason: unknown): void;
}

/** The purpose of a session. */
export interface SessionOptions {
  readonly endpoint: AmqpEndpoint;
  /** Index of the host to connect to. */
  readonly host: number;
  /** Declares and consumes, before the session counts as ready. */
  readonly prepare?: ((session: AmqpSession) => Promise<unknown>) | undefined;
  /** Whether messages may arrive a tenth of a second later, many at a time. Default false. */
  readonly isPaced?: boolean | undefined;
  /**
   * Sends a request every two seconds, for a sign of life: the heartbeats of amqplib notice a dead peer much later.
   * Default: none.
   */
  readonly probe?: ((session: AmqpSession) => Promise<unknown>) | undefined;
  readonly onReady: (session: AmqpSession) => void;
  /** Called when RabbitMQ has answered a probe, with the time of the request in milliseconds since 1970. */
  readonly onAlive: (askedAt: number) => void;
  /** Called when RabbitMQ stops accepting messages, and when it accepts them again. */
  readonly onBlocked: (isBlocked: boolean) => void;
}

/** A session that is under way. */
export interface StartedSession {
  /** Rejects with the reason when the session has ended, whatever ended it, and nothing is left open. */
  readonly over: Promise<never>;
  /** Ends it. Its connection first has a second to close. */
  close(): void;
}

interface State {
  readonly options: SessionOptions;
  readonly attempt: AbortController;
  /** Rejects as soon as anything ends the session. */
  readonly failed: Promise<never>;
  readonly fail: (reason: unknown) => void;
  opened: OpenedClient | null;
}

/** Connects, prepares and watches. */
export function startAmqpSession(options: SessionOptions): StartedSession {
  let fail: (reason: unknown) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {});
  const state: State = { options, attempt: new AbortController(), failed, fail, opened: null };
  const over = run(state);
  over.catch(() => {});
  return {
    over,
    close() {
      const end = (): void => fail(amqpError('CLOSED'));
      if (state.opened === null) end();
      else void closeGently(state.opened).then(end);
    },
  };
}

async function run(state: State): Promise<never> {
  const late = setTimeout(() => state.fail(amqpError('TimeoutError')), HANDSHAKE_TIMEOUT).unref();
  let probes: NodeJS.Timeout | undefined;
  let unwatch = (): void => {};
  try {
    const opening = open(state);
    opening.catch(() => {});
    const { client, version } = await Promise.race([state.failed, opening]);
    unwatch = watch(state);
    const session: AmqpSession = {
      version,
      async channel(kind = {}, limits = {}) {
        try {
          return await openChannel(client, kind, limits);
        } catch (error) {
          const { code } = describeAmqpError(error);
          // A connection that ended before it was watched. A deadline may be the caller's, and prove nothing.
          if (code !== 'TimeoutError') state.fail(error);
          throw error;
        }
      },
      fail: state.fail,
    };
    await Promise.race([state.failed, state.options.prepare?.(session)]);
    clearTimeout(late);
    state.options.onReady(session);
    if (state.options.isPaced === true) state.opened?.startPacing?.();
    probes = startProbes(state, session);
    return await state.failed;
  } finally {
    clearTimeout(late);
    clearInterval(probes);
    unwatch();
    // Everything that is open, or being opened, ends now.
    state.attempt.abort();
  }
}

async function open(state: State): Promise<OpenedClient> {
  const { endpoint, host } = state.options;
  const opened = await endpoint.open(host, state.attempt.signal);
  // Before anything else can happen to it: without a listener, an error would end the host's process.
  if (!opened.isLent) opened.client.on('error', () => {});
  state.opened = opened;
  return opened;
}

/** @returns removes the listeners from a connection that is the host's */
function watch({ opened, options, fail }: State): () => void {
  if (opened === null) return () => {};
  const { client, isLent } = opened;
  const lost = (error?: unknown): void => fail(error ?? amqpError(isLent ? 'HOSTCLOSED' : 'LOST'));
  const listeners: Readonly<Record<string, (value?: unknown) => void>> = {
    error: lost,
    close: lost,
    // Emitted by amqplib's recovery.
    disconnect: lost,
    blocked: () => options.onBlocked(true),
    unblocked: () => options.onBlocked(false),
  };
  for (const [event, listener] of Object.entries(listeners)) client.on(event, listener);
  opened.startReading?.();
  return () => {
    options.onBlocked(false);
    if (!isLent) return;
    for (const [event, listener] of Object.entries(listeners)) client.removeListener(event, listener);
  };
}

/** Silence is counted in intervals: a host that blocks its event loop loses one of them, not the connection. */
function startProbes({ options, fail }: State, session: AmqpSession): NodeJS.Timeout | undefined {
  const { probe, onAlive } = options;
  if (probe === undefined) return undefined;
  let isWaiting = false;
  let silent = 0;
  return setInterval(() => {
    if (isWaiting) {
      silent += 1;
      if (silent >= SILENT_INTERVALS) fail(amqpError('TimeoutError'));
      return;
    }
    isWaiting = true;
    const askedAt = Date.now();
    probe(session).then(() => {
      isWaiting = false;
      silent = 0;
      onAlive(askedAt);
    }, fail);
  }, PROBE_INTERVAL).unref();
}

/** The closing handshake of AMQP waits for a reply, which a frozen RabbitMQ does not give. */
async function closeGently({ client, isLent }: OpenedClient): Promise<void> {
  if (isLent) return;
  let timer: NodeJS.Timeout | undefined;
  const grace = new Promise<void>((resolve) => {
    // Not unreferenced: a caller that awaits our `close()` must get a result.
    timer = setTimeout(resolve, CLOSE_GRACE);
  });
  const closing = withAmqpDeadline(
    Promise.resolve().then(() => client.close()),
    { timeoutMs: 2 * CLOSE_GRACE },
  );
  await Promise.race([closing.catch(() => {}), grace]);
  clearTimeout(timer);
}
