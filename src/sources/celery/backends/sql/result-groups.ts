/** Reads groups and the headers of running chords of django-celery-results. Those of SQLAlchemy are pickled. */
import type { SqlReader } from '../../sql/sql-reader.ts';
import type { SqlTable } from '../../sql/sql-tables.ts';
import { textOf } from '../../sql/sql-values.ts';
import { keyOf } from './result-rows.ts';
import type { ResultTables } from './result-tables.ts';
import { LONGEST_VALUE } from './result-text.ts';

/** Rows of one statement. */
const ROWS = 50;

/** A group or the header of a chord. */
export interface GroupOfRow {
  /** Of the row. */
  readonly key: number;
  /** Of the group. */
  readonly id: string;
  /** Celery's own JSON of a stored group; `null` if it cannot be read. */
  readonly text: string | null;
}

/** Which rows to read: the first of those after a key, or the last of those before one. */
export type GroupRange = { readonly after: number } | { readonly before: number };

/** One of the two tables of groups. */
export type GroupTable = 'groups' | 'chords';

/**
 * Reads up to 50 groups.
 *
 * @returns none where they cannot be read
 * @throws SqlError
 */
export async function readGroups(
  reader: SqlReader,
  tables: ResultTables,
  kind: GroupTable,
  range: GroupRange,
  signal: AbortSignal,
): Promise<readonly GroupOfRow[]> {
  const table = tables[kind];
  if (table === null) return [];
  const { text, values } = statementOf(reader, table, kind, range);
  const rows = await reader.select({ text, values, limit: ROWS }, signal);
  return rows.flatMap((row) => {
    const key = keyOf(row, 'n');
    const id = textOf(row, 'name');
    if (key === null || id === null || id === '') return [];
    const members = textOf(row, 'members');
    return [{ key, id, text: members === null ? null : groupText(kind, id, members) }];
  });
}

function statementOf(
  { dialect }: SqlReader,
  { from, types }: SqlTable,
  kind: GroupTable,
  range: GroupRange,
): { readonly text: string; readonly values: readonly string[] } {
  const [key, id] = ['id', 'group_id'].map(dialect.column);
  const members = dialect.column(kind === 'groups' ? 'result' : 'sub_tasks');
  const isJson = types.has('content_type')
    ? `${dialect.column('content_type')} = 'application/json' AND `
    : '';
  const columns = `${key} AS n, ${id} AS name, CASE WHEN ${isJson}${dialect.size(members)} <= ${LONGEST_VALUE} THEN ${members} END AS members`;
  const [comparison, order, bound] =
    'after' in range ? ['>', 'ASC', range.after] : ['<', 'DESC', range.before];
  return {
    text: `SELECT ${columns} FROM ${from} WHERE ${key} ${comparison} ${dialect.integerValue} ORDER BY ${key} ${order}`,
    values: [String(bound)],
  };
}

/** A counter has the header tasks alone; a group also its own id (celery/result.py, `as_tuple`). */
function groupText(kind: GroupTable, id: string, members: string): string {
  return kind === 'groups'
    ? `{"result": ${members}}`
    : `{"result": [[${JSON.stringify(id)}, null], ${members}]}`;
}
