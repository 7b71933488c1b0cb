/**
 * Clients of the package redis (node-redis), version 5 or 6: the host's, duplicates of them, and our own. The package
 * is imported only when a URL requires a client of our own, so a host's client keeps its version.
 */
import { failedImport } from '../server-problems.ts';
import {
  addressOf,
  type ClientAddress,
  type ClientEvents,
  type RedisClient,
  settle,
  watchEvents,
} from './client.ts';
import { RedisError } from './problems.ts';
import { createPacedReads, limitedSocket, type PacedReads } from './reads.ts';
import type { RedisAddress } from './urls.ts';

/**
 * The part of a node-redis client that this source uses; one made by `createClient`, or by `createSentinel` of version
 * 6, fits.
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
  /** Takes other arguments in clients of Sentinels and clusters. */
  sendCommand(...args: readonly unknown[]): Promise<unknown>;
  close(): Promise<unknown>;
  destroy(): unknown;
  on(event: string, listener: (...values: unknown[]) => void): unknown;
  unref?(): unknown;
}

/** Called for each message. */
export type RedisListener = (message: string, channel: string) => void;

/**
 * Opens a connection; `signal` ends its socket in any phase. A connection for commands speaks RESP 2, whose
 * replies have one shape whatever the host has chosen for its own client. One that subscribes speaks what the
 * host chose: under RESP 2, node-redis could not renew a login that expires.
 */
export type OpenClient = (
  signal: AbortSignal,
  use?: 'commands' | 'subscriptions',
) => Promise<{
  readonly client: CeleryRedisConnection;
  /** To be called once it is connected: rejects if it is connected to the wrong server. */
  readonly verify?: () => Promise<void>;
  /** To be called once it has subscribed: from then on it reads messages together. */
  readonly onSubscribed?: (() => void) | undefined;
}>;

/** A client of node-redis that takes commands, by structure. */
interface NodeRedis {
  readonly isReady?: boolean;
  readonly isOpen?: boolean;
  readonly options?: unknown;
  sendCommand(...args: readonly unknown[]): Promise<unknown>;
  /** Only clusters have masters and clients of them. */
  readonly masters?: readonly NodeRedisMaster[];
  nodeClient?(master: NodeRedisMaster): unknown;
}

interface NodeRedisMaster {
  readonly address?: string;
}

/** Time for the TCP and TLS handshake, in milliseconds. */
const CONNECT_TIMEOUT = 3_000;

/** Replaces the host's options: no type mapping, and no time limit, which would end once a command is written. */
const COMMAND_OPTIONS = { typeMapping: {}, timeout: undefined, abortSignal: undefined };

/** Where the first key of a command is that does not begin with one. */
const KEY_AT: Readonly<Record<string, number>> = { XINFO: 2, MEMORY: 2, OBJECT: 2, EVAL_RO: 3 };

/** Whether a value is a client of node-redis. */
export function isNodeRedis(value: unknown): value is NodeRedis & ClientEvents {
  if (typeof value !== 'object' || value === null) return false;
  const { sendCommand, pipeline, on } = value as Record<string, unknown>;
  return typeof sendCommand === 'function' && typeof pipeline !== 'function' && typeof on === 'function';
}

/** Adapts a client of node-redis. Commands go to masters only, also those of Sentinels and clusters. */
export function nodeRedisClient(raw: NodeRedis & ClientEvents): RedisClient {
  const self: RedisClient = {
    raw,
    isUp: () => raw.isReady ?? raw.isOpen ?? true,
    send: (list) => settle(list.map((command) => () => sendCommand(raw, command))),
    masters: () => raw.masters?.map((master) => masterClient(raw, self, master)) ?? [self],
    watch: (listener) => watchEvents(raw, listener, { up: ['ready'], down: ['end', 'error'] }),
    address() {
      const { socket, database } = (raw.options ?? {}) as { socket?: ClientAddress; database?: unknown };
      return addressOf({ ...socket, db: database });
    },
  };
  return self;
}

/** One master of a cluster; its client is looked up for each command, because it changes with the topology. */
function masterClient(raw: NodeRedis, cluster: RedisClient, master: NodeRedisMaster): RedisClient {
  return {
    ...cluster,
    address: () => master.address ?? null,
    async send(list) {
      const own: unknown = await raw.nodeClient?.(master);
      return (isNodeRedis(own) ? nodeRedisClient(own) : cluster).send(list);
    },
  };
}

