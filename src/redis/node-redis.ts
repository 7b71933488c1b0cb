/**
 * The clients of the package `redis` (node-redis 5 and 6), by structure: nothing of it is imported until
 * a URL asks for a client of our own, so a host that passes its own client keeps its version.
 */
import { importPackage } from './problems.ts';
import type { RedisAddress } from './urls.ts';

/**
 * What this source uses of a node-redis client; one made by `createClient`, or by `createSentinel` of
 * version 6, fits.
 */
export interface CeleryRedisClient {
  /** Makes a client of the same server and credentials. Only duplicates are connected and closed. */
  duplicate(): CeleryRedisConnection;
  /** Read for the number of the database and the address that components show. */
  readonly options?: unknown;
}

/** A client of our own, or a duplicate of the host's. */
export interface CeleryRedisConnection {
  connect(): Promise<unknown>;
  pSubscribe(patterns: string[], listener: RedisListener): Promise<unknown>;
  subscribe(channels: string[], listener: RedisListener): Promise<unknown>;
  ping(): Promise<unknown>;
  /** That of `createSentinel` takes another list of arguments: use {@link sendCommand}. */
  sendCommand(...args: readonly unknown[]): Promise<unknown>;
  close(): Promise<unknown>;
  destroy(): unknown;
  on(event: string, listener: (...values: unknown[]) => void): unknown;
  unref?(): unknown;
}

/** Called for each message. */
export type RedisListener = (message: string, channel: string) => void;

/** A client that is not connected yet. */
export interface OpenedClient {
  readonly client: CeleryRedisConnection;
  /** To be called once it is connected: rejects when it is not connected to what was wanted. */
  readonly verify?: () => Promise<void>;
}

/**
 * How a connection is opened; `signal` ends its socket in whatever phase it is. One for commands speaks
 * RESP 2, whose replies have one shape whatever the host has chosen for its own client. One that
 * subscribes speaks what the host chose: under RESP 2, node-redis could not renew a login that expires.
 */
export type OpenClient = (signal: AbortSignal, use?: 'commands' | 'subscriptions') => Promise<OpenedClient>;

/** Time for the TCP and TLS handshake, in milliseconds. */
const CONNECT_TIMEOUT = 3000;

/**
 * A client of our own. It never reconnects by itself: the connection above does, since node-redis gives
 * up for good after some errors and waits for ever after others.
 */
export async function createOwnClient(
  address: RedisAddress,
  signal: AbortSignal,
): Promise<CeleryRedisConnection> {
  const { database, username, password, tls } = address;
  const { createClient } = await importPackage('redis', () => import('redis'));
  return createClient({
    // RESP 2 needs no HELLO, which Redis before 6 does not know.
    RESP: 2,
    socket: {
      ...address.socket,
      ...(tls === null ? {} : { tls: true as const, ...nodeTls(tls) }),
      ...socketOptions(signal),
    },
    database,
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password }),
    disableOfflineQueue: true,
    disableClientInfo: true,
    commandsQueueMaxLength: 2000,
    maintNotifications: 'disabled',
  });
}

/** Opens clients of our own. */
export function clientsOf(address: RedisAddress): OpenClient {
  return async (signal) => ({ client: await createOwnClient(address, signal) });
}

/** Opens duplicates of the host's client. */
export function duplicatesOf(client: CeleryRedisClient): OpenClient {
  return async (signal, use) => {
    const socket = (client.options as { socket?: unknown } | undefined)?.socket;
    const overrides = {
      // A cache of the host's is its own: the end of a duplicate would empty it.
      clientSideCache: undefined,
      ...(use === 'commands' ? { RESP: 2 } : {}),
      // A client of another kind (Sentinel) has no socket of its own and ignores what it is given.
      ...(typeof socket === 'object' && socket !== null
        ? {
            socket: { ...socket, ...socketOptions(signal) },
            disableOfflineQueue: true,
            ...(use === 'commands' ? { maintNotifications: 'disabled', emitInvalidate: false } : {}),
          }
        : {}),
    };
    const host = client as unknown as { duplicate(overrides: object): CeleryRedisConnection };
    return { client: host.duplicate(overrides) };
  };
}

/** Instead of the host's own: no types of its choice, and no deadline, which would end with the writing. */
const OPTIONS = { typeMapping: {}, timeout: undefined, abortSignal: undefined };

/** Sends a command as it is. The deadline is the caller's. */
export function sendCommand(client: CeleryRedisConnection, args: readonly string[]): Promise<unknown> {
  if ('getSentinelNode' in client) return client.sendCommand(false, args, OPTIONS);
  // A cluster finds the node by itself when it is told of a wrong one.
  if ('masters' in client) return client.sendCommand(undefined, false, args, OPTIONS);
  return client.sendCommand(args, OPTIONS);
}

/** Ends a client at once. */
export function destroyClient(client: CeleryRedisConnection): void {
  try {
    client.destroy();
  } catch {
    // node-redis 5 throws when the client has closed itself.
  }
}

function socketOptions(signal: AbortSignal): {
  connectTimeout: number;
  reconnectStrategy: false;
  signal: AbortSignal;
} {
  return { connectTimeout: CONNECT_TIMEOUT, reconnectStrategy: false, signal };
}

function nodeTls(tls: NonNullable<RedisAddress['tls']>): object {
  const { checkHostname, ...options } = tls;
  return checkHostname ? options : { ...options, checkServerIdentity: () => undefined };
}

/**
 * Whether a value is a client that this source can use.
 *
 * @throws TypeError that says what to write
 */
export function checkClient(value: unknown, option: string): CeleryRedisClient {
  const client = value as { duplicate?: unknown; pSubscribe?: unknown } | null;
  if (
    typeof client === 'object' &&
    client !== null &&
    typeof client.duplicate === 'function' &&
    typeof client.pSubscribe === 'function'
  ) {
    return client as unknown as CeleryRedisClient;
  }
  throw new TypeError(
    `celerySources: ${option} must be a URL such as redis://host:6379/0, or a client made by createClient() ` +
      'of the package redis, version 5 or 6.',
  );
}
