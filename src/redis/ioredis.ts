/** The client of our own, where the host gives an address: one of ioredis, which BullMQ itself uses. */

import { commanderOf, type RedisCommander } from './client.ts';
import { importPackage, redisError } from './problems.ts';

/** An address: a URL, or options of ioredis, with a `url` among them if that is easier. */
export type RedisAddress = string | Readonly<Record<string, unknown>>;

/** A connected client of our own. */
export interface OwnClient {
  readonly commander: RedisCommander;
  /** Ends it at once. */
  end(): void;
}

/** Time for the handshakes and the first answer, in milliseconds. */
const CONNECT_TIMEOUT = 3_000;

/**
 * What makes it fail at once and for good: whoever asks next opens another one, so that nothing waits in a
 * queue of its own, no timer keeps the process, and Redis is found within one request when it returns.
 */
const OVERRIDES = {
  lazyConnect: true,
  connectTimeout: CONNECT_TIMEOUT,
  retryStrategy: () => null,
  sentinelRetryStrategy: () => null,
  reconnectOnError: null,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  maxRetriesPerRequest: null,
  disableClientInfo: true,
  keyPrefix: '',
  // RESP 2 needs no HELLO, which Redis before 6 does not know.
  protocol: 2,
} as const;

interface IoredisClient {
  connect(): Promise<unknown>;
  disconnect(): void;
  select(database: number): Promise<unknown>;
  readonly options: { readonly db?: number | undefined };
  on(event: string, listener: (...values: unknown[]) => void): unknown;
  readonly stream?: { unref?(): unknown };
}

/**
 * Connects.
 *
 * @throws whatever stands against it
 */
export async function openOwnClient(address: RedisAddress): Promise<OwnClient> {
  const { Redis } = await importPackage('ioredis', () => import('ioredis'));
  const { url, ...options } = typeof address === 'string' ? { url: address } : address;
  const client = (
    typeof url === 'string'
      ? new Redis(url, { ...options, ...OVERRIDES })
      : new Redis({ ...options, ...OVERRIDES })
  ) as IoredisClient;
  let reason: unknown = null;
  // Without a listener, an error event would end the host's process. `connect()` itself tells no reason.
  client.on('error', (error) => {
    reason = error;
  });
  // A monitor must not keep a process alive that has nothing else to do.
  client.on('connect', () => client.stream?.unref?.());
  const late = setTimeout(() => {
    reason ??= redisError('TimeoutError');
    client.disconnect();
  }, CONNECT_TIMEOUT).unref();
  try {
    await client.connect();
    // Refused another database, ioredis goes on in the first one, whose queues are not those wanted.
    if (client.options.db) await client.select(client.options.db);
  } catch (error) {
    client.disconnect();
    throw reason ?? error;
  } finally {
    clearTimeout(late);
  }
  const commander = commanderOf(client);
  if (commander === null) throw new TypeError('ioredis has changed.');
  return { commander, end: () => client.disconnect() };
}
