/** The option `sql` of `celerySources`: a database of the app that is only read. */
import { type KeysOf, readFunction, refuseUnknownKeys, wrongOption } from '../../../check-options.ts';
import { isRecord } from '../../../values.ts';
import type { CelerySettings } from '../settings.ts';
import { isTimeZone } from '../zones.ts';

/** The database in which the app keeps results (django-celery-results, SQLAlchemy) or schedules (django-celery-beat). */
export interface CelerySqlOptions {
  /** `mysql` is also MariaDB. Decides the placeholders: `$1`, `$2` … for `postgres`, `?` for the others. */
  readonly dialect: 'postgres' | 'mysql' | 'sqlite';
  /** Runs one statement on the host's own client; see {@link CelerySqlQuery}. */
  readonly query: CelerySqlQuery;
  /** The schema of PostgreSQL, or the database of MySQL, that has the tables. Default: the client's own. */
  readonly schema?: string;
  /**
   * Other names of tables, by their usual names: `{ celery_taskmeta: 'results' }`. Letters, digits, `_` and `$`, with
   * or without `schema.` in front. Default for SQLAlchemy: `settings.database_table_names` and
   * `database_table_schemas`.
   */
  readonly tables?: Readonly<Partial<Record<CelerySqlTable, string>>>;
  /**
   * IANA name of the zone of dates that are stored without one. Default `UTC`, which Django writes with `USE_TZ = True`
   * and Celery before 5.4 always. Write Django's `TIME_ZONE` with `USE_TZ = False`, and for SQLAlchemy the app's
   * `timezone` since Celery 5.4. Columns of PostgreSQL with a time zone need none.
   */
  readonly timezone?: string;
}

/**
 * Runs one SELECT with bound values and resolves to its rows, as objects by column.
 *
 * - `pg`: `(text, values) => pool.query(text, values).then((result) => result.rows)`
 * - `postgres`: `(text, values) => sql.unsafe(text, values)`
 * - `mysql2`: `(text, values) => pool.execute(text, values).then(([rows]) => rows)`
 * - `better-sqlite3` and `node:sqlite`: `(text, values) => db.prepare(text).all(...values)`
 *
 * One statement is under way at a time. Its values are strings.
 */
export type CelerySqlQuery = (
  text: string,
  values: string[],
) => PromiseLike<readonly object[]> | readonly object[];

/** The tables that are read, by their usual names. */
export const SQL_TABLES = [
  'django_celery_results_taskresult',
  'django_celery_results_groupresult',
  'django_celery_results_chordcounter',
  'celery_taskmeta',
  'celery_tasksetmeta',
  'django_celery_beat_periodictask',
  'django_celery_beat_periodictasks',
  'django_celery_beat_intervalschedule',
  'django_celery_beat_crontabschedule',
  'django_celery_beat_solarschedule',
  'django_celery_beat_clockedschedule',
] as const;

/** One of {@link SQL_TABLES}. */
export type CelerySqlTable = (typeof SQL_TABLES)[number];

/** A table as it is named in this database. */
export interface TableName {
  /** `null`: the client's own. */
  readonly schema: string | null;
  readonly name: string;
}

/** {@link CelerySqlOptions}, checked and complete. */
export interface ResolvedSql {
  readonly dialect: CelerySqlOptions['dialect'];
  readonly query: CelerySqlQuery;
  readonly tables: Readonly<Record<CelerySqlTable, TableName>>;
  readonly timezone: string;
}

const CALLER = 'celerySources';

const KEYS: KeysOf<CelerySqlOptions> = {
  dialect: true,
  query: true,
  schema: true,
  tables: true,
  timezone: true,
};

/** Common mistakes in names, and the correct names. */
const HINTS = {
  client: 'query: (text, values) => pool.query(text, values).then((result) => result.rows)',
  pool: 'query: (text, values) => pool.query(text, values).then((result) => result.rows)',
  url: 'query, a function of your own client,',
  type: 'dialect',
  engine: 'dialect',
  time_zone: 'timezone',
  timeZone: 'timezone',
  database: 'schema',
};