/** Sends a command as it is. The deadline is the caller's. */
export function sendCommand(
  client: Pick<NodeRedis, 'sendCommand'>,
  args: readonly string[],
): Promise<unknown> {
  if ('getSentinelNode' in client) return client.sendCommand(false, args, COMMAND_OPTIONS);
  if ('masters' in client) {
    const key = args[KEY_AT[args[0] ?? ''] ?? 1];
    return client.sendCommand(key, false, args, COMMAND_OPTIONS);
  }
  return client.sendCommand(args, COMMAND_OPTIONS);
}

async function loadRedis() {
  try {
    return await import('redis');
  } catch (error) {
    throw failedImport('redis', error, RedisError);
  }
}

/**
 * Makes a client of our own. It never reconnects by itself: node-redis gives up permanently after some errors and waits
 * for ever after others, so the connection that uses it opens the next one.
 *
 * @param reads paces its reads; by default, it reads at once
 * @throws RedisError if the package is not installed
 */
export async function createOwnClient(
  address: RedisAddress,
  signal: AbortSignal,
  reads: PacedReads | null = null,
): Promise<CeleryRedisConnection> {
  const { database, username, password, tls } = address;
  const { createClient } = await loadRedis();
  return templateOf(createClient).duplicate({
    socket: {
      ...address.socket,
      ...(tls === null ? {} : { tls: true as const, ...nodeTls(tls) }),
      ...socketOptions(signal, reads),
    },
    database,
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password }),
    disableOfflineQueue: true,
    disableClientInfo: true,
    commandsQueueMaxLength: 2_000,
  });
}

type CreateClient = typeof import('redis')['createClient'];

const templates = new WeakMap<CreateClient, ReturnType<CreateClient>>();

/**
 * A client that never connects, for duplicates. `createClient` builds a class with hundreds of commands whenever
 * its options differ from the last ones, which holds the event loop for up to 40 ms; a duplicate shares the class.
 */
function templateOf(createClient: CreateClient): ReturnType<CreateClient> {
  const known = templates.get(createClient);
  if (known !== undefined) return known;
  // RESP 2 needs no HELLO, which Redis before 6 does not know.
  const made = createClient({ RESP: 2, maintNotifications: 'disabled' }) as ReturnType<CreateClient>;
  templates.set(createClient, made);
  return made;
}

/** Opens clients of our own. */
export function clientsOf(address: RedisAddress): OpenClient {
  return async (signal, use) => {
    const reads = use === 'commands' ? null : createPacedReads();
    return { client: await createOwnClient(address, signal, reads), onSubscribed: reads?.start };
  };
}

/** Opens duplicates of the host's client. */
export function duplicatesOf(client: CeleryRedisClient): OpenClient {
  return async (signal, use) => {
    const socket = (client.options as { socket?: unknown } | undefined)?.socket;
    const reads = use === 'commands' ? null : createPacedReads();
    const overrides = {
      // The cache belongs to the host's client: the end of a duplicate would empty it.
      clientSideCache: undefined,
      ...(use === 'commands' ? { RESP: 2 } : {}),
      // A client of Sentinels has no socket of its own and ignores these options.
      ...(typeof socket === 'object' && socket !== null
        ? {
            socket: { ...socket, ...socketOptions(signal, reads) },
            disableOfflineQueue: true,
            ...(use === 'commands' ? { maintNotifications: 'disabled', emitInvalidate: false } : {}),
          }
        : {}),
    };
    const host = client as unknown as { duplicate(overrides: object): CeleryRedisConnection };
    return { client: host.duplicate(overrides), onSubscribed: reads?.start };
  };
}

/** Ends a client at once. */
export function destroyClient(client: CeleryRedisConnection): void {
  try {
    client.destroy();
  } catch {
    // node-redis 5 throws if the client has closed itself.
  }
}

function socketOptions(
  signal: AbortSignal,
  reads: PacedReads | null,
): { connectTimeout: number; reconnectStrategy: false; signal: AbortSignal } {
  const options = reads?.socketOptions ?? limitedSocket();
  return { connectTimeout: CONNECT_TIMEOUT, reconnectStrategy: false, signal, ...options };
}

function nodeTls(tls: NonNullable<RedisAddress['tls']>): object {
  const { checkHostname, ...options } = tls;
  return checkHostname ? options : { ...options, checkServerIdentity: () => undefined };
}
