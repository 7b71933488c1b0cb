/**
 * One client of Redis, from opening it to its end. Every attempt to connect is a new session:
 * node-redis can neither be relied on to come back after every error, nor to notice that the other side
 * is gone.
 */
import { type CeleryRedisConnection, destroyClient, type OpenClient } from './node-redis.ts';
import { redisError } from './problems.ts';

/** All in milliseconds. */
const HANDSHAKE_TIMEOUT = 5000;
const PING_INTERVAL = 1000;
const CLOSE_GRACE = 1000;
/** Ticks without a sign of life after which a connection counts as dead, though its socket is open. */
const SILENT_TICKS = 3;

/** What a session is for. */
export interface SessionOptions {
  readonly open: OpenClient;
  /** Called before the session counts as ready; `heard` is to be called on each message. */
  readonly prepare?: (client: CeleryRedisConnection, heard: () => void) => Promise<unknown>;
  /** Called once everything is subscribed. */
  readonly onReady: (client: CeleryRedisConnection) => void;
  /** Called when Redis has answered: it was there at that moment, in milliseconds since 1970. */
  readonly onAlive: (asked: number) => void;
}

/** A session that is going on. */
export interface Session {
  /** Rejects with the reason when the session has ended, whatever ended it, and nothing is left open. */
  readonly over: Promise<never>;
  /** Ends it. A ready one first gets a second for the replies that are under way. */
  close(): void;
}

/** Opens a client, prepares it and watches it. */
export function startSession(options: SessionOptions): Session {
  let client: CeleryRedisConnection | null = null;
  let ready = false;
  let silentTicks = 0;
  let ticker: NodeJS.Timeout | undefined;
  let fail: (reason: unknown) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {});

  async function handshake(signal: AbortSignal): Promise<void> {
    const { client: opened, verify } = await options.open(signal);
    client = opened;
    // The session may have ended while the package was loading.
    if (signal.aborted) return destroyClient(opened);
    // Without a listener, an error event would end the host's process.
    opened.on('error', fail);
    opened.on('end', () => fail(redisError('TimeoutError')));
    // A monitor must not keep a process alive that has nothing else to do.
    opened.unref?.();
    await opened.connect();
    // PING tells of a missing password or of LOADING, which a subscription does not.
    await opened.ping();
    await verify?.();
    await options.prepare?.(opened, () => {
      silentTicks = 0;
    });
  }

  /** Counted in ticks, so that a host that blocks its event loop loses one tick, not the connection. */
  function watch(opened: CeleryRedisConnection): void {
    let waiting = false;
    ticker = setInterval(() => {
      if (waiting) {
        silentTicks += 1;
        if (silentTicks >= SILENT_TICKS) fail(redisError('TimeoutError'));
        return;
      }
      waiting = true;
      const asked = Date.now();
      opened.ping().then(() => {
        waiting = false;
        silentTicks = 0;
        options.onAlive(asked);
      }, fail);
    }, PING_INTERVAL).unref();
  }

  async function run(): Promise<never> {
    const attempt = new AbortController();
    const late = setTimeout(() => fail(redisError('TimeoutError')), HANDSHAKE_TIMEOUT).unref();
    try {
      await Promise.race([failed, handshake(attempt.signal)]);
      clearTimeout(late);
      if (client !== null) {
        ready = true;
        options.onReady(client);
        watch(client);
      }
      return await failed;
    } finally {
      clearTimeout(late);
      clearInterval(ticker);
      if (client !== null) destroyClient(client);
      // A client that is still connecting has no socket yet that `destroy` could end.
      attempt.abort();
    }
  }

  const over = run();
  over.catch(() => {});
  return {
    over,
    close() {
      if (ready && client !== null) void closeGently(client).then(() => fail(redisError('TimeoutError')));
      else fail(redisError('TimeoutError'));
    },
  };
}

/** On a frozen Redis, `close()` alone would wait for ever. */
async function closeGently(client: CeleryRedisConnection): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const grace = new Promise<void>((resolve) => {
    // Not unreferenced: whoever awaits our `close()` must get there.
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
