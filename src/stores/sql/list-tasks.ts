/** Pages of the list of stored tasks. */
import type { StoredQuery } from '../../history/store.ts';
import type { SourceDatabase } from './source-database.ts';
import type { SqlRow } from './sql-database.ts';
import {
  countValue,
  type ListPart,
  listTasks,
  nextValue,
  type TaskPart,
  type TaskTable,
} from './task-statements.ts';
import { fromColumn } from './text-key.ts';

/** From so many rows with one name or state on, reading by the key is faster than sorting them. */
const COMMON = 5_000;

/**
 * Reads a page: the rows with a value to sort by, then those without one.
 *
 * @param columns the columns that are read, and the conversion of a row
 */
export async function listPage<Row>(
  source: SourceDatabase,
  tasks: TaskTable,
  query: StoredQuery,
  columns: { readonly part: TaskPart; readonly read: (row: SqlRow) => Row },
): Promise<readonly Row[]> {
  const { after, limit } = query;
  const readPart = async (wanted: ListPart): Promise<readonly Row[]> => {
    if (wanted.limit === 0) return [];
    const { value } = wanted;
    const isCommon = value !== undefined && (await isCommonValue(source, tasks, query, value));
    const { text, values } = listTasks(tasks, query, { ...wanted, isCommon }, columns.part);
    return (await source.read(text, ...values)).map(columns.read);
  };
  const readValue = async (before: string | null): Promise<string | null> => {
    const { text, values } = nextValue(tasks, query, before);
    const value = (await source.read(text, ...values))[0]?.[0] ?? null;
    return value === null ? null : fromColumn(String(value));
  };
  const isInKeys = after === null || after.key !== null;
  const isByText = query.sort === 'name' || query.sort === 'state';
  const readKeys = () =>
    isByText ? listByValue(query, readPart, readValue) : readPart({ hasKey: true, after, limit });
  const first = isInKeys ? await readKeys() : [];
  const rest = { hasKey: false, after: isInKeys ? null : after, limit: limit - first.length };
  return [...first, ...(await readPart(rest))];
}

/** Whether the number of rows with a value matters, and is large. */
async function isCommonValue(
  source: SourceDatabase,
  tasks: TaskTable,
  query: StoredQuery,
  value: string,
): Promise<boolean> {
  if (tasks.dialect.unindexed === null) return false;
  const { text, values } = countValue(tasks, query, value, COMMON);
  const [row] = await source.read(text, ...values);
  return Number(row?.[0]) === COMMON;
}

/** If few tasks of each value pass the filters, the following values are read with one statement. */
const MOST_VALUES = 20;
/** Follows every id. */
const LAST_ID = '\u{10ffff}';

/**
 * Reads the rows of a page value by value. Rows of one value are sorted by id, so the database finds the first ones by
 * the index; for all values at once, it would have to sort every task.
 *
 * @param nextValue returns the value after another one, or the first one
 */
export async function listByValue<Row>(
  { after, limit }: Pick<StoredQuery, 'after' | 'limit'>,
  readPart: (part: ListPart) => Promise<readonly Row[]>,
  nextValue: (after: string | null) => Promise<string | null>,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  let last: string | null = after === null ? null : String(after.key);
  let position: StoredQuery['after'] = after === null ? null : { key: null, id: after.id };
  for (let visited = 0; visited < MOST_VALUES; visited++) {
    const value = position === null ? await nextValue(last) : last;
    if (value === null) return rows;
    rows.push(...(await readPart({ hasKey: true, value, after: position, limit: limit - rows.length })));
    if (rows.length >= limit) return rows;
    [last, position] = [value, null];
  }
  const rest = { hasKey: true, after: { key: last, id: LAST_ID }, limit: limit - rows.length };
  return [...rows, ...(await readPart(rest))];
}
