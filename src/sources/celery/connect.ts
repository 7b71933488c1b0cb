/** The only place that chooses how broker, result backend and schedules are read. */
import { createRedisReader } from '../../redis/connection.ts';
import type { RedisReader } from '../../redis/reader.ts';
import { createRedisResultBackend } from './backends/redis/redis-result-backend.ts';
import type { ResultWriter } from './backends/sql/result-tables.ts';
import { createSqlResultBackend } from './backends/sql/sql-result-backend.ts';
import { amqpEndpoint, createAmqpBroker } from './brokers/amqp/broker.ts';
import { type EventQueueOptions, eventQueueOption } from './brokers/amqp/events.ts';
import { createRedisBroker } from './brokers/redis/broker.ts';
import { backendEndpoint, type DeploymentEndpoints, deploymentEndpoints } from './brokers/redis/endpoints.ts';
import { createRedbeatReader, redbeatLocation } from './brokers/redis/redbeat.ts';
import type { CollectionOptions } from './collection.ts';
import type { ResultBackend } from './result-backend.ts';
import { createDjangoReader } from './schedules/django/django-reader.ts';
import { redbeatKeys } from './schedules/redbeat-schedule.ts';
import type { CelerySettings } from './settings.ts';
import type { ResolvedSql } from './sql/sql-options.ts';
import { createSqlReader } from './sql/sql-reader.ts';

export type { EventQueueOptions };

/** Where a deployment is read from, and how everything is closed. */
type Connections = Pick<
  CollectionOptions,
  'broker' | 'backend' | 'redbeat' | 'django' | 'foreignBroker' | 'foreignBackend'
> & { close(): Promise<void> };

/**
 * Chooses by the options. Connects to nothing before something is first read.
 *
 * @throws TypeError that says what to write; it never contains a URL
 */
export function connectionsOf(given: {
  readonly broker?: unknown;
  readonly backend?: unknown;
  /** The database of the app; `null` without one. */
  readonly sql: ResolvedSql | null;
  readonly settings: CelerySettings;
  /** Names of queues to read in addition to those found. */
  readonly queues: readonly string[];
  /** Bounds of our queue in RabbitMQ, as given. */
  readonly eventQueue?: unknown;
}): Connections {
  const { broker, backend, sql, settings, queues } = given;
  const amqp = amqpEndpoint(broker, settings);
  const database = databaseOf(backend, sql, settings);
  const hasSqlResults = database.backend !== null;
  const endpoints =
    amqp === null
      ? deploymentEndpoints(broker, backend, settings, hasSqlResults)
      : { broker: null, foreignBroker: null, ...backendEndpoint(hasSqlResults ? null : backend, settings) };
  const eventQueue = eventQueueOption(given.eventQueue, { caller: 'celerySources', option: 'eventQueue' });
  if (amqp === null && given.eventQueue !== undefined) {
    throw new TypeError("celerySources: 'eventQueue' is for a broker on RabbitMQ. Remove it.");
  }
  const amqpBroker = amqp === null ? null : createAmqpBroker(amqp, settings, queues, eventQueue);
  const brokerReader = endpoints.broker === null ? null : createRedisReader('broker', endpoints.broker);
  const redisBroker =
    endpoints.broker === null || brokerReader === null
      ? null
      : createRedisBroker({ endpoint: endpoints.broker, reader: brokerReader, settings, queues });
  const redisBackend = redisBackendOf(endpoints, brokerReader, settings);
  const location = redbeatLocation(settings, endpoints.broker);
  // Redbeat uses the broker's database unless the settings name another Redis.
  const ownReader =
    location.endpoint === null || location.endpoint === endpoints.broker
      ? null
      : createRedisReader('redbeat', location.endpoint);
  const reader = location.endpoint === null ? null : (ownReader ?? brokerReader);
  return {
    broker: amqpBroker ?? redisBroker,
    backend: redisBackend ?? database.backend,
    redbeat: {
      reader: reader === null ? null : createRedbeatReader(reader, redbeatKeys(settings)),
      unreadable: location.hint,
    },
    django: database.django,
    foreignBroker: endpoints.foreignBroker,
    foreignBackend: endpoints.foreignBackend,
    async close() {
      await Promise.all([amqpBroker?.close(), redisBroker?.close()]);
      await redisBackend?.close();
      await database.close();
      await Promise.all([brokerReader?.close(), ownReader?.close()]);
    },
  };
}

