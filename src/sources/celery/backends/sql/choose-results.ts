/** Which results are read over the option `sql`, by what the app calls its result backend. */
import type { CelerySettings } from '../../settings.ts';
import type { ResultWriter } from './result-tables.ts';

/** Names of django-celery-results (its entry points, and its classes), and of Celery's backend on SQLAlchemy. */
const DJANGO = /^(?:django-db$|django_celery_results\.backends(?:\.database)?[:.]DatabaseBackend$)/;
const SQLALCHEMY = /^(?:db|database)(?:$|\+|:)/;

/** Results in a database of the app. */
export interface SqlResults {
  /** `null`: found out by the tables that exist. */
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
  if (writer === null) return null;
  if (hasSql) return { writer };
  // The settings are those of the app, which may not be reachable. The option is what is wanted.
  if (backend === undefined) return null;
  throw new TypeError(
    "celerySources: 'backend' names results in a database of the app, which are read with the option 'sql'. Write " +
      "sql: { dialect: 'postgres', query: (text, values) => pool.query(text, values).then((result) => result.rows) }.",
  );
}

function writerOf(name: string): ResultWriter | null {
  if (DJANGO.test(name)) return 'django';
  return SQLALCHEMY.test(name) ? 'sqlalchemy' : null;
}
