/** The statements that change which days a file has tables for. */
import { listColumns } from '../sql/batches.ts';
import { createDayTable } from '../sql/create-tables.ts';
import { comingDays, DAY_TABLES, type DayTable, endOf, presentDay } from '../sql/days.ts';
import type { TableNames } from '../sql/names.ts';
import { TABLES } from '../sql/schema.ts';
import { SQLITE } from './sqlite-dialect.ts';
import { figureStatements } from './sqlite-figures.ts';

/** The days that have tables, as the list in the table `meta` says. */
export type DayList = readonly number[];

/** The key of the list. */
const KEY = 'days';

/** The statement that reads the list. Its value is {@link LIST_KEY}. */
export function listStatement({ meta }: TableNames): string {
  return `SELECT value FROM ${meta} WHERE key = $1`;
}
export const LIST_KEY = KEY;

/** The statements that create the first days, and the list of them. */
export function createFirstDays(names: TableNames): readonly string[] {
  const days = comingDays(presentDay());
  return [
    // Creates the table for the figures.
    'ANALYZE',
    `INSERT INTO ${names.meta} (key, value) VALUES ('${KEY}', '${days.join(' ')}')`,
    ...days.flatMap((day) => createDay(names, day)),
    ...createViews(names, days),
  ];
}

/**
 * Fails, and with it the transaction that it begins, if another process has changed the list since it was read: it
 * writes the key a second time.
 */
export function isUnchanged({ meta }: TableNames, listed: DayList): string {
  return `INSERT INTO ${meta} (key, value) SELECT key, value FROM ${meta} WHERE key = '${KEY}' AND value <> '${listed.join(' ')}'`;
}

/** The statements that change the list, and create missing tables. Tables that are no longer listed stay. */
export function changeDays(names: TableNames, from: DayList, to: DayList): readonly string[] {
  const added = to.filter((day) => !from.includes(day));
  return [
    isUnchanged(names, from),
    `UPDATE ${names.meta} SET value = '${to.join(' ')}' WHERE key = '${KEY}'`,
    ...DAY_TABLES.map((table) => `DROP VIEW ${names[table]}`),
    // A process may have ended before it had dropped all tables of a day.
    ...added.flatMap((day) =>
      DAY_TABLES.map((table) => `DROP TABLE IF EXISTS ${names.of(table + endOf(day))}`),
    ),
    ...added.flatMap((day) => createDay(names, day)),
    ...createViews(names, to),
  ];
}

function createDay(names: TableNames, day: number): readonly string[] {
  return DAY_TABLES.flatMap((table) => [
    ...createDayTable(SQLITE, names, table, endOf(day)),
    ...figureStatements(names, table, endOf(day)),
  ]);
}

/** SQLite reads such a view table by table, each by its own indexes, and merges the results in order. */
function createViews(names: TableNames, days: DayList): readonly string[] {
  const part = (table: DayTable, day: number): string =>
    `SELECT ${listColumns(TABLES[table].columns)} FROM ${names.of(table + endOf(day))}`;
  return [
    ...DAY_TABLES.map(
      (table) => `CREATE VIEW ${names[table]} AS ${days.map((day) => part(table, day)).join(' UNION ALL ')}`,
    ),
    // Loads the statistics of new tables.
    'ANALYZE sqlite_schema',
  ];
}
