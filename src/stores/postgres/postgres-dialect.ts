import type { TableNames } from '../sql/names.ts';
import { TABLES } from '../sql/schema.ts';
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

/** PostgreSQL 13 and later. */
export const POSTGRES: SqlDialect = {
  name: 'postgres',
  now: '(extract(epoch FROM clock_timestamp()) * 1000)::double precision',
  clustered: '',
  byDay: ' PARTITION BY RANGE (day)',
  rowId: null,
  unindexed: null,
  type: (type) => TYPES[type],
  isGiven: (column, type, at) => `${column} = ANY($${at}::${ARRAYS[type]})`,
  floor: (expression) => `floor(${expression})`,
  isAny: (expression, at) => `${expression} = ANY($${at}::text[])`,
};

/** The statement for the bytes on disk of all tables and their indexes, times the given value. */
export function postgresSize(names: TableNames): string {
  const tables = ['meta', 'source', ...Object.keys(TABLES)].map(
    (name) => `SELECT to_regclass('${names.of(name)}') AS oid`,
  );
  const days = `SELECT inhrelid FROM pg_inherits WHERE inhparent IN (to_regclass('${names.task}'), to_regclass('${names.relation}'))`;
  return `SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::double precision * $1::integer
    FROM (${[...tables, days].join(' UNION ALL ')}) AS tables`;
}