const DIALECTS: readonly unknown[] = ['postgres', 'mysql', 'sqlite'];

/** Databases allow more, if quoted; these tables do not need it. */
const NAME = '[A-Za-z_][A-Za-z0-9_$]{0,62}';
const SCHEMA = new RegExp(`^${NAME}$`);
const TABLE = new RegExp(`^(?:(${NAME})\\.)?(${NAME})$`);

/** The names of SQLAlchemy's tables in Celery's settings. */
const OF_SETTINGS = { task: 'celery_taskmeta', group: 'celery_tasksetmeta' } as const;

/**
 * @returns `null` when the option is absent
 * @throws TypeError that says what to write
 */
export function readSqlOptions(value: unknown, settings: CelerySettings): ResolvedSql | null {
  if (value === undefined || value === null) return null;
  const example = "{ dialect: 'postgres', query }";
  if (!isRecord(value)) throw wrongOption(CALLER, 'sql', `an object such as ${example}`, value);
  refuseUnknownKeys(CALLER, value, KEYS, 'sql.', HINTS);
  const { dialect, schema, timezone = 'UTC' } = value as Partial<CelerySqlOptions>;
  if (!DIALECTS.includes(dialect) || dialect === undefined)
    throw wrongOption(CALLER, 'sql.dialect', "'postgres', 'mysql' or 'sqlite'", value.dialect);
  const query = readFunction<CelerySqlQuery>(CALLER, 'sql.query', value.query, EXAMPLES[dialect]);
  if (query === null)
    throw wrongOption(CALLER, 'sql.query', `a function such as ${EXAMPLES[dialect]}`, undefined);
  if (schema !== undefined && !(typeof schema === 'string' && SCHEMA.test(schema)))
    throw wrongOption(CALLER, 'sql.schema', 'a name of letters, digits and _', schema);
  if (!isTimeZone(timezone))
    throw wrongOption(
      CALLER,
      'sql.timezone',
      'the IANA name of a time zone, such as Europe/Prague',
      timezone,
    );
  return { dialect, query, timezone, tables: tablesOf(value.tables, schema ?? null, settings) };
}

const EXAMPLES = {
  postgres: '(text, values) => pool.query(text, values).then((result) => result.rows)',
  mysql: '(text, values) => pool.execute(text, values).then(([rows]) => rows)',
  sqlite: '(text, values) => db.prepare(text).all(...values)',
};

function tablesOf(
  given: unknown,
  schema: string | null,
  settings: CelerySettings,
): Readonly<Record<CelerySqlTable, TableName>> {
  const names: Record<string, TableName> = {};
  for (const table of SQL_TABLES) names[table] = { schema, name: table };
  for (const [key, table] of Object.entries(OF_SETTINGS)) {
    const name = memberOf(settings.database_table_names, key);
    const own = memberOf(settings.database_table_schemas, key);
    const path = `${own === undefined ? '' : `${String(own)}.`}${String(name ?? table)}`;
    names[table] = tableName(path, schema, 'settings.database_table_names and database_table_schemas');
  }
  if (given === undefined) return names as Record<CelerySqlTable, TableName>;
  const known = Object.fromEntries(SQL_TABLES.map((table) => [table, true]));
  if (!isRecord(given))
    throw wrongOption(CALLER, 'sql.tables', "an object such as { celery_taskmeta: 'results' }", given);
  refuseUnknownKeys(CALLER, given, known, 'sql.tables.');
  for (const [table, name] of Object.entries(given))
    if (name !== undefined) names[table] = tableName(name, schema, `sql.tables.${table}`);
  return names as Record<CelerySqlTable, TableName>;
}

function memberOf(group: unknown, key: string): unknown {
  const value = isRecord(group) ? group[key] : undefined;
  return value ?? undefined;
}

function tableName(value: unknown, schema: string | null, option: string): TableName {
  const match = typeof value === 'string' ? TABLE.exec(value) : null;
  if (match === null)
    throw wrongOption(
      CALLER,
      option,
      "a name of letters, digits, _ and $, such as 'results' or 'app.results'",
      value,
    );
  return { schema: match[1] ?? schema, name: match[2] ?? '' };
}
