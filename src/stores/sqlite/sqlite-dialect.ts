import type { SqlDialect, SqlType } from '../sql/sql-database.ts';

const TYPES: Readonly<Record<SqlType, string>> = { text: 'TEXT', integer: 'INTEGER', real: 'REAL' };

/** SQLite 3.47 and later, as Node 22.13 brings it. Arrays are bound as JSON. */
export const SQLITE: SqlDialect = {
  name: 'sqlite',
  now: "(unixepoch('now', 'subsec') * 1000)",
  clustered: ' WITHOUT ROWID',
  byDay: null,
  rowId: 'rowid',
  unindexed: (column) => `+${column}`,
  type: (type) => TYPES[type],
  isGiven: () => 'true',
  floor: (expression) => `CAST(${expression} AS INTEGER)`,
  isAny: (expression, at) => `${expression} IN (SELECT value FROM json_each($${at}))`,
};

/** Bytes on disk, times the given value. */
export const SQLITE_SIZE = 'SELECT page_count * page_size * $1 FROM pragma_page_count(), pragma_page_size()';
