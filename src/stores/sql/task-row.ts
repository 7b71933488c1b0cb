/** Stored tasks as rows, and back. */
import type { StoredRecord, StoredRelatives, StoredTask } from '../../history/store.ts';
import { TABLES } from './schema.ts';
import type { SqlField, SqlRow } from './sql-database.ts';
import { fromColumn, toColumn } from './text-key.ts';

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
    ...{ name: keyAt(1), rootId: keyAt(2), parentId: keyAt(3), groupId: keyAt(4), chordId: keyAt(5) },
  };
}

/** Copied for each row, so that all of them have the same shape: others take several times the memory. */
const NO_TASK = Object.fromEntries(READ.map(({ field }) => [field, null]));
