/**
 * Many short rows as one value of one row. A driver makes objects of every row of an answer at once: 20,000 rows of
 * five ids hold up the event loop for 50 ms. One long text takes a tenth of that, and is split in steps.
 */
import { runInSlices } from '../../scheduler/in-slices.ts';
import type { Steps } from '../../scheduler.ts';
import type { SourceDatabase } from './source-database.ts';
import type { SqlRow, SqlValue } from './sql-database.ts';

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
