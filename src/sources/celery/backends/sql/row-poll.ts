/**
 * Reads what was written since the last poll. No statement reads a whole table: rows are found by ranges of the primary
 * key, by lists of keys, and by ranges of an index on `date_done` where there is one.
 */
import type { SqlReader } from '../../sql/sql-reader.ts';
import { MOST_ROWS } from '../../sql/sql-reader.ts';
import { numberOf, parseSqlTime } from '../../sql/sql-values.ts';
import { headColumns, headsOf, listsOf, type RowHead } from './result-rows.ts';
import type { ResultTables } from './result-tables.ts';
import {
  changedRows,
  compareClocks,
  dueKeys,
  forgetMissing,
  newPositions,
  passKeys,
  type RowPositions,
} from './row-positions.ts';

/** Most pages of {@link MOST_ROWS} rows that a poll reads of each kind. The next poll reads on. */
const MOST_PAGES = 5;
/** Clocks of workers differ, and rows are committed after they were dated: so much is read again, in milliseconds. */
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

/** What was found, and whether there is more. */
export interface PollResult {
  readonly changed: readonly RowHead[];
  readonly isBehind: boolean;
}

/** The positions at the beginning: what is there already is not reported. */
export async function firstPositions(parts: PollParts): Promise<RowPositions> {
  const { top, clock } = await readEnd(parts);
  const positions = newPositions(top, dateAt(parts, clock - OVERLAP_MS));
  if (parts.tables.isDateIndexed) await readDates(parts, positions, clock, true);
  return positions;
}

/**
 * @param count of the polls before
 * @throws SqlError
 */
export async function pollRows(
  parts: PollParts,
  positions: RowPositions,
  count: number,
): Promise<PollResult> {
  const { top, clock } = await readEnd(parts);
  // Rows were removed, and their keys may be given again.
  positions.lastKey = Math.min(positions.lastKey, top);
  const byKey = top > positions.lastKey ? await readKeys(parts, positions) : NONE;
  const now = performance.now();
  // After an outage, rows are no longer new when they are read.
  if (!byKey.isBehind && now - positions.polledAt < JUST_POLLED_MS)
    compareClocks(positions, byKey.changed, clock, parts.reader.options.timezone);
  positions.polledAt = now;
  const due = await readDue(parts, positions);
  const isSweep = count % SWEEP_EVERY === 0;
  const byDate = parts.tables.isDateIndexed ? await readDates(parts, positions, clock, isSweep) : NONE;
  const found = new Map<number, RowHead>();
  for (const head of [...byKey.changed, ...due, ...byDate.changed]) found.set(head.key, head);
  return { changed: inOrder([...found.values()]), isBehind: byKey.isBehind || byDate.isBehind };
}

/** In the order in which they were written: a failure comes before those of the steps behind it. */
function inOrder(heads: readonly RowHead[]): RowHead[] {
  return heads.toSorted((one, other) => {
    // Only results of tasks that have not ended have no date.
    const [first, second] = [one.date ?? '', other.date ?? ''];
    if (first === second) return one.key - other.key;
    return first < second ? -1 : 1;
  });
}

const NONE: PollResult = { changed: [], isBehind: false };

/** The greatest key, 0 without rows, and the clock of the database in milliseconds since 1970. */
async function readEnd({ reader, tables, signal }: PollParts): Promise<{ top: number; clock: number }> {
  const { dialect } = reader;
  const text = `SELECT (SELECT MAX(${dialect.column('id')}) FROM ${tables.results.from}) AS top, ${dialect.now} AS clock`;
  const [row] = await reader.select({ text, limit: 1 }, signal);
  const top = row === undefined ? null : numberOf(row, 'top');
  const clock = row === undefined ? null : numberOf(row, 'clock');
  return { top: top ?? 0, clock: clock ?? Date.now() };
}

/** New rows, by primary key. */
async function readKeys(parts: PollParts, positions: RowPositions): Promise<PollResult> {
  const { reader, tables, signal } = parts;
  const { dialect } = reader;
  const key = dialect.column('id');
  const text = `SELECT ${headColumns(reader, tables)} FROM ${tables.results.from} WHERE ${key} > ${dialect.integerValue} ORDER BY ${key}`;
  const changed: RowHead[] = [];
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const values = [String(positions.lastKey)];
    const heads = headsOf(await reader.select({ text, values, limit: MOST_ROWS }, signal));
    passKeys(positions, heads, performance.now());
    changed.push(...changedRows(positions, heads));
    if (heads.length < MOST_ROWS) return { changed, isBehind: false };
  }
  return { changed, isBehind: true };
}

/** Skipped keys and open results, by lists of primary keys. */
async function readDue(parts: PollParts, positions: RowPositions): Promise<readonly RowHead[]> {
  const { reader, tables, signal } = parts;
  const { dialect } = reader;
  const keys = dueKeys(positions, MOST_OPEN, performance.now());
  const changed: RowHead[] = [];
  const found: RowHead[] = [];
  for (const { places, values } of listsOf(keys.map(String))) {
    const list = Array(places).fill(dialect.integerValue).join(', ');
    const text = `SELECT ${headColumns(reader, tables)} FROM ${tables.results.from} WHERE ${dialect.column('id')} IN (${list})`;
    const heads = headsOf(await reader.select({ text, values, limit: places }, signal));
    found.push(...heads);
    changed.push(...changedRows(positions, heads));
  }
  forgetMissing(positions, keys, found);
  return changed;
}

/** Rows by the index on `date_done`. */
async function readDates(
  parts: PollParts,
  positions: RowPositions,
  clock: number,
  isSweep: boolean,
): Promise<PollResult> {
  const { reader, tables, signal } = parts;
  const { dialect } = reader;
  const [key, date] = ['id', 'date_done'].map(dialect.column);
  const value = dialect.timeValue(tables.results.types.get('date_done') ?? '');
  const text =
    `SELECT ${headColumns(reader, tables)} FROM ${tables.results.from} ` +
    `WHERE ${date} >= ${value} AND (${date} > ${value} OR ${key} > ${dialect.integerValue}) ORDER BY ${date}, ${key}`;
  const last = positions.lastDate ?? dateAt(parts, clock - OVERLAP_MS);
  let from = isSweep ? dateAt(parts, (parseSqlTime(last, 'UTC') ?? clock) - OVERLAP_MS) : last;
  let after = 0;
  const changed: RowHead[] = [];
  let isBehind = true;
  for (let page = 0; page < MOST_PAGES && isBehind; page += 1) {
    const values = [from, from, String(after)];
    const heads = headsOf(await reader.select({ text, values, limit: MOST_ROWS }, signal));
    changed.push(...changedRows(positions, heads));
    const end = heads.at(-1);
    isBehind = heads.length === MOST_ROWS;
    from = end?.date ?? from;
    after = end?.key ?? after;
  }
  // A clock that is ahead must not hide what others write.
  const now = dateAt(parts, clock);
  const reached = isBehind || from > now ? minOf(from, now) : maxOf(from, dateAt(parts, clock - OVERLAP_MS));
  positions.lastDate = maxOf(last, reached);
  return { changed, isBehind };
}

const minOf = (one: string, other: string): string => (one < other ? one : other);
const maxOf = (one: string, other: string): string => (one > other ? one : other);

/** A moment as the database writes dates of results. Only dates of UTC are compared. */
function dateAt({ tables }: PollParts, time: number): string {
  const text = new Date(time).toISOString();
  return /with time zone/.test(tables.results.types.get('date_done') ?? '') ? text : text.slice(0, -1);
}
