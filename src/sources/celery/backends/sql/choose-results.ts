/** Which results are read through the option `sql`, by the app's name of its result backend. */
import type { CelerySettings } from '../../settings.ts';
import type { ResultWriter } from './result-tables.ts';

/** Names of django-celery-results (its entry points, and its classes), and of Celery's backend on SQLAlchemy. */
const DJANGO = /^(?:django-db$|django_celery_results\.backends(?:\.database)?[:.]DatabaseBackend$)/;
const SQLALCHEMY = /^(?:db|database)(?:$|\+|:)/;
/** Backends that cannot be read (celery/app/backends.py). */
const UNREADABLE =
  /^(?:rpc|amqp|cache|memcache|pymemcache|django-cache|mongodb|cassandra|couchbase|couchdb|elasticsearch|riak|file|filesystem|consul|dynamodb|azureblockblob|cosmosdbsql|arangodb|s3|gs)(?=$|[:+])/;

/** Results in a database of the app. */
export interface SqlResults {
  /** `null`: determined from the existing tables. */
  readonly writer: ResultWriter | null;
}

/**
 * Decides whether results are read from the database. A backend that is elsewhere, such as Redis, is not overruled: the
 * database may be given for schedules alone.
 *
 * @param backend the option as given; `null`: do not read results
 * @param hasSql whether the option `sql` is given
 * @returns `null` when they are not
 * @throws TypeError that says what to write; it never contains a URL
 */
export function chooseSqlResults(
  backend: unknown,
  { result_backend: configured }: CelerySettings,
  hasSql: boolean,
): SqlResults | null {
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
