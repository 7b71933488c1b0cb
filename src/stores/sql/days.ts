/** Days, by which tasks and relations are kept and dropped. */
import type { TableNames } from './names.ts';

/** The tables whose rows are kept by day. */
export const DAY_TABLES = ['task', 'relation'] as const;
export type DayTable = (typeof DAY_TABLES)[number];

/** The end of the names of a table of a day, and of its indexes. */
export function endOf(day: number): string {
  return `_d${day}`;
}

/** @returns the day of a table with this name; `null`: it is not one of the store's tables of a day */
export function dayOf({ prefix }: Pick<TableNames, 'prefix'>, name: string): number | null {
  const day = Number(/_d(\d+)$/.exec(name)?.[1]);
  return DAY_TABLES.some((table) => name === prefix + table + endOf(day)) ? day : null;
}

/** How many days ahead there are tables: each of them costs every read a part of its planning. */
const DAYS_AHEAD = 2;

/**
 * The tables of each day: partitions in PostgreSQL, tables of their own in SQLite. Reads see all of them under the name
 * without a day.
 */
export interface DayTables {
  /** Creates the tables of the coming days, as far as this instance may. */
  prepare(today: number): Promise<void>;
  /** Makes sure that rows of these days can be written. */
  open(days: ReadonlySet<number>): Promise<void>;
  /** The table that rows of a day are written to. */
  tableOf(table: DayTable, day: number): string;
  /** The tables from which rows of the days before this one are deleted. */
  tablesBefore(table: DayTable, day: number): Promise<readonly string[]>;
  /** Moves a source's tasks that have not ended, and the relations that lead to them, from the days before to today. */
  moveOpen(source: number, before: number, today: number): Promise<void>;
  /** Drops the tables of the days before this one, as far as this instance may. */
  dropBefore(day: number, today: number): Promise<void>;
  /** Whether an index finds the texts that contain another text. */
  canSearch(): boolean;
}

/** Most rows of one transaction that moves or deletes: SQLite lets nobody else write meanwhile. */
export const ROWS_AT_ONCE = 500;

/** Repeats a step until it finds fewer than {@link ROWS_AT_ONCE}. */
export async function untilFewer(step: () => Promise<readonly unknown[]>): Promise<void> {
  let found: number;
  do {
    found = (await step()).length;
  } while (found >= ROWS_AT_ONCE);
}

const DAY_MS = 24 * 60 * 60_000;

/** The present day of UTC, counted from 1970. */
export function presentDay(): number {
  return Math.floor(Date.now() / DAY_MS);
}

/** The days for which there should be tables. */
export function comingDays(today: number): readonly number[] {
  return Array.from({ length: DAYS_AHEAD + 1 }, (_, ahead) => today + ahead);
}
