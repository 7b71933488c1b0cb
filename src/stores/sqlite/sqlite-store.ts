import nodeModule from 'node:module';
import { resolve } from 'node:path';
import { readOptions, wrongOption } from '../../check-options.ts';
import type { HistoryStore, StoreEngine, StoreRetention } from '../../history/store.ts';
import { DAY_TABLES, type DayTable, type TableNames, tableNames } from '../sql/schema.ts';
import { guardDatabase } from '../sql/sql-database.ts';
import { createSqlStore } from '../sql/sql-store.ts';
import { STORE_TABLE, STORE_WORDS, type StoreOptions } from '../store-options.ts';
import { createSqliteDatabase, describeSqliteError, SQLITE_SIZE } from './sqlite-database.ts';

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
  const { readOnly: isReadOnly, ...resolved } = readOptions(CALLER, options, STORE_TABLE, STORE_WORDS);
  if (!nodeModule.isBuiltin('node:sqlite')) {
    throw new Error(
      `${CALLER} needs Node 22.13 or later, which has SQLite; this is Node ${process.versions.node}. Upgrade Node, or ` +
        'keep the history in PostgreSQL: postgresStore(pool) of express-task-monitor/postgres.',
    );
  }
  return createSqliteStore({ ...resolved, isReadOnly, path: resolve(path), thread: THREAD });
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

/** The index of the key, whose name SQLite makes of that of its table. */
const KEY = null;

/** By index: all rows, and for each of its columns, how many rows have the same values up to it. */
const FIGURES: Readonly<Record<DayTable, readonly (readonly [index: string | null, figures: string])[]>> = {
  task: [
    [KEY, '1000000 1000000 1 1'],
    ['task_changed', '1000000 1000000 1'],
    ['task_state', '1000000 1000000 100000 1'],
    ['task_name', '1000000 1000000 20000 1 1 1'],
    ['task_worker', '1000000 1000000 50000 1 1'],
    ['task_queue', '1000000 1000000 100000 1 1'],
    ['task_root', '1000000 1000000 10 1'],
    ['task_parent', '500000 500000 10 1'],
    ['task_cause', '100000 100000 1000 1 1 1'],
    ['task_group', '500000 500000 10 1'],
    ['task_chord', '10000 10000 10'],
    ['task_open', '10000 10000 1'],
    ['task_received', '1000000 1000000 1'],
    ['task_started', '1000000 1000000 1'],
    ['task_finished', '1000000 1000000 1'],
    ['task_runtime', '1000000 1000000 10'],
    ['task_day', '1000000 1000000 150000'],
  ],
  relation: [
    [KEY, '100000 100000 2 2 1 1'],
    ['relation_parent', '100000 100000 5'],
    ['relation_day', '100000 100000 15000'],
  ],
};

/**
 * Sets the statistics that SQLite assumes about the rows. `ANALYZE` would derive them, but only when there are many rows;
 * without statistics, filters with a position read the index by time and skip rows that do not match.
 */
function figureStatements({ prefix }: TableNames): readonly string[] {
  const rows = DAY_TABLES.flatMap((table) =>
    FIGURES[table].map(([index, figures]) => {
      const name = index === KEY ? `sqlite_autoindex_${prefix}${table}_1` : prefix + index;
      return `('${prefix}${table}', '${name}', '${figures}')`;
    }),
  );
  return [
    // Creates the table for the figures, and reads none of the app's own tables.
    `ANALYZE ${prefix}lease`,
    `INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ${rows.join(', ')}`,
    // Loads them.
    'ANALYZE sqlite_schema',
  ];
}