/** Results and schedules in a database of the app, over one reader. */
function databaseOf(
  given: unknown,
  sql: ResolvedSql | null,
  settings: CelerySettings,
): Pick<Connections, 'backend' | 'django' | 'close'> {
  const results = chooseSqlResults(given, settings, sql !== null);
  if (sql === null) return { backend: null, django: null, close: async () => {} };
  const reader = createSqlReader(sql);
  const backend = results === null ? null : createSqlResultBackend(reader, results.writer);
  return {
    backend,
    django: createDjangoReader(reader, settings),
    async close() {
      await backend?.close();
      reader.close();
    },
  };
}

/** Broker and result backend in one database of Redis share the connection for commands. */
function redisBackendOf(
  { broker, backend }: Pick<DeploymentEndpoints, 'broker' | 'backend'>,
  brokerReader: RedisReader | null,
  settings: CelerySettings,
): ResultBackend | null {
  if (backend === null) return null;
  const isShared = broker?.server === backend.server && broker?.database === backend.database;
  const reader = (isShared ? brokerReader : null) ?? createRedisReader('result backend', backend);
  return createRedisResultBackend(backend, reader, settings);
}

/** Names of django-celery-results (its entry points, and its classes), and of Celery's backend on SQLAlchemy. */
const DJANGO = /^(?:django-db$|django_celery_results\.backends(?:\.database)?[:.]DatabaseBackend$)/;
const SQLALCHEMY = /^(?:db|database)(?:$|\+|:)/;
/** Backends that cannot be read (celery/app/backends.py). */
const UNREADABLE =
  /^(?:rpc|amqp|cache|memcache|pymemcache|django-cache|mongodb|cassandra|couchbase|couchdb|elasticsearch|riak|file|filesystem|consul|dynamodb|azureblockblob|cosmosdbsql|arangodb|s3|gs)(?=$|[:+])/;

/**
 * Decides whether results are read from the database. A backend that is elsewhere, such as Redis, is not overruled: the
 * database may be given for schedules alone.
 *
 * @param backend the option as given; `null`: do not read results
 * @param hasSql whether the option `sql` is given
 * @returns `null` when they are not
 * @throws TypeError that says what to write; it never contains a URL
 */
function chooseSqlResults(
  backend: unknown,
  { result_backend: configured }: CelerySettings,
  hasSql: boolean,
): {
  /** `null`: determined from the existing tables. */
  readonly writer: ResultWriter | null;
} | null {
  if (backend === null) return null;
  const name = backend ?? configured ?? undefined;
  if (name === undefined) return hasSql ? { writer: null } : null;
  const writer = typeof name === 'string' ? writerOf(name.trim()) : null;
  if (writer === null) {
    refuseUnreadable(backend);
    return null;
  }
  if (hasSql) return { writer };
  // The settings are those of the app, which may be unreachable. The option has priority.
  if (backend === undefined) return null;
  throw new TypeError(
    "celerySources: 'backend' names results in a database of the app, which are read with the option 'sql'. Write " +
      "sql: { dialect: 'postgres', query: (text, values) => pool.query(text, values).then((result) => result.rows) }.",
  );
}

/** The settings may name any backend; the option has priority. */
function refuseUnreadable(backend: unknown): void {
  const scheme = typeof backend === 'string' ? UNREADABLE.exec(backend.trim())?.[0] : undefined;
  if (scheme === undefined) return;
  const reason =
    scheme === 'rpc' || scheme === 'amqp'
      ? 'whose results are messages that only the client that sent the task receives'
      : 'whose results cannot be read';
  throw new TypeError(
    `celerySources: 'backend' begins with ${scheme}:, ${reason}. Set result_backend of the app to Redis and write ` +
      "backend: 'redis://host:6379/0', or to 'django-db' and write sql: { dialect, query }. To show states from events " +
      "alone, remove 'backend'.",
  );
}

function writerOf(name: string): ResultWriter | null {
  if (DJANGO.test(name)) return 'django';
  return SQLALCHEMY.test(name) ? 'sqlalchemy' : null;
}
