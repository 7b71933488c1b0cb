/**
 * Finds rows that were written since the last poll: new ones by primary key, and all by an index on `date_done` where there
 * is one. Without it, the ends of tasks whose rows were there before are found by looking those tasks up. No statement
 * reads a whole table.
 */
import { MOST_ROWS, numberOf, parseSqlTime, type SqlReader } from '../../sql/sql-reader.ts';

import { headColumns, headsOf, keyOf, listsOf, type RowHead } from './result-rows.ts';
import type { ResultTables } from './result-tables.ts';
import { ENDED } from './result-text.ts';

/** Most pages of {@link MOST_ROWS} rows that a poll reads of each kind. The next poll continues. */
const MOST_PAGES = 5;
/** Clocks of workers differ, and rows are committed after they were dated: this much is read again, in milliseconds. */
const OVERLAP_MS = 10_000;
/** Polls between two that read the overlap again. */
const SWEEP_EVERY = 5;
/** Rows that were found so soon after the last poll are new, in milliseconds. */
const JUST_POLLED_MS = 60_000;
/** How long a skipped key may be committed late, in milliseconds, and most of them that are looked at again. */
const LATE_MS = 30_000;
const MOST_GAPS = 500;
/** Keys before a row that may belong to rows of other workers that are committed later. */
const LONGEST_GAP = 50;
/** Written rows are remembered up to this number, up to twice as many: those of the overlap. */
const MOST_SEEN = 20_000;
/** A clock that differs by more is in another time zone, in milliseconds. */
const LEAST_SKEW_MS = 10 * 60_000;

/** What a poll reads. */
interface PollParts {
  readonly reader: SqlReader;
  readonly tables: ResultTables;
  readonly signal: AbortSignal;
}

/** How far the table of results has been read. */
export interface RowPositions {
  /** The greatest key that was seen. */
  lastKey: number;
  /** How far the index of dates was read: a date as the database writes it, and the last key of that date. */
  lastDate: string;
  lastDateKey: number;
  /** Rows that were written and have not been handed over, by key. They stay while the database is unreachable. */
  readonly pending: Map<number, RowHead>;
  /** Skipped keys, whose rows may be committed later, and when they were noticed by the monotonic clock. */
  readonly gaps: Map<number, number>;
  /** How far the dates of new rows are behind, in milliseconds; 0: less than ten minutes. */
  skew: number;
  /** When rows were last searched, by the monotonic clock. */
  polledAt: number;
  /** Rows by key, task, state and date; `seenBefore` has older ones. */
  seen: Set<string>;
  seenBefore: ReadonlySet<string>;
}

/** The positions at the beginning: existing rows are not reported. */
export async function firstPositions(parts: PollParts): Promise<RowPositions> {
  const { top, clock } = await readEnd(parts);
  const positions: RowPositions = {
    lastKey: top,
    lastDate: dateAt(parts, clock - OVERLAP_MS),
    lastDateKey: 0,
    pending: new Map(),
    gaps: new Map(),
    skew: 0,
    polledAt: performance.now(),
    seen: new Set(),
    seenBefore: new Set(),
  };
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
  await readGaps(parts, positions);
  const isSweep = count % SWEEP_EVERY === 0;
  const isBehindDates = parts.tables.isDateIndexed && (await readDates(parts, positions, clock, isSweep));
  return isBehindKeys || isBehindDates;
}

/** Rows to hand over, in the order in which they were written: a failure comes before those of the steps behind it. */
export function pendingRows({ pending }: RowPositions): RowHead[] {
  return [...pending.values()].sort((one, other) => {
    // Only results of tasks that have not ended have no date.
    const [first, second] = [one.date ?? '', other.date ?? ''];
    if (first === second) return one.key - other.key;
    return first < second ? -1 : 1;
  });
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
    passKeys(positions, heads);
    found.push(...takeChanged(positions, heads));
    if (heads.length === MOST_ROWS && positions.lastKey > before) continue;
    if (isRecent) compareClocks(positions, found, clock, reader.options.timezone);
    return false;
  }
  return true;
}

/** Notices the keys between the rows of one page, which is sorted by key. */
function passKeys(positions: RowPositions, heads: readonly RowHead[]): void {
  const now = performance.now();
  for (const { key } of heads) {
    let gap = Math.max(positions.lastKey + 1, key - LONGEST_GAP);
    for (; gap < key && positions.gaps.size < MOST_GAPS; gap += 1) positions.gaps.set(gap, now);
    positions.lastKey = Math.max(positions.lastKey, key);
  }
}

/** Skipped keys, by lists of primary keys. */
async function readGaps({ reader, tables, signal }: PollParts, positions: RowPositions): Promise<void> {
  const { dialect } = reader;
  const { gaps } = positions;
  const now = performance.now();
  for (const [key, since] of gaps) if (now - since > LATE_MS) gaps.delete(key);
  for (const { places, values } of listsOf([...gaps.keys()].map(String))) {
    const list = Array(places).fill(dialect.integerValue).join(', ');
    const text = `SELECT ${headColumns(reader, tables)} FROM ${tables.results.from} WHERE ${dialect.column('id')} IN (${list})`;
    takeChanged(positions, headsOf(await reader.select({ text, values, limit: places }, signal)));
  }
}

/**
 * Compares the dates of rows that have just been written with the clock of the database.
 *
 * @param zone of dates that are stored without one
 */
function compareClocks(
  positions: RowPositions,
  heads: readonly RowHead[],
  clock: number,
  zone: string,
): void {
  const behind = heads.flatMap(({ state, date }) => {
    const time = date === null || !ENDED.has(state) ? null : parseSqlTime(date, zone);
    return time === null ? [] : [clock - time];
  });
  if (behind.length === 0) return;
  const least = behind.reduce((one, other) => (Math.abs(one) < Math.abs(other) ? one : other));
  positions.skew = Math.abs(least) < LEAST_SKEW_MS ? 0 : least;
}

/** Notes as pending those of these rows that were written since they were last seen. @returns them */
function takeChanged(positions: RowPositions, heads: readonly RowHead[]): readonly RowHead[] {
  const { gaps, pending } = positions;
  const changed: RowHead[] = [];
  for (const head of heads) {
    const { key, id, state, date } = head;
    gaps.delete(key);
    const mark = `${key} ${id} ${state} ${date}`;
    if (positions.seen.has(mark) || positions.seenBefore.has(mark)) continue;
    if (positions.seen.size >= MOST_SEEN) {
      positions.seenBefore = positions.seen;
      positions.seen = new Set();
    }
    positions.seen.add(mark);
    changed.push(head);
    if (id !== '') pending.set(key, head);
  }
  return changed;
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
