import {
  asGiven,
  type OptionHints,
  type OptionTable,
  readOptions,
  sourceName,
  text,
  wrongOption,
} from '../../../check-options.ts';
import type { HistoryStore, StoreEngine } from '../../../history/store.ts';
import { readCollect, refuseBareTexts, storeOption } from '../../../history/store-parts.ts';
import {
  type RedactFunction,
  type RedactOptions,
  type Redactor,
  readSourceRedactor,
} from '../../../redact.ts';
import { addressOf } from '../../../redis/client.ts';
import type { IoredisAddress } from '../../../redis/ioredis.ts';
import { hostClient } from '../../../redis/on-demand-reader.ts';
import { requirePackage } from '../../../server-problems.ts';
import { isRecord } from '../../../values.ts';

/**
 * The members of a BullMQ `Queue` that this source uses. Queues of bullmq 5 and 6 on Redis have them. Only the
 * queue's name and connection are used; nothing is written to it, and it is not closed.
 */
export interface BullMQQueue {
  readonly name: string;
  /** Prefix and name, as `bull:mail`. */
  readonly qualifiedName: string;
  /** `connection` is the client that several queues may share. */
  readonly opts?: { readonly connection?: unknown };
  /** bullmq 5: a promise of its client. */
  readonly client?: unknown;
  /** bullmq 6: the object that has the client. */
  getBackend?(): unknown;
}

/** Options of `bullmqSources`: either `queues` or `connection`. */
export interface BullMQSourcesOptions {
  /**
   * The app's own queues, made by `new Queue()` of bullmq 5 or 6; no two may have the same name. Their
   * connections are used and left open. Queues on different Redis servers need a source each, because a
   * source is unavailable when one of its servers is.
   */
  readonly queues?: readonly BullMQQueue[];
  /**
   * The Redis in which to find queues: a URL (`redis://user:password@host:6379/0`, `rediss://…`) or options of
   * ioredis, as in BullMQ's own `connection`; both need the package ioredis. Or a client of ioredis (also a Cluster)
   * or node-redis, which is used and never closed. While there are requests, new queues appear within 15 seconds.
   */
  readonly connection?: string | object;
  /** Prefix of the queues' keys, with `connection`. Default `bull`. */
  readonly prefix?: string;
  /** Name of this source in answers. 1 to 64 of `A-Z a-z 0-9 _ -`. Default `bullmq`. */
  readonly name?: string;
  /**
   * Which values are secrets: an object extends the built-in rules, a function replaces them. Each text is redacted
   * once, before it is first shown or searched. `false`: texts are kept and shown as they are. Default: the built-in
   * rules.
   */
  readonly redact?: RedactOptions | RedactFunction | false;
  /**
   * A database that records jobs, so that they remain after BullMQ removes them: `sqliteStore(path)` of
   * `express-task-monitor/sqlite`, or `postgresStore(client)` of `express-task-monitor/postgres`. One instance then
   * reads the event streams all the time, and each job that they mention. Default: none; removed jobs disappear.
   */
  readonly store?: HistoryStore;
  /**
   * Whether this instance may record jobs. Of all instances that share a store, one records for the others; when it
   * ends, another one takes over. `false`: this one never does, and reads the store. Default: true, unless the store is
   * `readOnly`.
   */
  readonly collect?: boolean;
}

/** One of the host's queues. */
export interface GivenQueue {
  readonly name: string;
  readonly prefix: string;
  /** The client that it shares with other queues, or else the queue itself. */
  readonly owner: object;
  /** A client, or options of one. */
  readonly connection: unknown;
  /** Its client, or a promise of it. */
  client(): unknown;
}

/** Checked options. */
export interface ResolvedOptions {
  readonly name: string;
  /** `null`: texts are not redacted here. */
  readonly redactor: Redactor | null;
  /** `null`: jobs are not recorded. */
  readonly store: StoreEngine | null;
  readonly collect: boolean;
  readonly from:
    | { readonly kind: 'queues'; readonly queues: readonly GivenQueue[] }
    | { readonly kind: 'client'; readonly client: object; readonly prefix: string }
    | { readonly kind: 'address'; readonly address: IoredisAddress; readonly prefix: string };
}

/** The function that takes these options, for error messages. */
const CALLER = 'bullmqSources';

const TABLE = {
  queues: asGiven,
  connection: asGiven,
  prefix: text((prefix) => prefix !== '', "the prefix of the queues' keys, such as 'bull'", null),
  name: sourceName('bullmq'),
  redact: readSourceRedactor,
  store: storeOption,
  collect: asGiven,
} satisfies OptionTable<BullMQSourcesOptions>;

/** Common mistakes in names of options, and the correct names. */
const HINTS: OptionHints = {
  queue: 'queues: [queue]',
  redis: 'connection',
  url: 'connection',
  client: 'connection',
  broker: 'connection',
  host: 'connection: { host }',
  port: 'connection: { port }',
};

/** Members of a pool of node-postgres or of its options, which neither clients of Redis nor options of ioredis have. */
const POSTGRES_ONLY = ['connectionString', 'user', 'totalCount'];

const EXAMPLE = "{ queues: [mailQueue] } or { connection: 'redis://host:6379/0' }";

/**
 * Checks options and sets defaults.
 *
 * @throws TypeError that says what to write; it never contains a URL or a password
 */
