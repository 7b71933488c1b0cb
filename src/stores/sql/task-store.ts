/** The tasks of a source. */
import type {
  RelationStore,
  StoredQuery,
  StoredRelatives,
  StoredTask,
  TaskStore,
} from '../../history/store.ts';
import type { TaskRelation } from '../../model.ts';
import { runInSlices, type Steps } from '../../scheduler.ts';
import { insertBatch, readPacked } from './batches.ts';
import { type DayTables, dropDaysBefore, presentDay } from './retention.ts';
import { TABLES } from './schema.ts';
import type { SourceDatabase } from './source-database.ts';
import type { SqlRow } from './sql-database.ts';
import { fromColumn, recordOf, relativesOf, taskOf, taskRow, toColumn } from './task-row.ts';
import {
  countTasks,
  countValue,
  insertTasks,
  type ListPart,
  linkedTasks,
  listTasks,
  nextValue,
  RELATIVES,
  readTasks,
  type Statement,
  type TaskPart,
  type TaskTable,
  updateTasks,
} from './task-statements.ts';

/** Rows that are prepared between two pauses. */
const ROWS_AT_ONCE = 32;

export function createTaskStore(source: SourceDatabase, days: DayTables): TaskStore {
  const table = source.names.task;
  const tasks = (): TaskTable => ({
    dialect: source.database.dialect,
    table,
    canSearch: days.canSearch(),
  });
  const read = async ({ text, values }: Statement): Promise<readonly StoredTask[]> =>
    (await source.read(text, ...values)).map(taskOf);
  const readRelatives = async ({ text, values }: Statement): Promise<readonly StoredRelatives[]> =>
    (await readPacked(source, RELATIVES, text, values)).map(relativesOf);
  const readIds = async ({ text, values }: Statement): Promise<readonly string[]> =>
    (await readPacked(source, ['id'], text, values)).map(([id]) => fromColumn(String(id)));
  return {
    async write(given) {
      const [first, later] = await runInSlices('store', rowsOf(given));
      const inserted = await source.batch(insertTasks(table), first);
      const updated = await source.batch(updateTasks(source.database.dialect, table), later);
      return new Set([...inserted, ...updated].map(([id]) => fromColumn(String(id))));
    },
    find: async (ids) => (ids.length === 0 ? [] : read(readTasks(tasks(), ids, 'listed'))),
    read: async (ids) => (ids.length === 0 ? [] : read(readTasks(tasks(), ids, 'whole'))),
    known: async (ids) => new Set(ids.length === 0 ? [] : await readIds(readTasks(tasks(), ids, 'id'))),
    relatives: async (ids) => (ids.length === 0 ? [] : readRelatives(readTasks(tasks(), ids, 'relatives'))),
    linked: async (link, ids, most) =>
      ids.length === 0 ? [] : readRelatives(linkedTasks(tasks(), link, ids, most, 'relatives')),
    linkedIds: async (link, ids, most) =>
      ids.length === 0 ? [] : readIds(linkedTasks(tasks(), link, ids, most, 'id')),
    list: (query) => listPage(source, tasks(), query, { part: 'listed', read: taskOf }),
    records: (query) => listPage(source, tasks(), query, { part: 'record', read: recordOf }),
    async count(query, most) {
      const { text, values } = countTasks(tasks(), query, most);
      const [row] = await source.read(text, ...values);
      return Number(row?.[0] ?? 0);
    },
    dropBefore: (day, today) => dropDaysBefore(source, days, day, today),
  };
}

/** @returns the rows of tasks that are written for the first time, and of those that are written again */
function* rowsOf(tasks: readonly StoredTask[]): Steps<readonly [first: SqlRow[], later: SqlRow[]]> {
  const first: SqlRow[] = [];
  const later: SqlRow[] = [];
  for (const [at, task] of tasks.entries()) {
    (task.version === 1 ? first : later).push(taskRow(task));
    if (at % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) yield;
  }
  return [first, later];
}

/** From so many rows with one name or state on, reading by the key is faster than sorting them. */
const COMMON = 5_000;

/**
 * Reads a page: the rows with a value to sort by, then those without one.
 *
 * @param columns the columns that are read, and the conversion of a row
 */
async function listPage<Row>(
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
async function listByValue<Row>(
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

export function createRelationStore(source: SourceDatabase): RelationStore {
  const table = source.names.relation;
  const isNew = `NOT EXISTS (SELECT 1 FROM ${table} AS known WHERE known.source_id = new_source_id AND known.child = new_child
       AND known.relation = new_relation AND known.parent = new_parent)`;
  const added = insertBatch(table, TABLES.relation.columns, 'ON CONFLICT DO NOTHING', isNew);
  return {
    async write(relations) {
      const day = presentDay();
      const rows = relations.map(({ parent, child, relation }) => [
        toColumn(child),
        toColumn(relation),
        parentColumn(parent),
        day,
      ]);
      await source.batch(added, rows);
    },
    async read(ids, most) {
      if (ids.length === 0) return [];
      const { isAny } = source.database.dialect;
      // Two instances that wrote at midnight may have stored a relation twice.
      const part = (condition: string): string =>
        `SELECT DISTINCT child, relation, parent FROM ${table} WHERE source_id = $1 AND ${condition}`;
      const rows = await readPacked(
        source,
        ['child', 'relation', 'parent'],
        `${part(isAny('child', 2))} UNION ${part(isAny('parent', 3))} LIMIT $4`,
        [ids.map(toColumn), ids.map(parentColumn), most],
      );
      return rows.map(
        ([child, relation, parent]): TaskRelation => ({
          child: fromColumn(String(child)),
          relation: fromColumn(String(relation)),
          parent: parent === '' ? null : fromColumn(String(parent).slice(1)),
        }),
      );
    },
    async isEmpty() {
      const rows = await source.read(`SELECT 1 FROM ${table} WHERE source_id = $1 LIMIT 1`);
      return rows.length === 0;
    },
  };
}

function parentColumn(parent: string | null): string {
  return parent === null ? '' : `=${toColumn(parent)}`;
}
