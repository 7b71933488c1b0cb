/** Statements over rows: their texts, from the columns of a table. */
import type { SqlBatch, SqlColumn } from './sql-database.ts';

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
