import type { StoreEngine, StoreRetention } from '../../history/store.ts';
import { guardDatabase } from '../sql/guarded-database.ts';
import { tableNames } from '../sql/names.ts';
import { createSqlStore } from '../sql/sql-store.ts';
import { createSqliteDatabase } from './sqlite-database.ts';
import { SQLITE_SIZE } from './sqlite-dialect.ts';
import { describeSqliteError } from './sqlite-errors.ts';
import { figureStatements } from './sqlite-figures.ts';

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
