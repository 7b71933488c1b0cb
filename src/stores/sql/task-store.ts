/** The tasks of a source. */
import type { StoredRelatives, StoredTask, TaskStore } from '../../history/store.ts';
import { runInSlices } from '../../scheduler/in-slices.ts';
import type { Steps } from '../../scheduler.ts';
import { readPacked } from './batches.ts';
import { listPage } from './list-tasks.ts';
import { type DayTables, dropDaysBefore } from './retention.ts';
import type { SourceDatabase } from './source-database.ts';
import type { SqlRow } from './sql-database.ts';
import { recordOf, relativesOf, taskOf, taskRow } from './task-row.ts';
import {
  countTasks,
  insertTasks,
  linkedTasks,
  RELATIVES,
  readTasks,
  type Statement,
  type TaskTable,
  updateTasks,
} from './task-statements.ts';
import { fromColumn } from './text-key.ts';

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
