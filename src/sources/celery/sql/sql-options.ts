/** The option `sql` of `celerySources`: a database of the app that is only read. */
import {
  asGiven,
  checked,
  group,
  type OptionTable,
  oneOf,
  readOptions,
  text,
  wrongOption,
} from '../../../check-options.ts';
import { recordOf } from '../../../values.ts';
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

const CALLER = 'celerySources';

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

/** Databases allow more, if quoted; these tables do not need it. */
const NAME = '[A-Za-z_][A-Za-z0-9_$]{0,62}';
const SCHEMA = new RegExp(`^${NAME}$`);
const TABLE_PATH = new RegExp(`^(?:(${NAME})\\.)?(${NAME})$`);

const tablePath = text(
  (path) => TABLE_PATH.test(path),
  "a name of letters, digits, _ and $, such as 'results' or 'app.results'",
  null,
);

const TABLE = {
  dialect: oneOf(['postgres', 'mysql', 'sqlite']),
  query: asGiven,
  schema: text((schema) => SCHEMA.test(schema), 'a name of letters, digits and _', null),
  tables: group(Object.fromEntries(SQL_TABLES.map((table) => [table, tablePath])), {
    example: "{ celery_taskmeta: 'results' }",
  }),
  timezone: checked(isTimeZone, 'the IANA name of a time zone, such as Europe/Prague', 'UTC'),
} satisfies OptionTable<CelerySqlOptions>;

const QUERIES = {
  postgres: '(text, values) => pool.query(text, values).then((result) => result.rows)',
  mysql: '(text, values) => pool.execute(text, values).then(([rows]) => rows)',
  sqlite: '(text, values) => db.prepare(text).all(...values)',
};

/** The names of SQLAlchemy's tables in Celery's settings. */
const OF_SETTINGS = { task: 'celery_taskmeta', group: 'celery_tasksetmeta' } as const;

/** {@link CelerySqlOptions}, checked and complete. */
export type ResolvedSql = NonNullable<ReturnType<typeof readSqlOptions>>;

/**
 * @returns `null` when the option is absent
 * @throws TypeError that says what to write
 */
export function readSqlOptions(given: unknown, settings: CelerySettings) {
  if (given === undefined || given === null) return null;
  const example = "{ dialect: 'postgres', query }";
  const { schema, tables, ...options } = readOptions(CALLER, given, TABLE, {
    example,
    hints: HINTS,
    group: 'sql',
  });
  const { dialect, query } = options;
  if (typeof query !== 'function')
    throw wrongOption(CALLER, 'sql.query', `a function such as ${QUERIES[dialect]}`, query);
  const ofSettings = tablesOfSettings(settings);
  const paths = SQL_TABLES.map((table) => {
    const [, own, name] = TABLE_PATH.exec(tables[table] ?? ofSettings[table] ?? table) ?? [];
    return [table, { schema: own ?? schema, name }];
  });
  return {
    ...options,
    query: query as CelerySqlQuery,
    tables: Object.fromEntries(paths) as Readonly<Record<CelerySqlTable, TableName>>,
  };
}

function tablesOfSettings(settings: CelerySettings): Readonly<Record<string, string | null>> {
  const option = 'settings.database_table_names and database_table_schemas';
  const paths = Object.entries(OF_SETTINGS).map(([key, table]) => {
    const schema = recordOf(settings.database_table_schemas)?.[key] ?? null;
    const name = recordOf(settings.database_table_names)?.[key] ?? table;
    const path = schema === null ? String(name) : `${String(schema)}.${String(name)}`;
    return [table, tablePath(path, { caller: CALLER, option })];
  });
  return Object.fromEntries(paths);
}
