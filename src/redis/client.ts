/**
 * Clients of Redis by structure: those of ioredis (5 and 6, also a Cluster), of the package redis
 * (node-redis 5 and 6), and what BullMQ wraps them in. Nothing of them is imported here.
 */

/** One command as it goes to Redis: its name, then its arguments. */
export type RedisCommand = readonly [name: string, ...args: string[]];

/** What came of one command. */
export type Settled = { readonly reply: unknown } | { readonly error: unknown };

/** A client that commands can be given to. */
export interface RedisCommander {
  /** Tells clients apart. */
  readonly client: object;
  readonly isCluster: boolean;
  /** Whether it is connected, or connects by itself as soon as it is given a command. */
  isUp(): boolean;
  /** Gives it these commands at once, in this order. In a cluster, all keys must be of one slot. */
  send(list: readonly RedisCommand[]): Promise<readonly Settled[]>;
  /** The masters of a cluster that it knows; itself for any other client. */
  masters(): readonly RedisCommander[];
  /** Calls `listener` whenever the connection is up (`true`) or gone (`false`), until what it returns is called. */
  watch(listener: (up: boolean) => void): () => void;
  /** Host, port and database as people write them, without user and password; `null` when not known. */
  address(): string | null;
}

interface Emitter {
  on(event: string, listener: (...values: unknown[]) => void): unknown;
  off(event: string, listener: (...values: unknown[]) => void): unknown;
}

interface Ioredis extends Emitter {
  readonly status: string;
  readonly isCluster?: boolean;
  readonly options?: unknown;
  pipeline(list: readonly (readonly string[])[]): { exec(): Promise<readonly [unknown, unknown][] | null> };
  nodes?(role: 'master'): readonly Ioredis[];
}

interface NodeRedis extends Emitter {
  readonly isReady?: boolean;
  readonly isOpen?: boolean;
  readonly options?: unknown;
  sendCommand(...args: readonly unknown[]): Promise<unknown>;
  /** Of a cluster. */
  readonly masters?: readonly NodeRedisMaster[];
  nodeClient?(master: NodeRedisMaster): unknown;
}

interface NodeRedisMaster {
  readonly address?: string;
}

/** @returns `null` for what is no client that is known here */
export function commanderOf(value: unknown): RedisCommander | null {
  if (typeof value !== 'object' || value === null) return null;
  // What BullMQ puts around a client of node-redis.
  const raw: unknown = (value as { raw?: unknown }).raw;
  if (isNodeRedis(raw)) return nodeRedisCommander(raw);
  if (isIoredis(value)) return ioredisCommander(value);
  return isNodeRedis(value) ? nodeRedisCommander(value) : null;
}

function isIoredis(value: object): value is Ioredis {
  const { pipeline, call, status } = value as Record<string, unknown>;
  return typeof pipeline === 'function' && typeof call === 'function' && typeof status === 'string';
}

function isNodeRedis(value: unknown): value is NodeRedis {
  if (typeof value !== 'object' || value === null) return false;
  const { sendCommand, pipeline, on } = value as Record<string, unknown>;
  return typeof sendCommand === 'function' && typeof pipeline !== 'function' && typeof on === 'function';
}

function ioredisCommander(client: Ioredis): RedisCommander {
  const isCluster = client.isCluster === true;
  const self: RedisCommander = {
    client,
    isCluster,
    // A lazy client waits for its first command; a cluster may stay at `connect`.
    isUp: () =>
      client.status === 'ready' || client.status === 'wait' || (isCluster && client.status === 'connect'),
    async send(list) {
      const pipeline = client.pipeline(list.map(([name, ...args]) => [name.toLowerCase(), ...args]));
      const replies = (await pipeline.exec()) ?? [];
      return list.map((_, index) => {
        const [error, reply] = replies[index] ?? [new Error('closed'), null];
        return error === null || error === undefined ? { reply } : { error };
      });
    },
    masters: () => (isCluster ? (client.nodes?.('master') ?? []).map(ioredisCommander) : [self]),
    watch: (listener) => watchEvents(client, listener, ['ready'], ['close', 'end']),
    address: () => addressOf((client.options ?? {}) as AddressOptions),
  };
  return self;
}

/** Instead of the host's own: no types of its choice, and no deadline, which would end with the writing. */
const OPTIONS = { typeMapping: {}, timeout: undefined, abortSignal: undefined };

function nodeRedisCommander(client: NodeRedis): RedisCommander {
  const isCluster = 'masters' in client;
  function sendOne([name, ...args]: RedisCommand): Promise<unknown> {
    if ('getSentinelNode' in client) return client.sendCommand(true, [name, ...args], OPTIONS);
    // The key, which tells the node: `XINFO STREAM <key>` has it behind a word.
    if (isCluster) return client.sendCommand(args[name === 'XINFO' ? 1 : 0], true, [name, ...args], OPTIONS);
    return client.sendCommand([name, ...args], OPTIONS);
  }
  function masterCommander(master: NodeRedisMaster): RedisCommander {
    return {
      ...self,
      address: () => master.address ?? null,
      async send(list) {
        const own: unknown = await client.nodeClient?.(master);
        return isNodeRedis(own) ? nodeRedisCommander(own).send(list) : self.send(list);
      },
    };
  }
  const self: RedisCommander = {
    client,
    isCluster,
    isUp: () => client.isReady ?? client.isOpen ?? true,
    async send(list) {
      // An async function, so that what is thrown at once is one of the outcomes, too.
      const settled = await Promise.allSettled(list.map(async (command) => sendOne(command)));
      return settled.map((outcome) =>
        outcome.status === 'fulfilled' ? { reply: outcome.value } : { error: outcome.reason },
      );
    },
    masters: () => (isCluster ? (client.masters ?? []).map(masterCommander) : [self]),
    watch: (listener) => watchEvents(client, listener, ['ready'], ['end', 'error']),
    address() {
      const { socket, database } = (client.options ?? {}) as { socket?: AddressOptions; database?: unknown };
      return addressOf({ ...socket, db: database });
    },
  };
  return self;
}

function watchEvents(
  client: Emitter,
  listener: (up: boolean) => void,
  ups: readonly string[],
  downs: readonly string[],
): () => void {
  const onUp = (): void => listener(true);
  const onDown = (): void => listener(false);
  for (const event of ups) client.on(event, onUp);
  for (const event of downs) client.on(event, onDown);
  return () => {
    for (const event of ups) client.off(event, onUp);
    for (const event of downs) client.off(event, onDown);
  };
}

interface AddressOptions {
  readonly host?: unknown;
  readonly port?: unknown;
  readonly path?: unknown;
  readonly db?: unknown;
  readonly tls?: unknown;
  /** Of ioredis, whose `host` then leads nowhere. */
  readonly sentinels?: unknown;
  readonly name?: unknown;
}

function addressOf({ host, port, path, db, tls, sentinels, name: group }: AddressOptions): string | null {
  const database = typeof db === 'number' ? db : 0;
  if (Array.isArray(sentinels)) {
    const [first] = sentinels as readonly AddressOptions[];
    const sentinel = addressOf({ port: 26_379, ...first, db: undefined })?.split('/')[2];
    return sentinel === undefined ? null : `redis-sentinel://${sentinel}/${String(group)}/${database}`;
  }
  if (typeof path === 'string') return `redis+socket://${path}`;
  if (typeof host !== 'string') return null;
  const name = host.includes(':') ? `[${host}]` : host;
  return `${tls ? 'rediss' : 'redis'}://${name}:${typeof port === 'number' ? port : 6379}/${database}`;
}
