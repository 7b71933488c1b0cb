/**
 * One client of Redis, from opening to its end. Every attempt to connect is a new session: node-redis does not
 * reconnect after every error, and does not notice that the other side is gone.
 */
import { type CeleryRedisConnection, destroyClient, type OpenClient } from './node-redis.ts';
import { redisError } from './problems.ts';

/** All in milliseconds. */
const HANDSHAKE_TIMEOUT = 5_000;
const PING_INTERVAL = 1_000;
const CLOSE_GRACE = 1_000;
/** Intervals without a reply after which a connection counts as dead, though its socket is open. */
const SILENT_INTERVALS = 3;

/** The purpose of a session. */
export interface SessionOptions {
  readonly open: OpenClient;
  /** Subscribes, before the session counts as ready. It calls `heard` on each message. */
  readonly prepare?: (client: CeleryRedisConnection, heard: () => void) => Promise<unknown>;
  /** Called once everything is subscribed. */
  readonly onReady: (client: CeleryRedisConnection) => void;
  /** Called when Redis has answered a ping, with the time of asking in milliseconds since 1970. */
  readonly onAlive: (askedAt: number) => void;
}

/** A session that is under way. */
export interface Session {
  /** Rejects with the reason when the session has ended, whatever ended it, and nothing is left open. */
  readonly over: Promise<never>;
  /** Ends it. A ready session first waits a second for the replies that are under way. */
  close(): void;
}

interface State {
  readonly options: SessionOptions;
  /** Rejects as soon as anything ends the session. */
  readonly failed: Promise<never>;
  readonly fail: (reason: unknown) => void;
  client: CeleryRedisConnection | null;
  ready: boolean;
  silentIntervals: number;
}

/** Opens a client, prepares it and watches it. */
export function startSession(options: SessionOptions): Session {
  let fail: (reason: unknown) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {});
  const state: State = { options, failed, fail, client: null, ready: false, silentIntervals: 0 };
  const over = run(state);
  over.catch(() => {});
  return {
    over,
    close() {
      const end = (): void => fail(redisError('TimeoutError'));
      if (state.ready && state.client !== null) void closeGently(state.client).then(end);
      else end();
    },
  };
}

async function run(state: State): Promise<never> {
  const attempt = new AbortController();
  const late = setTimeout(() => state.fail(redisError('TimeoutError')), HANDSHAKE_TIMEOUT).unref();
  let pings: NodeJS.Timeout | undefined;
  try {
    await Promise.race([state.failed, handshake(state, attempt.signal)]);
    clearTimeout(late);
    if (state.client !== null) {
      state.ready = true;
      state.options.onReady(state.client);
      pings = startPings(state, state.client);
    }
    return await state.failed;
  } finally {
    clearTimeout(late);
    clearInterval(pings);
    if (state.client !== null) destroyClient(state.client);
    // A client that is still connecting has no socket yet that `destroy` could end.
    attempt.abort();
  }
}

async function handshake(state: State, signal: AbortSignal): Promise<void> {
  const { open, prepare } = state.options;
  const { client, verify, onSubscribed } = await open(signal);
  state.client = client;
  // The session may have ended while the package was loading.
  if (signal.aborted) return destroyClient(client);
  // Without a listener, an error event would end the host's process.
  client.on('error', state.fail);
  client.on('end', () => state.fail(redisError('TimeoutError')));
  // A monitor must not keep a process alive that has nothing else to do.
  client.unref?.();
  await client.connect();
  // PING reveals a missing password or LOADING, which a subscription does not.
  await client.ping();
  await verify?.();
  await prepare?.(client, () => {
    state.silentIntervals = 0;
  });
  onSubscribed?.();
}

/** Silence is counted in intervals: a host that blocks its event loop loses one of them, not the connection. */
function startPings(state: State, client: CeleryRedisConnection): NodeJS.Timeout {
  let waiting = false;
  return setInterval(() => {
    if (waiting) {
      state.silentIntervals += 1;
      if (state.silentIntervals >= SILENT_INTERVALS) state.fail(redisError('TimeoutError'));
      return;
    }
    waiting = true;
    const askedAt = Date.now();
    client.ping().then(() => {
      waiting = false;
      state.silentIntervals = 0;
      state.options.onAlive(askedAt);
    }, state.fail);
  }, PING_INTERVAL).unref();
}

/** On a frozen Redis, `close()` alone would wait for ever. */
async function closeGently(client: CeleryRedisConnection): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const grace = new Promise<void>((resolve) => {
    // Not unreferenced: a caller that awaits our `close()` must get a result.
    timer = setTimeout(resolve, CLOSE_GRACE);
  });
  try {
    await Promise.race([client.close(), grace]);
  } catch {
    // It had closed itself.
  } finally {
    clearTimeout(timer);
  }
}
