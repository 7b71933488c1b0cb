import { type KeysOf, wrongOption } from '../../check-options.ts';
import type { HistoryStore } from '../../history/store.ts';
import { isSchemaName, isTablePrefix, LONGEST_PREFIX } from '../sql/names.ts';
import { resolveStoreOptions, STORE_KEYS, type StoreOptions } from '../store-options.ts';
import { createPostgresStore } from './create-postgres-store.ts';
import { type PgPool, type PostgresJs, postgresClient } from './postgres-client.ts';

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
export const DEFAULT_PREFIX = 'task_monitor_';

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
