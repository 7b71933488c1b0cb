import {
  asGiven,
  callback,
  flag,
  names,
  type OptionHints,
  type OptionTable,
  readOptions,
  sourceName,
} from '../../check-options.ts';
import { type RetentionOptions, retentionOption } from '../../history/retention.ts';
import type { HistoryStore } from '../../history/store.ts';
import { readCollect, refuseBareTexts, storeOption } from '../../history/store-parts.ts';
import { type RedactFunction, type RedactOptions, readSourceRedactor } from '../../redact.ts';
import type { OnReady } from './collection.ts';
import type { EventQueueOptions } from './connect.ts';
import { type CelerySettings, checkSettings } from './settings.ts';
import { type CelerySqlOptions, readSqlOptions } from './sql/sql-options.ts';

/** Options of `celerySources`. */
export interface CelerySourcesOptions {
  /**
   * The broker, either as a URL or as a client; anything else throws, with what to write.
   *
   * URL of RabbitMQ: `amqp://user:password@host:5672/vhost` or `amqps://…`, which needs the package `amqplib` (2.1 or
   * later). Several URLs are separated by `;`, and the next one is tried when a host does not answer.
   *
   * URL of Redis: `redis://user:password@host:6379/0`, `rediss://…`, `redis+socket:///path`, or
   * `sentinel://host:26379/0;sentinel://…` with `settings.broker_transport_options.master_name`. In a list of
   * fail-over URLs, only the first one is used.
   *
   * Client of Redis: made by `createClient` of the package `redis` (5 or 6) or by its `createSentinel` (6). It is
   * duplicated and never closed.
   *
   * Client of RabbitMQ: a connection made by `connect` of `amqplib`, with its recovery; channels are opened on it,
   * and it is never closed. Or a function that makes a connection, `() => connect(…)`; it is called for each
   * connection that is needed, and again whenever one is lost.
   *
   * Names of channels contain the database number. It comes from the URL; for a client, from `settings.broker_url` or
   * else from the client's own options.
   *
   * Default: `settings.broker_url`. If that is neither Redis nor RabbitMQ, only results are read.
   */
  readonly broker?: unknown;
  /** Bounds of the queue in which RabbitMQ collects events for this instance. Only with RabbitMQ. */
  readonly eventQueue?: EventQueueOptions;
  /**
   * The result backend: a Redis, in the same forms as a broker, or `django-db` or `db+…` with the option `sql`. It
   * has final states that events miss, so set it if the app has one. `null`: do not read results. Default:
   * `settings.result_backend`; without either there is none, as in Celery itself.
   */
  readonly backend?: unknown;
  /**
   * The database in which the app keeps results (`django-db`, `db+…`) or the schedules of django-celery-beat. The
   * source only reads it, through a function that runs statements on your own client. Results are read from it unless
   * `backend` or `settings.result_backend` names another backend. Default: none.
   */
  readonly sql?: CelerySqlOptions;
  /** Name of this source in answers. 1 to 64 of `A-Z a-z 0-9 _ -`. Default `celery`. */
  readonly name?: string;
  /** The Celery app's configuration, under Celery's own names. Other keys are ignored. */
  readonly settings?: CelerySettings;
  /** Limits of the history in memory. */
  readonly retention?: RetentionOptions;
  /** Names of queues that the source does not find itself. Default none. */
  readonly queues?: readonly string[];
  /**
   * Whether to read the results that are already stored at the start, a few at a time. If false, the history
   * starts empty; single tasks are still looked up. Default true.
   */
  readonly readResults?: boolean;
  /**
   * Whether to use remote control to request data that only workers have: pool, queues, registered tasks, running
   * tasks. The user needs permission to publish to the workers and to keep their replies for a moment. Default true.
   * Without the permission, these fields are `null`.
   */
  readonly control?: boolean;
  /**
   * Whether to enable events on workers that send none, until they restart. This is the only option that changes the
   * behaviour of workers. Default false.
   */
  readonly enableEvents?: boolean;
  /**
   * Which values are secrets: an object extends the built-in rules, a function replaces them. Each text is redacted
   * once, before it is first shown or searched. `false`: texts are kept and shown as they are. Default: the built-in
   * rules.
   */
  readonly redact?: RedactOptions | RedactFunction | false;
  /**
   * A database that keeps the history: `sqliteStore(path)` of `express-task-monitor/sqlite`, or
   * `postgresStore(client)` of `express-task-monitor/postgres`. It survives restarts and is shared by all instances.
   * Default: none; the history ends with the process.
   */
  readonly store?: HistoryStore;
  /**
   * Called about three seconds after this instance has connected to broker and result backend, once, with what it has
   * heard by then: `({ source, workers, reporting }) => console.log(…)`. Default: only a line of `DEBUG`.
   */
  readonly onReady?: OnReady;
  /**
   * Whether this instance may collect. Of all instances that share a store, one collects for the others; when it ends,
   * another one takes over. `false`: this one never does, and answers from the store. Default: true, unless the store is
   * `readOnly`.
   */
  readonly collect?: boolean;
}

