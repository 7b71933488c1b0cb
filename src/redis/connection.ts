/** A connection to Redis that is opened again whenever it ends, for subscriptions and for commands. */
import { type Attempt, KeptConnection, NOT_CONNECTED } from '../kept-connection.ts';
import type { ClientEvents } from './client.ts';
import { type CeleryRedisConnection, destroyClient, nodeRedisClient, type OpenClient } from './node-redis.ts';
import { redisError, redisProblems } from './problems.ts';
import { type ClientSupply, createReader, type RedisReader } from './reader.ts';

/** The pauses between attempts, in milliseconds: a Redis that is available again is found within the longest. */
const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 1_000;

/** A connection that reconnects until it is closed. */
export type Connection = KeptConnection<CeleryRedisConnection>;

/** The purpose of a connection. */
interface ConnectionOptions {
  /** Label for the log. */
  readonly label: string;
  readonly open: OpenClient;
  /** Subscribes, before the connection counts as up. It calls `heard` on each message. */
  readonly prepare?: (client: CeleryRedisConnection, heard: () => void) => Promise<unknown>;
  /** @param again whether it had been up before */
  readonly onUp?: (again: boolean) => void;
  /** @param asOf when it was last known to work, milliseconds since 1970 */
  readonly onDown?: (asOf: number) => void;
}

/** Opens a connection and keeps it open. */
export function createConnection(options: ConnectionOptions): Connection {
  const { label, onUp, onDown } = options;
  return new KeptConnection<CeleryRedisConnection>({
    label,
    open: (attempt) => openClient(options, attempt),
    ping: (client) => client.ping(),
    close: async (client) => client.close(),
    problems: redisProblems,
    times: { open: 5_000, ping: 1_000, silentPings: 3 },
    pauseAfter: (failures) => Math.min(FIRST_PAUSE * 2 ** failures, LONGEST_PAUSE),
    onUp: (_, again) => onUp?.(again),
    onDown,
  }).start();
}

async function openClient(
  { open, prepare }: ConnectionOptions,
  { signal, fail, heard }: Attempt,
): Promise<CeleryRedisConnection> {
  const { client, verify, onSubscribed } = await open(signal);
  const destroy = (): void => destroyClient(client);
  signal.addEventListener('abort', destroy, { once: true });
  // It may have ended while the package was loading.
  if (signal.aborted) destroy();
  // Without a listener, an error event would end the host's process.
  client.on('error', fail);
  client.on('end', () => fail(redisError('TimeoutError')));
  // A monitor must not keep a process alive that has nothing else to do.
  client.unref?.();
  await client.connect();
  // PING reveals a missing password or LOADING, which a subscription does not.
  await client.ping();
  await verify?.();
  await prepare?.(client, heard);
  onSubscribed?.();
  return client;
}

/** A reader over a connection of its own, opened at the first command and kept open from then on. */
export function createRedisReader(label: string, endpoint: RedisEndpoint): RedisReader {
  return createReader(keptUp(label, endpoint), {
    capacity: 1_000,
    queued: 0,
    timeoutMs: 5_000,
    perWrite: Number.POSITIVE_INFINITY,
  });
}

/** @param label for the log */
function keptUp(label: string, endpoint: RedisEndpoint): ClientSupply {
  let connection: Connection | null = null;
  return {
    async acquire() {
      connection ??= createConnection({ label, open: (signal) => endpoint.open(signal, 'commands') });
      // Clients of node-redis are emitters with `off`, which the public type leaves out.
      return nodeRedisClient((await connection.opened()) as CeleryRedisConnection & ClientEvents);
    },
    // The session ends a client that is lost or silent, which rejects its commands.
    untilLost: (promise) => promise,
    answered() {},
    failed() {},
    state: () => connection?.state() ?? NOT_CONNECTED,
    address: () => endpoint.url,
    close: async () => connection?.close(),
  };
}

/** A Redis to which we open connections. */
export interface RedisEndpoint {
  readonly open: OpenClient;
  /** Equal for two endpoints on the same server with the same credentials. Holds the password: never show it. */
  readonly server: unknown;
  readonly database: number;
  /** Without user, password and query; `null` if the host's client does not reveal it. */
  readonly url: string | null;
}
