/** Statements over rows: their texts, from the columns of a table. */

import { runInSlices, type Steps } from '../../scheduler.ts';
import type { SourceDatabase } from './source-database.ts';
import type { SqlBatch, SqlColumn, SqlRow, SqlValue } from './sql-database.ts';

/** Columns as a list, such as `id, day`. @param prefix text before each */
export function listColumns(columns: readonly SqlColumn[], prefix = ''): string {
  return columns.map(([name]) => prefix + name).join(', ');
}

/** Assigns the given values to columns. @param from where they come from: `excluded.` or `given.new_` */
export function assign(columns: readonly SqlColumn[], from: string): string {
  return columns.map(([name]) => `${name} = ${from}${name}`).join(', ');
}

/** The columns without some of them. */
export function without(columns: readonly SqlColumn[], ...names: readonly string[]): readonly SqlColumn[] {
  return columns.filter(([name]) => !names.includes(name));
}

/** Inserts the given rows into a table. @param end `ON CONFLICT …`, `RETURNING …` */
export function insertBatch(
  table: string,
  columns: readonly SqlColumn[],
  end: string,
  where = 'true',
): SqlBatch {
  return {
    columns,
    text: `INSERT INTO ${table} AS stored (${listColumns(columns)}) SELECT ${listColumns(columns, 'new_')} FROM given WHERE ${where} ${end}`,
  };
}

const MIB = 1024 * 1024;
/** The longest texts that are read, in bytes. Longer ones are not the store's, and would fill the memory. */
const LONGEST = { record: 4 * MIB, texts: 64 * MIB, items: 16 * MIB, content: 16 * MIB, times: MIB };

/** A column of long texts as it is read: NULL for what is too long. */
export function bounded(column: keyof typeof LONGEST): string {
  return `CASE WHEN octet_length(${column}) <= ${LONGEST[column]} THEN ${column} END AS ${column}`;
}

/**
 * Follows each field. A backslash in a column begins one of JSON's escapes, and none of them is this one: `toColumn`.
 */
const END = String.raw`\,`;
const FIELD = /([^\\]*(?:\\[^,][^\\]*)*)\\,/gy;
/** Before a field that is not NULL. */
const PRESENT = '=';
/** Rows between two pauses. */
const ROWS_AT_ONCE = 64;

/**
 * Reads rows of texts.
 *
 * @param columns of the statement; all of them are texts as `toColumn` writes them
 * @param statement whose order of rows does not matter
 */
export async function readPacked(
  source: SourceDatabase,
  columns: readonly string[],
  statement: string,
  values: readonly SqlValue[],
): Promise<readonly SqlRow[]> {
  const fields = columns.map((column) => `coalesce('${PRESENT}' || ${column}, '') || end_of_field`);
  const text = `SELECT string_agg(${fields.join(' || ')}, '')
    FROM (${statement}) AS found CROSS JOIN (SELECT CAST($${values.length + 2} AS text) AS end_of_field) AS format`;
  const [row] = await source.read(text, ...values, END);
  const packed = row?.[0] ?? null;
  return packed === null ? [] : runInSlices('store', unpack(String(packed), columns.length));
}

function* unpack(packed: string, width: number): Steps<SqlRow[]> {
  const rows: SqlRow[] = [];
  let row: (string | null)[] = [];
  for (const [, field = ''] of packed.matchAll(FIELD)) {
    // A part of a text keeps the whole text in memory as long as it is referred to.
    row.push(field === '' ? null : Buffer.from(field.slice(PRESENT.length)).toString());
    if (row.length < width) continue;
    rows.push(row);
    row = [];
    if (rows.length % ROWS_AT_ONCE === 0) yield;
  }
  return rows;
}
