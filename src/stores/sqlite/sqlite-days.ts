/**
 * The tables of SQLite: one for each day, which is created when a row of the day is first written. The table `meta` has
 * the list of them, which processes that share a file change one after another.
 */
import { listColumns } from '../sql/batches.ts';
import {
  comingDays,
  type DayTable,
  type DayTables,
  dayOf,
  endOf,
  ROWS_AT_ONCE,
  untilFewer,
} from '../sql/days.ts';
import type { TableNames } from '../sql/names.ts';
import { TABLES } from '../sql/schema.ts';
import type { SqlDatabase } from '../sql/sql-database.ts';
import { isStoreError, StoreError } from '../sql/store-error.ts';
import { changeDays, type DayList, isUnchanged, LIST_KEY, listStatement } from './day-statements.ts';

/**
 * More days than are ever kept: only wrong clocks lead to this many. SQLite reads 500 tables in one statement at most,
 * and each of them costs every list some time and memory.
 */
const MOST_DAYS = 150;
/** Indexes or tables that are dropped in one transaction. */
const DROPPED_AT_ONCE = 4;
/** How often a change is tried while other processes change the list. */
const ATTEMPTS = 10;

export function createSqliteDays(database: SqlDatabase, names: TableNames): DayTables {
  const nameOf = (table: DayTable, day: number): string => names.of(table + endOf(day));
  /** Days that have had tables when the list was last read. */
  let known: ReadonlySet<number> = new Set();
  const read = async (): Promise<DayList> => {
    const [row] = await database.read(listStatement(names), [LIST_KEY]);
    return String(row?.[0] ?? '')
      .split(' ')
      .map(Number);
  };
  const change = async (choose: (listed: DayList) => Iterable<number>): Promise<void> => {
    known = await changeList(database, names, read, choose);
  };
  const add = (days: Iterable<number>): Promise<void> => change((listed) => [...listed, ...days]);
  const daysBefore = async (day: number): Promise<DayList> => (await read()).filter((one) => one < day);
  return {
    prepare: (today) => add(comingDays(today)),
    async open(days) {
      if ([...days].some((day) => !known.has(day))) await add(days);
    },
    tableOf: nameOf,
    tablesBefore: async (table, day) => (await daysBefore(day)).map((one) => nameOf(table, one)),
    async moveOpen(source, before, today) {
      await add([today]);
      const isOpen = 'is_open = 1';
      const leadsToOpen = `child IN (SELECT id FROM ${names.task} WHERE source_id = $1 AND day < $2 AND ${isOpen})`;
      const old = await daysBefore(before);
      for (const [table, condition] of [
        ['relation', leadsToOpen],
        ['task', isOpen],
      ] as const)
        for (const day of old)
          await untilFewer(async () => {
            const rows = await database.read(
              `SELECT rowid FROM ${nameOf(table, day)} WHERE source_id = $1 AND day < $2 AND ${condition} LIMIT $3`,
              [source, before, ROWS_AT_ONCE],
            );
            const numbers = rows.map(([number]) => Number(number));
            if (rows.length > 0)
              await database.script(
                moveRows(table, nameOf(table, day), nameOf(table, today), numbers, today),
              );
            return rows;
          });
    },
    async dropBefore(day, today) {
      await change((listed) => [...listed.filter((one) => one >= day), ...comingDays(today)]);
      await dropUnlisted(database, names, read);
    },
    canSearch: () => false,
  };
}

/** @returns the days that have tables now */
function changeList(
  database: SqlDatabase,
  names: TableNames,
  read: () => Promise<DayList>,
  choose: (listed: DayList) => Iterable<number>,
): Promise<ReadonlySet<number>> {
  return untilUndisturbed(async () => {
    const listed = await read();
    const chosen = new Set(choose(listed));
    if (chosen.size === listed.length && listed.every((day) => chosen.has(day))) return chosen;
    if (chosen.size > MOST_DAYS)
      throw new StoreError('refused', `SQLite already has tasks of ${MOST_DAYS} days, which is the limit.`);
    const days = [...chosen].toSorted((a, b) => a - b);
    await database.script(changeDays(names, listed, days).join(';\n'));
    return chosen;
  });
}

/**
 * Drops the tables of days that are not listed: a few indexes at a time, and finally the rows, so that other writers do
 * not wait for long. These tables are no longer read.
 */
async function dropUnlisted(
  database: SqlDatabase,
  names: TableNames,
  read: () => Promise<DayList>,
): Promise<void> {
  const found = await database.read(
    'SELECT type, name, tbl_name FROM sqlite_schema WHERE type IN ($1, $2) AND sql IS NOT NULL ORDER BY type',
    ['index', 'table'],
  );
  // The app may keep tables of its own in the file.
  const rows = found.filter(([, , table]) => dayOf(names, String(table)) !== null);
  for (let at = 0; at < rows.length; at += DROPPED_AT_ONCE)
    await untilUndisturbed(async () => {
      const listed = await read();
      const drops = rows
        .slice(at, at + DROPPED_AT_ONCE)
        .filter(([, , table]) => !listed.includes(Number(dayOf(names, String(table)))))
        .map(([type, name]) => `DROP ${String(type)} IF EXISTS "${String(name).replaceAll('"', '""')}"`);
      if (drops.length > 0) await database.script([isUnchanged(names, listed), ...drops].join(';\n'));
    });
}

/** Repeats an operation that fails because another process has changed the list. */
async function untilUndisturbed<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!isStoreError(error, 'conflict') || attempt === ATTEMPTS) throw error;
    }
  }
}

/** The script that moves rows to the table of today. A row that exists there was written later, and is kept. */
function moveRows(table: DayTable, from: string, to: string, rows: readonly number[], today: number): string {
  const { columns } = TABLES[table];
  const values = columns.map(([name]) => (name === 'day' ? String(today) : name)).join(', ');
  const which = `rowid IN (${rows.join(', ')})`;
  return `INSERT INTO ${to} (${listColumns(columns)}) SELECT ${values} FROM ${from} WHERE ${which} ON CONFLICT DO NOTHING;
DELETE FROM ${from} WHERE ${which}`;
}
