/** A connection to RabbitMQ that is opened again whenever it ends, on the next host of several. */
import { type Attempt, KeptConnection } from '../kept-connection.ts';
import type { AmqpEndpoint, OpenedClient } from './amqplib.ts';
import { type AmqpChannel, type AmqpLimits, type ChannelKind, openChannel } from './channel.ts';
import { amqpError, amqpProblems, describeAmqpError } from './problems.ts';

/** The pauses between attempts, in milliseconds. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 5_000;
/** How long a channel may take when no limit is given, with connecting, in milliseconds. */
const CHANNEL_MS = 5_000;
/** Logging in takes several replies, and a busy RabbitMQ is slow to give them. */
const TIMES = { open: 10_000, ping: 2_000, silentPings: 4 };

/** A connection that is up. */
export interface AmqpSession {
  /** Such as `3.10.8`; `null` if RabbitMQ does not report it. */
  readonly version: string | null;
  /** @throws AmqpError when there is no channel in time */
  channel(kind?: ChannelKind, limits?: AmqpLimits): Promise<AmqpChannel>;
  /** Ends it; another one follows. */
  fail(reason: unknown): void;
}

/** The purpose of a connection. */
interface AmqpConnectionOptions {
  /** Label for the log. */
  readonly label: string;
  readonly endpoint: AmqpEndpoint;
  /** Whether to begin with a host chosen at random. Default false: with the first. */
  readonly shuffle?: boolean;
  /** Declares and consumes, before the connection counts as up. */
  readonly prepare?: (session: AmqpSession) => Promise<unknown>;
  /** Whether messages may arrive a tenth of a second later, many at a time. Default false. */
  readonly isPaced?: boolean;
  /**
   * Sends a request every two seconds, for a sign of life: the heartbeats of amqplib notice a dead peer much later.
   * Default: none.
   */
  readonly probe?: (session: AmqpSession) => Promise<unknown>;
  /** @param again whether it had been up before */
  readonly onUp?: (again: boolean) => void;
  /** @param asOf when it was last known to work, milliseconds since 1970 */
  readonly onDown?: (asOf: number) => void;
}

/** A connection that reconnects until it is closed. */
export type AmqpConnection = ReturnType<typeof createAmqpConnection>;

/** What has been opened. */
interface Opened extends AmqpSession {
  readonly opened: OpenedClient;
}

/** A connection that has not been started. */
export function createAmqpConnection(options: AmqpConnectionOptions) {
  const { label, endpoint, shuffle = false, probe, isPaced = false, onUp, onDown } = options;
  let host = shuffle ? Math.floor(Math.random() * endpoint.hosts) : 0;
  let version: string | null = null;
  let isBlocked = false;
  const blocked = (now: boolean): void => {
    isBlocked = now;
  };
  const kept = new KeptConnection<Opened>({
    label,
    open: (attempt) => openSession(options, host, attempt, blocked),
    ping: probe,
    close: async ({ opened }) => (opened.isLent ? undefined : opened.client.close()),
    problems: amqpProblems,
    times: TIMES,
    pauseAfter: (failures) => pauseAfter(failures, endpoint.hosts),
    onUp(session, again) {
      version = session.version;
      onUp?.(again);
      if (isPaced) session.opened.startPacing?.();
    },
    onEnd(wasUp) {
      // The host that worked last is tried first.
      if (!wasUp) host = (host + 1) % endpoint.hosts;
    },
    onDown,
  });
  return {
    /** Connects, unless it has been started. */
    start: () => void kept.start(),
    state: () => kept.state(),
    /**
     * Whether RabbitMQ accepts no messages now, because it is short of memory or disk space. Known once a message was
     * sent.
     */
    isBlocked: () => isBlocked,
    /** Such as `3.10.8`; `null` while unknown. */
    version: () => version,
    /** Of the host that was last tried, without user, password and query. */
    url: () => endpoint.url(host),
    /**
     * Opens a channel. Connects first if that has not begun.
     *
     * @throws AmqpError while RabbitMQ is unreachable, or when it is late
     */
    async channel(kind: ChannelKind = {}, { signal, timeoutMs = CHANNEL_MS }: AmqpLimits = {}) {
      const end = performance.now() + timeoutMs;
      const session = await kept.opened({ signal, timeoutMs });
      return session.channel(kind, { signal, timeoutMs: Math.max(1, end - performance.now()) });
    },
    /** Resolves within about a second, even if RabbitMQ does not answer. */
    close: () => kept.close(),
  };
}

async function openSession(
  { endpoint, prepare }: AmqpConnectionOptions,
  host: number,
  { signal, fail }: Attempt,
  onBlocked: (isBlocked: boolean) => void,
): Promise<Opened> {
  const opened = await endpoint.open(host, signal);
  const { client, version } = opened;
  // Before anything else can happen to it: without a listener, an error would end the host's process.
  if (!opened.isLent) client.on('error', () => {});
  watch(opened, fail, onBlocked, signal);
  const session: Opened = {
    opened,
    version,
    async channel(kind = {}, limits = {}) {
      try {
        return await openChannel(client, kind, limits);
      } catch (error) {
        const { code } = describeAmqpError(error);
        // A connection that ended before it was watched. A deadline may be the caller's, and prove nothing.
        if (code !== 'TimeoutError') fail(error);
        throw error;
      }
    },
    fail,
  };
  await prepare?.(session);
  return session;
}

/** At the end of the attempt, the listeners are removed from a connection that is the host's. */
function watch(
  { client, isLent, startReading }: OpenedClient,
  fail: (reason: unknown) => void,
  onBlocked: (isBlocked: boolean) => void,
  signal: AbortSignal,
): void {
  const lost = (error?: unknown): void => fail(error ?? amqpError(isLent ? 'HOSTCLOSED' : 'LOST'));
  const listeners: Readonly<Record<string, (value?: unknown) => void>> = {
    error: lost,
    close: lost,
    // Emitted by amqplib's recovery.
    disconnect: lost,
    blocked: () => onBlocked(true),
    unblocked: () => onBlocked(false),
  };
  for (const [event, listener] of Object.entries(listeners)) client.on(event, listener);
  const unwatch = (): void => {
    onBlocked(false);
    if (!isLent) return;
    for (const [event, listener] of Object.entries(listeners)) client.removeListener(event, listener);
  };
  signal.addEventListener('abort', unwatch, { once: true });
  startReading?.();
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
