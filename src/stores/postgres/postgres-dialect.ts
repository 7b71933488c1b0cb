import type { SqlDialect, SqlType } from '../sql/sql-database.ts';

const TYPES: Readonly<Record<SqlType, string>> = {
  // Sorted by code points, as far as possible like JavaScript, and not by the rules of a language.
  text: 'text COLLATE "C"',
  integer: 'integer',
  real: 'double precision',
};

/** Types of arrays of a column. */
export const ARRAYS: Readonly<Record<SqlType, string>> = {
  text: 'text[]',
  integer: 'integer[]',
  real: 'double precision[]',
};

/** PostgreSQL 12 and later. */
export const POSTGRES: SqlDialect = {
  name: 'postgres',
  now: '(extract(epoch FROM clock_timestamp()) * 1000)::double precision',
  size: (prefix) =>
    `SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::double precision AS bytes FROM pg_class
     WHERE relkind = 'r' AND relname LIKE '${prefix.replaceAll('_', String.raw`\_`)}%'`,
  type: (type) => TYPES[type],
  isAny: (expression, at) => `${expression} = ANY($${at}::text[])`,
};
