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
import type { HistoryStore, StoreEngine } from '../../history/store.ts';
import { readCollect, refuseBareTexts, storeOption } from '../../history/store-parts.ts';
import { createStoredHistory } from '../../history/stored/create-stored-history.ts';
import { type RedactFunction, type RedactOptions, readSourceRedactor } from '../../redact.ts';
import { markBundle } from '../../source/bundles.ts';
import type { MonitorSources } from '../../source.ts';
import type { Broker } from './broker.ts';
import { type ClosableParts, createCelerySource, type LiveOptions, valueLengthOf } from './celery-source.ts';
import type { OnReady } from './collection.ts';
import { connectionsOf, type EventQueueOptions } from './connect.ts';
import type { ResultBackend } from './result-backend.ts';
import { type CelerySettings, checkSettings } from './settings.ts';
import { createLedSource } from './shared/shared-source.ts';
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
type ResolvedOptions = ReturnType<typeof resolveOptions>;

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
function resolveOptions(given: unknown) {
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

/** What `celerySources` returns: every part, and `close`. */
export type CelerySources = Required<Omit<MonitorSources, 'redact'>> & Pick<MonitorSources, 'redact'>;

/**
 * Shows a Celery deployment on Redis or RabbitMQ. It listens to Celery's events and to new results, reads stored
 * results, queues and schedules, and asks the workers for what only they know. Unless the host allows more, it
 * writes only keys for the workers' replies in Redis, or declares only queues of its own in RabbitMQ, and removes them.
 * In a database of the app it only runs SELECT.
 *
 * It connects at once and retries until it succeeds. Until then, answers are 503; during a later outage, the
 * last data is shown with `ok: false`. Workers report most with `-E`, and clients report what they send only
 * with `task_send_sent_event = True`; the hints of the components name the setting that hides data.
 *
 * @example
 * app.use('/monitor', createMonitorRouter({
 *   sources: celerySources({ broker: 'redis://localhost:6379/0', backend: 'redis://localhost:6379/1' }),
 *   authorize: (request) => request.user?.isAdmin === true,
 * }));
 *
 * @throws TypeError for unknown or wrong options; its message says what to write
 * @throws Error for a package that is needed and not installed
 */
export function celerySources(options: CelerySourcesOptions): CelerySources {
  const resolved = resolveOptions(options);
  if (resolved.store !== null)
    return markBundle(createStoredSource(resolved, resolved.store), options.redact);
  const { close, ...connections } = connectionsOf(resolved);
  const source = createCelerySource({ ...resolved, ...connections, closeConnections: close });
  return markBundle(source, options.redact);
}

/** @throws TypeError that says what to write; it never contains a URL */
function createStoredSource(options: ResolvedOptions, store: StoreEngine): ClosableParts {
  const { name, collect, retention, redactor, settings } = options;
  const connect = (): LiveOptions => {
    const { close, ...connections } = connectionsOf(options);
    return { ...options, ...connections, valueLength: valueLengthOf(retention), closeConnections: close };
  };
  // Wrong options throw here, even if this instance does not connect yet.
  const live = collect ? connect() : null;
  const history = createStoredHistory(
    { ...retention, redactor, eventless: live !== null && live.broker === null },
    {
      store,
      source: name,
      deployment: live === null ? null : deploymentId({ ...live, settings }),
      hearing: 'nothing',
      isReadOnly: !collect,
    },
  );
  const hasConsumers = live?.broker?.queues?.listsMessages === false;
  return createLedSource({ name, history, connect: collect ? connect : null, hasConsumers });
}

/** Addresses of this machine, which mean the same one. */
const LOCAL = /^(?:127\.0\.0\.1|\[::1\])(?=:|$)/;

/**
 * Host, port and database of the broker, or else of the result backend, without user and password; also the prefix that
 * keeps apps in one database apart.
 *
 * @returns `null` if a client of the host does not reveal its address
 */
function deploymentId({
  broker,
  backend,
  settings,
}: {
  readonly broker: Pick<Broker, 'describe'> | null;
  readonly backend: Pick<ResultBackend, 'describe'> | null;
  readonly settings: CelerySettings;
}): string | null {
  const description = broker?.describe() ?? backend?.describe();
  if (description === undefined || description.url === null) return null;
  const transport =
    broker === null ? settings.result_backend_transport_options : settings.broker_transport_options;
  const parts = [
    addressesOf(description.url),
    description.config.database,
    transport?.master_name,
    transport?.global_keyprefix,
  ];
  return parts.filter((part) => part !== undefined && part !== '').join(' ');
}

/** Sentinels may be named in any order. A scheme says how to connect, but not to what. */
function addressesOf(urls: string): string {
  return urls
    .split(';')
    .map((url) => url.replace(/^[\w+]+:\/\//, '').replace(/\/\d+$/, ''))
    .map((server) => server.replace(LOCAL, 'localhost'))
    .toSorted()
    .join(';');
}
