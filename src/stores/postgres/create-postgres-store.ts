import { type OptionTable, type Read, readOptions, text, wrongOption } from '../../check-options.ts';
import type { HistoryStore, StoreEngine, StoreRetention } from '../../history/store.ts';
import { createStatements, isSchemaName, isTablePrefix, LONGEST_PREFIX, tableNames } from '../sql/schema.ts';
import {
  type Deadlines,
  guardDatabase,
  type SqlDatabase,
  StoreError,
  type StoreErrorCode,
} from '../sql/sql-database.ts';
import { createSqlStore } from '../sql/sql-store.ts';
import { STORE_TABLE, STORE_WORDS, type StoreOptions } from '../store-options.ts';
import {
  createPostgresDatabase,
  type PgPool,
  POSTGRES,
  type PostgresClient,
  type PostgresJs,
  postgresClient,
  postgresSize,
} from './postgres-database.ts';
import { createPostgresDays } from './postgres-days.ts';

/** Parameters of a store in PostgreSQL. */
export interface PostgresStoreSettings {
  readonly client: PostgresClient;
  /** `null`: the schema that connections are set to. */
  readonly schema: string | null;
  /** Beginning of the names of all tables and indexes. */
  readonly prefix: string;
  readonly retention: StoreRetention;
  readonly isReadOnly: boolean;
  readonly deployment: string | null;
  readonly deadlines?: Deadlines;
}

/** @throws TypeError when a name is not allowed */
export function createPostgresStore(settings: PostgresStoreSettings): StoreEngine {
  const { client, schema, prefix, retention, isReadOnly, deployment, deadlines } = settings;
  const names = tableNames(schema, prefix);
  const database = guardDatabase(createPostgresDatabase(client), describePostgresError, deadlines);
  return createSqlStore({
    database,
    names,
    retention,
    isReadOnly,
    deployment,
    days: createPostgresDays(database, names),
    size: postgresSize(names),
    beforeTables: () => beforeTables(database, schema),
    afterTables: () => [],
  });
}

