/** Finds out once the structure of a table: versions of Celery and Django differ in columns and indexes. */

import { problemOf } from '../problem.ts';
import type { CelerySqlTable, TableName } from './sql-options.ts';
import { MOST_ROWS, type SqlReader } from './sql-reader.ts';
import { textOf } from './sql-values.ts';

/** A table that exists. */
export interface SqlTable {
  readonly name: TableName;
  /** Its quoted name. */
  readonly from: string;
  /** The types of its columns, by name. */
  readonly types: ReadonlyMap<string, string>;
  /** The columns with which an index begins, besides the primary key. */
  readonly indexed: ReadonlySet<string>;
}

/**
 * Reads columns and indexes of a table, and whether it may be read.
 *
 * @returns `null` if it does not exist
 * @throws SqlError, with the code `NOPERM` when it may not be read
 */
export async function describeTable(
  reader: SqlReader,
  table: CelerySqlTable,
  signal?: AbortSignal,
): Promise<SqlTable | null> {
  const { dialect } = reader;
  const name = reader.options.tables[table];
  const from = dialect.table(name);
  const columns = await reader.select({ ...dialect.columns(name), limit: MOST_ROWS }, signal);
  // MySQL does not list tables that may not be read, and PostgreSQL lists all.
  if (!(await isReadable(reader, from, signal)) || columns.length === 0) return null;
  const indexed = await reader.select({ ...dialect.indexed(name), limit: MOST_ROWS }, signal);
  return {
    name,
    from,
    types: new Map(columns.map((row) => [textOf(row, 'name') ?? '', textOf(row, 'type') ?? ''])),
    indexed: new Set(indexed.map((row) => textOf(row, 'name') ?? '')),
  };
}

async function isReadable(reader: SqlReader, from: string, signal?: AbortSignal): Promise<boolean> {
  try {
    await reader.select({ text: `SELECT 1 AS one FROM ${from}`, limit: 1 }, signal);
    return true;
  } catch (error) {
    if (problemOf(error).code === 'NOTABLE') return false;
    throw error;
  }
}
