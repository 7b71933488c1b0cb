/** Clients of the package ioredis, version 5 or 6: the host's, also of a Cluster, and our own. */
import type { Socket } from 'node:net';
import { failedImport } from '../server-problems.ts';
import {
  addressOf,
  type ClientAddress,
  type ClientEvents,
  type RedisClient,
  settle,
  watchEvents,
} from './client.ts';
import { RedisError, redisError } from './problems.ts';
import { limitReplies } from './reads.ts';

/** The address of our own client: a URL, or options of ioredis, which may contain a `url`. */
export type IoredisAddress = string | Readonly<Record<string, unknown>>;

/** A client of ours that is connected. */
export interface OwnClient {
  readonly client: RedisClient;
  /** Disconnects at once. */
  end(): void;
}

/** A client of ioredis, by structure. */
interface Ioredis extends ClientEvents {
  readonly status: string;
  readonly isCluster?: boolean;
  readonly options?: unknown;
  call(name: string, ...args: string[]): Promise<unknown>;
  pipeline(list: readonly (readonly string[])[]): { exec(): Promise<readonly [unknown, unknown][] | null> };
  nodes?(role: 'master'): readonly Ioredis[];
}

/** Options of a client that finds its server through Sentinels; its `host` is then ignored. */
interface IoredisOptions extends ClientAddress {
  readonly sentinels?: readonly ClientAddress[];
  /** The name of the master. */
  readonly name?: unknown;
}

/** Time for the handshakes and the first answer, in milliseconds. */
const CONNECT_TIMEOUT = 3_000;

/**
 * Makes our own client fail at once and for good. The next request opens another one: nothing waits in a queue of
 * ioredis, no timer keeps the process alive, and a Redis that is available again is found within one request.
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

/** Whether a value is a client of ioredis. */
export function isIoredis(value: object): value is Ioredis {
  const { pipeline, call, status } = value as Record<string, unknown>;
  return typeof pipeline === 'function' && typeof call === 'function' && typeof status === 'string';
}

/** Adapts a client of ioredis. */
export function ioredisClient(raw: Ioredis): RedisClient {
  const isCluster = raw.isCluster === true;
  const self: RedisClient = {
    raw,
    // A lazy client waits for its first command; a cluster may stay at `connect`.
    isUp: () => ['ready', 'wait', ...(isCluster ? ['connect'] : [])].includes(raw.status),
    async send(list) {
      const commands = list.map(([name = '', ...args]) => [name.toLowerCase(), ...args] as const);
      // In a cluster, a pipeline takes the keys of one node only. Each copies all scripts that BullMQ has defined.
      if (isCluster || commands.length === 1) {
        return settle(commands.map((command) => () => call(raw, command)));
      }
      const replies = (await raw.pipeline(commands).exec()) ?? [];
      return commands.map((_, index) => {
        const [error, reply] = replies[index] ?? [redisError('LOST'), null];
        return error === null || error === undefined ? { reply } : { error };
      });
    },
    masters: () => (isCluster ? (raw.nodes?.('master') ?? []).map(ioredisClient) : [self]),
    watch: (listener) => watchEvents(raw, listener, { up: ['ready'], down: ['close', 'end'] }),
    address: () => ioredisAddress((raw.options ?? {}) as IoredisOptions),
  };
  return self;
}

function call(raw: Ioredis, [name, ...args]: readonly [string, ...string[]]): Promise<unknown> {
  // A cluster of version 5 does not see the key of this command, and would ask any node.
  if (raw.isCluster === true && name === 'memory') throw redisError('UNKNOWNCOMMAND');
  return raw.call(name, ...args);
}

function ioredisAddress({ sentinels, name, ...address }: IoredisOptions): string | null {
  if (!Array.isArray(sentinels)) return addressOf(address);
  const sentinel = addressOf({ port: 26_379, ...sentinels[0], db: undefined })?.split('/')[2];
  const database = typeof address.db === 'number' ? address.db : 0;
  return sentinel === undefined ? null : `redis-sentinel://${sentinel}/${String(name)}/${database}`;
}

async function loadIoredis() {
  try {
    return await import('ioredis');
  } catch (error) {
    throw failedImport('ioredis', error, RedisError);
  }
}

/**
 * Opens a client of our own and connects it.
 *
 * @throws RedisError or an error of ioredis with the reason
 */
export async function openIoredis(address: IoredisAddress): Promise<OwnClient> {
  const { Redis } = await loadIoredis();
  const { url, ...options } = typeof address === 'string' ? { url: address } : address;
  const raw =
    typeof url === 'string'
      ? new Redis(url, { ...options, ...OVERRIDES })
      : new Redis({ ...options, ...OVERRIDES });
  let reason: unknown = null;
  // Without a listener, an error event would end the host's process. `connect()` itself gives no reason.
  raw.on('error', (error: unknown) => {
    reason = error;
  });
  // A monitor must not keep a process alive that has nothing else to do.
  raw.on('connect', () => {
    const stream = raw.stream as Partial<Socket> | null;
    if (stream?.push !== undefined) limitReplies(stream as Socket);
    stream?.unref?.();
  });
  const late = setTimeout(() => {
    reason ??= redisError('TimeoutError');
    raw.disconnect();
  }, CONNECT_TIMEOUT).unref();
  try {
    await raw.connect();
    // If Redis refuses another database, ioredis stays in the first one, which has other queues.
    if (raw.options.db) await raw.select(raw.options.db);
  } catch (error) {
    raw.disconnect();
    throw reason ?? error;
  } finally {
    clearTimeout(late);
  }
  return { client: ioredisClient(raw as unknown as Ioredis), end: () => raw.disconnect() };
}