export function resolveOptions(given: unknown): ResolvedOptions {
  const options = readOptions(CALLER, given, TABLE, { example: EXAMPLE, hints: HINTS });
  const { queues, connection, prefix, name, redact: redactor, store } = options;
  refuseBareTexts(CALLER, store, redactor);
  const common = { name, redactor, store, collect: readCollect(CALLER, options.collect, store) };
  if ((queues === undefined) === (connection === undefined)) {
    throw new TypeError(`${CALLER}: give either 'queues' or 'connection': ${EXAMPLE}.`);
  }
  if (queues === undefined) return { ...common, from: checkConnection(connection, prefix ?? 'bull') };
  if (prefix !== null) {
    throw new TypeError(`${CALLER}: remove 'prefix': each of the queues has its own.`);
  }
  return { ...common, from: { kind: 'queues', queues: checkQueues(queues) } };
}

function checkQueues(queues: unknown): readonly GivenQueue[] {
  if (!Array.isArray(queues) || queues.length === 0) {
    throw wrongOption(
      CALLER,
      'queues',
      'an array of one or more queues made by new Queue() of bullmq',
      queues,
    );
  }
  const given = queues.map(checkQueue);
  const names = given.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    throw new TypeError(
      `${CALLER}: two queues are called ${JSON.stringify(twice.slice(0, 80))}, so ids of their jobs could be equal. ` +
        "Make a separate source with its own name for one of them: bullmqSources({ name: 'other', queues }).",
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
    if (isOnPostgres(queue)) throw onPostgres(`queues[${index}]`);
    const expected = 'a queue made by new Queue() of bullmq 5 or 6, on Redis';
    throw wrongOption(CALLER, `queues[${index}]`, expected, value);
  }
  const connection = queue.opts?.connection;
  return {
    name,
    prefix: qualifiedName.slice(0, -name.length - 1),
    owner: hostClient(connection)?.raw ?? queue,
    connection,
    client: () => clientOf(queue),
  };
}

/** Whether it is a queue of bullmq 6 with the backend for PostgreSQL, whose connection has a pool. */
function isOnPostgres(queue: Partial<BullMQQueue>): boolean {
  const { connection } = (queue.getBackend?.() ?? {}) as { connection?: { pool?: unknown } };
  return connection?.pool !== undefined;
}

function onPostgres(option: string): TypeError {
  return new TypeError(
    `${CALLER}: '${option}' is on PostgreSQL, and this source reads BullMQ on Redis only. ` +
      'For jobs in PostgreSQL, write a source of your own (docs/writing-a-source.md).',
  );
}

/** The queue's client or a promise of it; `undefined` if the queue is not on Redis. */
function clientOf(queue: Partial<BullMQQueue>): unknown {
  return queue.client ?? (queue.getBackend?.() as { readonly client?: unknown } | undefined)?.client;
}

function addressed(address: IoredisAddress, prefix: string): ResolvedOptions['from'] {
  requirePackage(CALLER, 'ioredis');
  return { kind: 'address', address, prefix };
}

function checkConnection(connection: unknown, prefix: string): ResolvedOptions['from'] {
  if (typeof connection === 'string') {
    if (/^(rediss?|unix):\/\//i.test(connection) && URL.canParse(connection)) {
      return addressed(connection, prefix);
    }
    if (/^postgres(ql)?:\/\//i.test(connection)) throw onPostgres('connection');
  } else if (isRecord(connection)) {
    if (hostClient(connection) !== null) return { kind: 'client', client: connection, prefix };
    if (POSTGRES_ONLY.some((name) => name in connection)) throw onPostgres('connection');
    const isPlain = [Object.prototype, null].includes(Object.getPrototypeOf(connection));
    if (isPlain) return addressed(connection, prefix);
  }
  const expected =
    "a URL such as 'redis://host:6379/0', options of ioredis such as { host, port }, or a client of ioredis or node-redis";
  throw wrongOption(CALLER, 'connection', expected, connection);
}

/**
 * Identifies the queues in a store that may keep several deployments: server, database and prefix.
 *
 * @returns `null` if a client of the host does not reveal its address
 */
export function deploymentOf({ from }: Pick<ResolvedOptions, 'from'>): string | null {
  if (from.kind !== 'queues')
    return joinedNames([from.kind === 'client' ? from.client : from.address], [from.prefix]);
  return joinedNames(
    from.queues.map(({ connection }) => connection),
    from.queues.map(({ prefix }) => prefix),
  );
}

function joinedNames(connections: readonly unknown[], prefixes: readonly string[]): string | null {
  const servers = connections.map(serverOf);
  if (servers.includes(null)) return null;
  return [...new Set(servers), ...new Set(prefixes)].toSorted().join(' ');
}

/** Host, port and database, without user and password. */
function serverOf(connection: unknown): string | null {
  const url = urlOf(connection);
  if (url === null || !URL.canParse(url)) return null;
  const { hostname, port, pathname } = new URL(url);
  const host = hostname.replace(/^(?:127\.0\.0\.1|\[::1\])$/, 'localhost');
  return `${host}:${port || 6_379}${pathname === '' || pathname === '/' ? '/0' : pathname}`;
}

function urlOf(connection: unknown): string | null {
  if (typeof connection === 'string') return connection;
  const client = hostClient(connection);
  if (client !== null) return client.address();
  return isRecord(connection) ? addressOf(connection) : null;
}
