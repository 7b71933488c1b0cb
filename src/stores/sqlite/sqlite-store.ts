import nodeModule from 'node:module';
import { resolve } from 'node:path';
import { wrongOption } from '../../check-options.ts';
import type { HistoryStore, StoreEngine, StoreRetention } from '../../history/store.ts';
import { tableNames } from '../sql/schema.ts';
import { guardDatabase } from '../sql/sql-database.ts';
import { createSqlStore } from '../sql/sql-store.ts';
import { resolveStoreOptions, STORE_KEYS, type StoreOptions } from '../store-options.ts';
import { createSqliteDatabase, describeSqliteError, SQLITE_SIZE } from './sqlite-database.ts';
import { figureStatements } from './sqlite-figures.ts';

/** Options of `sqliteStore`. */
export interface SqliteStoreOptions extends StoreOptions {}

const CALLER = 'sqliteStore';

/** The text of the thread's program, which the build puts here: bundlers would not find a file. */
declare const SQLITE_THREAD: string | undefined;
const THREAD =
  typeof SQLITE_THREAD === 'string'
    ? new URL(`data:text/javascript,${encodeURIComponent(SQLITE_THREAD)}`)
    : new URL('./sqlite-thread.ts', import.meta.url);

/**
 * Keeps the history of sources in a SQLite file on this machine, in a thread of its own. Several processes of one
 * machine may share the file. Needs Node 22.13 or later, which has SQLite built in, and no package.
 *
 * @example
 * celerySources({ broker: 'redis://localhost:6379/0', store: sqliteStore('monitor.db') });
 *
 * @param path of the file, which is created with rights for its owner only; from a file that exists, others than its
 *   owner and its group lose theirs. Its folder must exist, on a local disk
 * @throws TypeError for a wrong option; its message says what to write
 * @throws Error on a Node without SQLite
 */
export function sqliteStore(path: string, options: SqliteStoreOptions = {}): HistoryStore {
  if (typeof path !== 'string' || path === '' || path.startsWith(':') || path.startsWith('file:')) {
    throw wrongOption(CALLER, 'path', "the path of a file, such as 'monitor.db'", path);
  }
  const resolved = resolveStoreOptions(CALLER, options, STORE_KEYS);
  if (!nodeModule.isBuiltin('node:sqlite')) {
    throw new Error(
      `${CALLER} needs Node 22.13 or later, which has SQLite; this is Node ${process.versions.node}. Upgrade Node, or ` +
        'keep the history in PostgreSQL: postgresStore(pool) of express-task-monitor/postgres.',
    );
  }
  return createSqliteStore({ ...resolved, path: resolve(path), thread: THREAD });
}

/** Parameters of a store in SQLite. */
export interface SqliteStoreSettings {
  /** Of the file, which is created with the tables. */
  readonly path: string;
  /** The program of the threads. */
  readonly thread: URL;
  readonly retention: StoreRetention;
  readonly isReadOnly: boolean;
  readonly deployment: string | null;
}

/** The file belongs to the store alone, so no option names its tables. */
const PREFIX = 'monitor_';

export function createSqliteStore(settings: SqliteStoreSettings): StoreEngine {
  const { path, thread, retention, isReadOnly, deployment } = settings;
  const names = tableNames(null, PREFIX);
  const database = guardDatabase(createSqliteDatabase(path, thread), describeSqliteError);
  return createSqlStore({
    database,
    names,
    retention,
    isReadOnly,
    deployment,
    days: { prepare: async () => {}, dropBefore: async () => {}, canSearch: () => false },
    size: SQLITE_SIZE,
    beforeTables: async () => [],
    afterTables: () => figureStatements(names),
  });
}
