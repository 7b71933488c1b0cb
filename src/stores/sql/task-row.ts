/** Stored tasks as rows, and back. */
import type { StoredRecord, StoredRelatives, StoredTask } from '../../history/store.ts';
import { TABLES } from './schema.ts';
import type { SqlField, SqlRow } from './sql-database.ts';

/** Columns of a task, in the order in which they are written and read. The number of the source comes first. */
export const TASK_COLUMNS = TABLES.task.columns;

export type TaskColumn = (typeof TASK_COLUMNS)[number][0];

/**
 * The field of each column, and whether it is an id or a name, which may contain characters that a column cannot store.
 */
const FIELDS: Readonly<
  Record<Exclude<TaskColumn, 'source_id'>, { readonly field: keyof StoredTask; readonly isKey?: true }>
> = {
  id: { field: 'id', isKey: true },
  day: { field: 'day' },
  version: { field: 'version' },
  is_open: { field: 'isOpen' },
  state: { field: 'state', isKey: true },
  name: { field: 'name', isKey: true },
  worker: { field: 'worker', isKey: true },
  queue: { field: 'queue', isKey: true },
  root_id: { field: 'rootId', isKey: true },
  parent_id: { field: 'parentId', isKey: true },
  group_id: { field: 'groupId', isKey: true },
  chord_id: { field: 'chordId', isKey: true },
  changed: { field: 'timestamp' },
  received: { field: 'received' },
  started: { field: 'started' },
  finished: { field: 'finished' },
  runtime: { field: 'runtime' },
  record: { field: 'record' },
  texts: { field: 'texts' },
  cause: { field: 'cause' },
};

/** The value of each column after the number of the source. */
const READ = (TASK_COLUMNS.slice(1) as readonly (readonly [keyof typeof FIELDS, string])[]).map(
  ([column, type]) => ({ ...FIELDS[column], isText: type === 'text' }),
);

/** A task as it is written, without the number of its source. */
export function taskRow(task: StoredTask): SqlRow {
  return READ.map(({ field, isKey }) => {
    const value = task[field];
    if (typeof value === 'boolean') return value ? 1 : 0;
    return isKey === true && typeof value === 'string' ? toColumn(value) : value;
  });
}

/** @param row the columns that {@link taskRow} writes */
export function taskOf(row: SqlRow): StoredTask {
  const task: Record<string, SqlField | boolean> = { ...NO_TASK };
  for (let at = 0; at < READ.length; at++) {
    const { field, isKey, isText } = READ[at] as (typeof READ)[number];
    const value = row[at] ?? null;
    if (value === null) continue;
    if (field === 'isOpen') task[field] = Number(value) === 1;
    else if (!isText) task[field] = numberOf(value);
    else task[field] = isKey === true ? fromColumn(String(value)) : String(value);
  }
  // Every column has its field: `FIELDS` has a row for each.
  return task as unknown as StoredTask;
}

/** Both engines sort behind all numbers what is none: somebody else wrote it. */
function numberOf(value: SqlField): number {
  const number = Number(value);
  return Number.isNaN(number) ? Number.POSITIVE_INFINITY : number;
}

/** @param row its id, that of its root, when it last changed, and its record */
export function recordOf([id, rootId = null, changed = null, record]: SqlRow): StoredRecord {
  return {
    id: fromColumn(String(id)),
    rootId: rootId === null ? null : fromColumn(String(rootId)),
    timestamp: changed === null ? null : numberOf(changed),
    record: String(record),
    texts: null,
  };
}

/** @param row its id, its name, and the ids of its root, parent, group and chord */
export function relativesOf(row: SqlRow): StoredRelatives {
  const keyAt = (at: number): string | null => (row[at] == null ? null : fromColumn(String(row[at])));
  return {
    id: fromColumn(String(row[0])),
    name: keyAt(1),
    rootId: keyAt(2),
    parentId: keyAt(3),
    groupId: keyAt(4),
    chordId: keyAt(5),
  };
}

/** Copied for each row, so that all of them have the same shape: others take several times the memory. */
const NO_TASK = Object.fromEntries(READ.map(({ field }) => [field, null]));

const NEEDS_ESCAPE = /[\0\\]|\p{Surrogate}/u;

/**
 * An id or name as a column. PostgreSQL stores neither NUL nor half a surrogate pair in a text, and ids may contain
 * both. Texts with one of them, or with a backslash, are stored with JSON's escapes; all others as they are.
 */
export function toColumn(text: string): string {
  if (!NEEDS_ESCAPE.test(text)) return text;
  return JSON.stringify(text).slice(1, -1);
}

/** @returns the original text of {@link toColumn}; a column that somebody else wrote as it is */
export function fromColumn(column: string): string {
  if (!column.includes('\\')) return column;
  try {
    return String(JSON.parse(`"${column}"`));
  } catch {
    return column;
  }
}

/** Characters that JSON does not escape, and that the database lower-cases as JavaScript does. */
const PLAIN_RUNS = /[\u0020\u0021\u0023-\u005b\u005d-\u007e]+/g;
/** Shorter texts are in nearly every record. */
const SHORTEST = 3;

/**
 * The pattern of `LIKE` for JSON that may contain a text, whatever case it has: that of its longest plain part.
 *
 * @returns `null`: no part of the text is selective
 */
export function containing(text: string): string | null {
  const parts = (text.match(PLAIN_RUNS) ?? []).toSorted((a, b) => b.length - a.length);
  const [longest = ''] = parts;
  return longest.length < SHORTEST ? null : `%${longest.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
}

/** @returns the beginnings that a column may have of a text that begins with this one, which has whole characters */
export function prefixesInColumn(prefix: string): readonly string[] {
  const escaped = JSON.stringify(prefix).slice(1, -1);
  // Characters without need for an escape may be in a text with escapes.
  return NEEDS_ESCAPE.test(prefix) || escaped === prefix ? [escaped] : [prefix, escaped];
}
