import { hostClient } from '../../../redis/host-client.ts';
import type { IoredisAddress } from '../../../redis/ioredis.ts';

/**
 * What this source uses of a BullMQ `Queue`; one of bullmq 5 or 6 on Redis fits. Only its connection and its
 * name are used: it is neither written to nor closed.
 */
export interface BullMQQueue {
  readonly name: string;
  /** Prefix and name, as `bull:mail`. */
  readonly qualifiedName: string;
  /** Read for the client that several queues may share. */
  readonly opts?: { readonly connection?: unknown };
  /** bullmq 5: its client, once it is connected. */
  readonly client?: unknown;
  /** bullmq 6: what holds the client. */
  getBackend?(): unknown;
}

/** What `bullmqSources` takes: either `queues` or `connection`. */
export interface BullMQSourcesOptions {
  /**
   * The app's own queues, made by `new Queue()` of bullmq 5 or 6, each name once. Their connections are used
   * and left open. Give queues on different Redis servers sources of their own: one that is away makes the
   * whole source so.
   */
  readonly queues?: readonly BullMQQueue[];
  /**
   * Where Redis is, to find the queues there: `redis://user:password@host:6379/0`, `rediss://…`, options of
   * ioredis as in BullMQ's own `connection`, for which the package ioredis is needed; or a client of ioredis
   * (also a Cluster) or node-redis, which is used and never closed. New queues are shown within 15 seconds
   * of somebody asking.
   */
  readonly connection?: string | object;
  /** Prefix of the queues' keys, with `connection`. Default `bull`. */
  readonly prefix?: string;
  /** Name of this source in answers. 1 to 64 of `A-Z a-z 0-9 _ -`. Default `bullmq`. */
  readonly name?: string;
}

/** What is needed of one of the host's queues. */
export interface GivenQueue {
  readonly name: string;
  readonly prefix: string;
  /** The client that it was made with and shares with others, or the queue itself. */
  readonly owner: object;
  /** Its client of whatever kind, or a promise of it. */
  client(): unknown;
}

/** Checked options. */
export interface ResolvedOptions {
  readonly name: string;
  readonly from:
    | { readonly kind: 'queues'; readonly queues: readonly GivenQueue[] }
    | { readonly kind: 'client'; readonly client: object; readonly prefix: string }
    | { readonly kind: 'address'; readonly address: IoredisAddress; readonly prefix: string };
}

const OPTIONS: Readonly<Record<keyof BullMQSourcesOptions, true>> = {
  queues: true,
  connection: true,
  prefix: true,
  name: true,
};

/** Names that are tried instead of an option, and what to write. */
const HINTS: Readonly<Record<string, string>> = {
  queue: 'queues: [queue]',
  redis: 'connection',
  url: 'connection',
  client: 'connection',
  broker: 'connection',
  host: 'connection: { host }',
  port: 'connection: { port }',
};

const USAGE =
  "write bullmqSources({ queues: [mailQueue] }) or bullmqSources({ connection: 'redis://host:6379/0' }).";

/**
 * Checks and completes options.
 *
 * @throws TypeError that says what to write; it never holds a URL or a password
 */
export function resolveOptions(options: unknown): ResolvedOptions {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new TypeError(`bullmqSources: ${USAGE}`);
  }
  for (const key of Object.keys(options)) checkKey(key);
  const { queues, connection, prefix, name = 'bullmq' } = options as Readonly<Record<string, unknown>>;
  if (typeof name !== 'string' || !/^[\w-]{1,64}$/.test(name)) {
    throw new TypeError('bullmqSources: name must be 1 to 64 letters, digits, _ or -, such as bullmq.');
  }
  if ((queues === undefined) === (connection === undefined)) {
    throw new TypeError(`bullmqSources: give either queues or connection: ${USAGE}`);
  }
  if (queues !== undefined) {
    if (prefix !== undefined) {
      throw new TypeError('bullmqSources: leave prefix out: each of the queues has its own.');
    }
    return { name, from: { kind: 'queues', queues: checkQueues(queues) } };
  }
  if (prefix !== undefined && (typeof prefix !== 'string' || prefix === '')) {
    throw new TypeError(
      "bullmqSources: prefix must be the prefix that the queues are made with, such as 'bull'.",
    );
  }
  return { name, from: checkConnection(connection, prefix ?? 'bull') };
}

function checkKey(key: string): void {
  if (Object.hasOwn(OPTIONS, key)) return;
  const hint = Object.hasOwn(HINTS, key) ? HINTS[key] : undefined;
  throw new TypeError(
    `bullmqSources: there is no option ${JSON.stringify(key.slice(0, 40))}. ` +
      (hint === undefined ? `Its options are ${Object.keys(OPTIONS).join(', ')}.` : `Write ${hint} instead.`),
  );
}

function checkQueues(queues: unknown): readonly GivenQueue[] {
  if (!Array.isArray(queues) || queues.length === 0) {
    throw new TypeError('bullmqSources: queues must be an array of queues made by new Queue() of bullmq.');
  }
  const given = queues.map(checkQueue);
  const names = given.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    throw new TypeError(
      `bullmqSources: two queues are called ${JSON.stringify(twice.slice(0, 80))}, so that ids of their jobs would ` +
        "be the same. Give one of them a source of its own, with a name: bullmqSources({ name: 'other', queues }).",
    );
  }
  return given;
}

function checkQueue(value: unknown, index: number): GivenQueue {
  const queue: Partial<BullMQQueue> = typeof value === 'object' && value !== null ? value : {};
  const { name, qualifiedName } = queue;
  const isQueue =
    typeof name === 'string' &&
    name !== '' &&
    !name.includes(':') &&
    typeof qualifiedName === 'string' &&
    qualifiedName.endsWith(`:${name}`) &&
    typeof clientOf(queue) === 'object';
  if (!isQueue) {
    throw new TypeError(
      `bullmqSources: queues[${index}] must be a queue made by new Queue() of bullmq 5 or 6, on Redis.`,
    );
  }
  const connection = queue.opts?.connection;
  return {
    name,
    prefix: qualifiedName.slice(0, -name.length - 1),
    owner: hostClient(connection)?.raw ?? queue,
    client: () => clientOf(queue),
  };
}

/** The queue's client or a promise of it; `undefined` if the queue is not on Redis. */
function clientOf(queue: Partial<BullMQQueue>): unknown {
  return queue.client ?? (queue.getBackend?.() as { readonly client?: unknown } | undefined)?.client;
}

function checkConnection(connection: unknown, prefix: string): ResolvedOptions['from'] {
  if (typeof connection === 'string') {
    if (/^(rediss?|unix):\/\//i.test(connection) && URL.canParse(connection)) {
      return { kind: 'address', address: connection, prefix };
    }
  } else if (typeof connection === 'object' && connection !== null && !Array.isArray(connection)) {
    if (hostClient(connection) !== null) return { kind: 'client', client: connection, prefix };
    const isPlain = [Object.prototype, null].includes(Object.getPrototypeOf(connection));
    if (isPlain) return { kind: 'address', address: connection as Record<string, unknown>, prefix };
  }
  throw new TypeError(
    "bullmqSources: connection must be a URL such as 'redis://host:6379/0', options of ioredis such as " +
      '{ host, port }, or a client of ioredis or node-redis.',
  );
}
