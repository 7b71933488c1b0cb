/**
 * Reads rows that were written since the last poll. No statement reads a whole table: rows are found by ranges of the
 * primary key, by lists of keys, and by ranges of an index on `date_done` where there is one.
 */
import type { SqlReader } from '../../sql/sql-reader.ts';
import { MOST_ROWS } from '../../sql/sql-reader.ts';
import { numberOf, parseSqlTime } from '../../sql/sql-values.ts';
import { headColumns, headsOf, keyOf, listsOf, type RowHead } from './result-rows.ts';
import type { ResultTables } from './result-tables.ts';
import {
  compareClocks,
  dueKeys,
  forgetMissing,
  newPositions,
  passKeys,
  type RowPositions,
  takeChanged,
} from './row-positions.ts';

/** Most pages of {@link MOST_ROWS} rows that a poll reads of each kind. The next poll continues. */
const MOST_PAGES = 5;
/** Clocks of workers differ, and rows are committed after they were dated: this much is read again, in milliseconds. */
const OVERLAP_MS = 10_000;
/** Polls between two that read the overlap again. */
const SWEEP_EVERY = 5;
/** Rows that were found so soon after the last poll are new, in milliseconds. */
const JUST_POLLED_MS = 60_000;
/** Most open results that a poll looks at. */
const MOST_OPEN = 500;

/** What a poll reads. */
export interface PollParts {
  readonly reader: SqlReader;
  readonly tables: ResultTables;
  readonly signal: AbortSignal;
}

/** The positions at the beginning: existing rows are not reported. */
export async function firstPositions(parts: PollParts): Promise<RowPositions> {
  const { top, clock } = await readEnd(parts);
  const positions = newPositions(top, dateAt(parts, clock - OVERLAP_MS));
  if (parts.tables.isDateIndexed) await readDates(parts, positions, clock, true);
  positions.pending.clear();
  return positions;
}

/**
 * Finds the rows that were written since the last poll; they are pending then.
 *
 * @param count of the polls before
 * @returns whether there is more to find
 * @throws SqlError
 */
export async function pollRows(parts: PollParts, positions: RowPositions, count: number): Promise<boolean> {
  const { top, clock } = await readEnd(parts);
  // Rows were removed, and their keys may be given again.
  positions.lastKey = Math.min(positions.lastKey, top);
  const isBehindKeys = top > positions.lastKey && (await readKeys(parts, positions, clock));
  positions.polledAt = performance.now();
  await readDue(parts, positions);
  const isSweep = count % SWEEP_EVERY === 0;
  const isBehindDates = parts.tables.isDateIndexed && (await readDates(parts, positions, clock, isSweep));
  return isBehindKeys || isBehindDates;
}

/** The greatest key, 0 without rows, and the clock of the database in milliseconds since 1970. */
async function readEnd({ reader, tables, signal }: PollParts): Promise<{ top: number; clock: number }> {
  const { dialect } = reader;
  const text = `SELECT (SELECT MAX(${dialect.column('id')}) FROM ${tables.results.from}) AS top, ${dialect.now} AS clock`;
  const [row] = await reader.select({ text, limit: 1 }, signal);
  const top = row === undefined ? null : keyOf(row, 'top');
  const clock = row === undefined ? null : numberOf(row, 'clock');
  return { top: top ?? 0, clock: clock ?? Date.now() };
}

/**
 * New rows, by primary key.
 *
 * @returns whether there are more
 */