/** A role without the right to create schemas may not even say `IF NOT EXISTS`. */
async function beforeTables(database: SqlDatabase, schema: string | null): Promise<readonly string[]> {
  if (schema === null) return [];
  const [row] = await database.read('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
  return row === undefined ? [`CREATE SCHEMA "${schema}"`] : [];
}

/** Options of `postgresStore`. */
export interface PostgresStoreOptions extends StoreOptions {
  /**
   * The schema of the tables, which is created if the role may do so. `a-z`, `0-9` and `_`, not beginning with a digit,
   * at most 63 characters. Default: the first of the connection's `search_path`, which is usually `public`.
   */
  readonly schema?: string;
  /**
   * Beginning of the names of all tables, so that several histories fit into one schema. As `schema`, at most 44
   * characters. Default `task_monitor_`.
   */
  readonly prefix?: string;
}

const CALLER = 'postgresStore';
/** Beginning of the names of all tables, unless the host writes another. */
const DEFAULT_PREFIX = 'task_monitor_';

const schemaName = nameOption(isSchemaName, 63, 'monitor', null);

const TABLE = {
  ...STORE_TABLE,
  // `null` counts as absent.
  schema: (given, place) => schemaName(given ?? undefined, place),
  prefix: nameOption(isTablePrefix, LONGEST_PREFIX, DEFAULT_PREFIX, DEFAULT_PREFIX),
} satisfies OptionTable<PostgresStoreOptions>;

/**
 * Keeps the history of sources in PostgreSQL 13 or later, which instances of an app may share. It uses the app's own
 * client and never closes it, works behind PgBouncer in transaction mode, and creates its tables itself.
 *
 * @example
 * celerySources({ broker: 'redis://localhost:6379/0', store: postgresStore(new pg.Pool({ connectionString })) });
 *
 * @param client a `Pool` of the package `pg` (8), or a client of the package `postgres` (3)
 * @throws TypeError for a wrong client or option; its message says what to write
 */
export function postgresStore(client: PgPool | PostgresJs, options: PostgresStoreOptions = {}): HistoryStore {
  const usable = postgresClient(client);
  if (usable === null) {
    const expected = 'a Pool of the package pg, version 8, or a client of the package postgres, version 3';
    throw wrongOption(CALLER, 'client', expected, client);
  }
  const { readOnly: isReadOnly, ...resolved } = readOptions(CALLER, options, TABLE, STORE_WORDS);
  return createPostgresStore({ ...resolved, isReadOnly, client: usable });
}

function nameOption<Default>(
  test: (name: string) => boolean,
  most: number,
  example: string,
  fallback: Default,
): Read<string | Default> {
  return text(test, `1 to ${most} of a-z 0-9 _, not beginning with a digit, such as '${example}'`, fallback);
}

/** Where the tables of `postgresStore` are: its options of the same names. */
export interface PostgresSchemaOptions {
  readonly schema?: string;
  readonly prefix?: string;
}

/**
 * The statements that create the tables of `postgresStore`, as a script for `psql`: for an administrator, where the role
 * of the app may not create tables. Without that right there is no table for each day: all rows are kept in one, and old
 * ones are deleted in batches.
 *
 * @throws TypeError when a name is not allowed
 */
export function postgresSchema({ schema, prefix = DEFAULT_PREFIX }: PostgresSchemaOptions = {}): string {
  const names = tableNames(schema ?? null, prefix);
  const first = schema === undefined ? [] : [`CREATE SCHEMA IF NOT EXISTS "${schema}"`];
  const statements = [...first, ...createStatements(POSTGRES, names)];
  return `BEGIN;\n${statements.map((one) => `${one};\n`).join('')}COMMIT;\n`;
}

type Row = readonly [code: StoreErrorCode, sentence: string, remedy?: string];

/** By SQLSTATE, or the beginning of it. The longest match is used. */
const BY_STATE: Readonly<Record<string, Row>> = {
  '08': ['unreachable', 'The connection to PostgreSQL has failed.'],
  '22': ['refused', 'PostgreSQL cannot store a value.'],
  '22021': ['refused', 'PostgreSQL cannot store a character of a text.'],
  '23505': ['conflict', 'Another instance has written this row.'],
  '23514': ['conflict', 'Rows of this day are in the table for other days.'],
  '25006': ['read_only', 'PostgreSQL is read-only: it is a standby, or its transactions are read-only.'],
  '28': ['unreachable', 'PostgreSQL refuses the login.', 'Check the role and its password.'],
  '3D000': ['unreachable', 'PostgreSQL has no database with this name.', 'Create it.'],
  '3F000': ['schema_missing', 'PostgreSQL has no schema with this name.'],
  '40': ['conflict', 'Another instance has changed the same rows.'],
  '42501': ['permission', 'The PostgreSQL role lacks a right.'],
  '42704': ['schema_missing', 'Part of the schema is missing.'],
  '42P01': ['schema_missing', 'PostgreSQL has no tables of express-task-monitor.'],
  '42P06': ['conflict', 'Another instance has created the schema.'],
  '42P07': ['conflict', 'Another instance has created the tables.'],
  '42P17': ['conflict', 'Another table has this day.'],
  '53': ['unreachable', 'PostgreSQL lacks resources.', 'Check its memory and its limit of connections.'],
  '53100': ['disk_full', 'The disk of PostgreSQL is full.'],
  '53300': ['unreachable', 'PostgreSQL has no free connection.', 'Raise max_connections, or use PgBouncer.'],
  '54': ['refused', 'PostgreSQL cannot store such a large value.'],
  '55P03': ['locked', 'Another connection holds a lock in PostgreSQL.'],
  '57014': ['timeout', 'PostgreSQL has cancelled a statement.', 'Check statement_timeout and its load.'],
  '57P': ['unreachable', 'PostgreSQL is starting, or has been shut down.'],
  '58': ['disk_full', 'PostgreSQL cannot write its files.', 'Check its disk and its log.'],
  '58000': ['failed', 'PostgreSQL reports a system error.'],
  XX001: ['corrupt', 'The data of PostgreSQL is damaged.'],
  XX002: ['corrupt', 'An index of PostgreSQL is damaged.', 'Run REINDEX.'],
};

/** Codes of Node and of postgres.js, and sentences of pg, which has no codes for them. */
const NO_CONNECTION =
  /^(?:E(?:CONN|HOST|NET|AI_|PIPE|TIMEDOUT|NOTFOUND)|CONNECT|SASL)|connect|terminated|pool|socket|client (?:has|was)|getaddrinfo/i;

/** @param error what the client of the host rejected with */
function describePostgresError(error: unknown): StoreError {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  const state = typeof code === 'string' ? code : '';
  if (/^[0-9A-Z]{5}$/.test(state)) {
    const key = [5, 3, 2].map((length) => state.slice(0, length)).find((part) => part in BY_STATE);
    const row = key === undefined ? undefined : BY_STATE[key];
    return row === undefined
      ? new StoreError('failed', `PostgreSQL has failed with SQLSTATE ${state}.`)
      : new StoreError(...row);
  }
  if (NO_CONNECTION.test(state) || NO_CONNECTION.test(String(message)))
    return new StoreError('unreachable', 'There is no connection to PostgreSQL.');
  return new StoreError('failed', 'The client of PostgreSQL has failed.');
}
