import type { SqlDialect, SqlType } from '../sql/sql-database.ts';

const TYPES: Readonly<Record<SqlType, string>> = { text: 'TEXT', integer: 'INTEGER', real: 'REAL' };

/** SQLite 3.42 and later. Arrays are bound as JSON. */
export const SQLITE: SqlDialect = {
  name: 'sqlite',
  now: "(unixepoch('now', 'subsec') * 1000)",
  size: () => 'SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()',
  type: (type) => TYPES[type],
  isAny: (expression, at) => `${expression} IN (SELECT value FROM json_each($${at}))`,
};