async function readKeys(parts: PollParts, positions: RowPositions, clock: number): Promise<boolean> {
  const { reader, tables, signal } = parts;
  const { dialect } = reader;
  const key = dialect.column('id');
  const text = `SELECT ${headColumns(reader, tables)} FROM ${tables.results.from} WHERE ${key} > ${dialect.integerValue} ORDER BY ${key}`;
  // After an outage, rows are no longer new when they are read.
  const isRecent = performance.now() - positions.polledAt < JUST_POLLED_MS;
  const found: RowHead[] = [];
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const before = positions.lastKey;
    const heads = headsOf(await reader.select({ text, values: [String(before)], limit: MOST_ROWS }, signal));
    passKeys(positions, heads, performance.now());
    found.push(...takeChanged(positions, heads));
    if (heads.length === MOST_ROWS && positions.lastKey > before) continue;
    if (isRecent) compareClocks(positions, found, clock, reader.options.timezone);
    return false;
  }
  return true;
}

/** Skipped keys and open results, by lists of primary keys. */
async function readDue(parts: PollParts, positions: RowPositions): Promise<void> {
  const { reader, tables, signal } = parts;
  const { dialect } = reader;
  const keys = dueKeys(positions, MOST_OPEN, performance.now());
  const found: RowHead[] = [];
  for (const { places, values } of listsOf(keys.map(String))) {
    const list = Array(places).fill(dialect.integerValue).join(', ');
    const text = `SELECT ${headColumns(reader, tables)} FROM ${tables.results.from} WHERE ${dialect.column('id')} IN (${list})`;
    const heads = headsOf(await reader.select({ text, values, limit: places }, signal));
    found.push(...heads);
    takeChanged(positions, heads);
  }
  forgetMissing(positions, keys, found);
}

/**
 * Rows by the index on `date_done`.
 *
 * @returns whether there are more that are not dated in the future
 */
async function readDates(
  parts: PollParts,
  positions: RowPositions,
  clock: number,
  isSweep: boolean,
): Promise<boolean> {
  const { reader, tables, signal } = parts;
  const { dialect } = reader;
  const [key, date] = ['id', 'date_done'].map(dialect.column);
  const value = dialect.timeValue(tables.results.types.get('date_done') ?? '');
  const text =
    `SELECT ${headColumns(reader, tables)} FROM ${tables.results.from} ` +
    `WHERE ${date} >= ${value} AND (${date} > ${value} OR ${key} > ${dialect.integerValue}) ORDER BY ${date}, ${key}`;
  const now = dateAt(parts, clock);
  let from = positions.lastDate;
  let after = positions.lastDateKey;
  if (isSweep) [from, after] = [dateAt(parts, (parseSqlTime(from, 'UTC') ?? clock) - OVERLAP_MS), 0];
  let isFull = true;
  for (let page = 0; page < MOST_PAGES && isFull && (page === 0 || from <= now); page += 1) {
    const values = [from, from, String(after)];
    const heads = headsOf(await reader.select({ text, values, limit: MOST_ROWS }, signal));
    takeChanged(positions, heads);
    // Text without a date with a four-digit year comes last.
    const end = heads.findLast((head) => head.date !== null && parseSqlTime(head.date, 'UTC') !== null);
    isFull = heads.length === MOST_ROWS && end === heads.at(-1);
    from = end?.date ?? from;
    after = end?.key ?? after;
  }
  // A clock that is ahead must not hide what others write.
  const earliest = dateAt(parts, clock - OVERLAP_MS);
  if (from > now) passDate(positions, now, 0);
  else if (!isFull && from < earliest) passDate(positions, earliest, 0);
  else return passDate(positions, from, after) && isFull;
  return false;
}

/** @returns whether this is farther than before */
function passDate(positions: RowPositions, date: string, key: number): boolean {
  const { lastDate, lastDateKey } = positions;
  if (date < lastDate || (date === lastDate && key <= lastDateKey)) return false;
  positions.lastDate = date;
  positions.lastDateKey = key;
  return true;
}

/** A moment as the database writes dates of results. Only dates of UTC are compared. */
function dateAt({ tables }: PollParts, time: number): string {
  const text = `${new Date(time).toISOString().slice(0, -1)}000`;
  return /with time zone/.test(tables.results.types.get('date_done') ?? '') ? `${text}Z` : text;
}
