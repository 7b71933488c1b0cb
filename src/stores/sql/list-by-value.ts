/** Lists that are sorted by a name or a state: few values, each of many tasks. */
import type { StoredQuery } from '../../history/store.ts';
import type { ListPart } from './task-statements.ts';

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