/** The function that takes these options, for error messages. */
const CALLER = 'celerySources';

/** Options that choose connections are checked where these are chosen. */
const TABLE = {
  broker: asGiven,
  backend: asGiven,
  name: sourceName('celery'),
  settings: checkSettings,
  retention: retentionOption('{ maxTasks: 100_000 }'),
  queues: names("names of queues, such as ['celery', 'mail']"),
  readResults: flag(true),
  control: flag(true),
  enableEvents: flag(false),
  redact: readSourceRedactor,
  store: storeOption,
  collect: asGiven,
  sql: asGiven,
  eventQueue: asGiven,
  onReady: callback<OnReady>('({ workers }) => console.log(workers)'),
} satisfies OptionTable<CelerySourcesOptions>;

/** {@link CelerySourcesOptions}, checked and complete, except for those that choose connections. */
export type ResolvedOptions = ReturnType<typeof resolveOptions>;

/** Common mistakes in names of options, and the correct names. */
const HINTS: OptionHints = {
  url: 'broker',
  redis: 'broker',
  amqp: 'broker',
  rabbitmq: 'broker',
  broker_use_ssl: 'settings: { broker_use_ssl }',
  broker_heartbeat: 'settings: { broker_heartbeat }',
  client: 'broker',
  brokerUrl: 'broker',
  broker_url: 'broker',
  backendUrl: 'backend',
  resultBackend: 'backend',
  result_backend: 'backend',
  conf: 'settings',
  config: 'settings',
  broker_transport_options: 'settings: { broker_transport_options }',
  result_backend_transport_options: 'settings: { result_backend_transport_options }',
  event_exchange: 'settings: { event_exchange }',
  global_keyprefix: 'settings: { broker_transport_options: { global_keyprefix } }',
  prefix: 'settings: { broker_transport_options: { global_keyprefix } }',
  maxTasks: 'retention: { maxTasks }',
  task_queues: 'queues',
  enable_events: 'enableEvents',
  inspect: 'control',
  database: 'store',
  db: 'sql',
  query: 'sql: { dialect, query }',
  dialect: 'sql: { dialect, query }',
  history: 'store',
};

/**
 * Checks all options except those that choose connections, and sets defaults.
 *
 * @throws TypeError that says what to write; it never contains a URL
 */
export function resolveOptions(given: unknown) {
  const example = "{ broker: 'redis://host:6379/0' }";
  const options = readOptions(CALLER, given, TABLE, { example, hints: HINTS });
  const { redact: redactor, store, settings } = options;
  if (options.enableEvents && !options.control) {
    throw new TypeError(`${CALLER}: 'enableEvents' needs remote control. Remove control: false.`);
  }
  refuseBareTexts(CALLER, store, redactor);
  return {
    ...options,
    redactor,
    collect: readCollect(CALLER, options.collect, store),
    sql: readSqlOptions(options.sql, settings),
  };
}
