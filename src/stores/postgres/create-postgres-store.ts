import { type KeysOf, wrongOption } from '../../check-options.ts';
import type { HistoryStore, StoreEngine, StoreRetention } from '../../history/store.ts';
import { createStatements, isSchemaName, isTablePrefix, LONGEST_PREFIX, tableNames } from '../sql/schema.ts';
import { type Deadlines, guardDatabase, type SqlDatabase } from '../sql/sql-database.ts';
import { createSqlStore } from '../sql/sql-store.ts';
import { resolveStoreOptions, STORE_KEYS, type StoreOptions } from '../store-options.ts';
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
import { describePostgresError } from './postgres-errors.ts';

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
const KEYS: KeysOf<PostgresStoreOptions> = { ...STORE_KEYS, schema: true, prefix: true };
/** Beginning of the names of all tables, unless the host writes another. */
const DEFAULT_PREFIX = 'task_monitor_';

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
  const resolved = resolveStoreOptions(CALLER, options, KEYS);
  const { schema = null, prefix = DEFAULT_PREFIX } = options;
  if (schema !== null && !isName(schema, isSchemaName)) throw wrongName('schema', 63, 'monitor', schema);
  if (!isName(prefix, isTablePrefix)) throw wrongName('prefix', LONGEST_PREFIX, DEFAULT_PREFIX, prefix);
  return createPostgresStore({ ...resolved, client: usable, schema, prefix });
}

function isName(value: unknown, test: (name: string) => boolean): value is string {
  return typeof value === 'string' && test(value);
}

function wrongName(option: string, most: number, example: string, given: unknown): TypeError {
  const expected = `1 to ${most} of a-z 0-9 _, not beginning with a digit, such as '${example}'`;
  return wrongOption(CALLER, option, expected, given);
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
