/**
 * How far the tables have been read, and which rows have to be looked at again: keys that were skipped, whose rows may be
 * committed later, and results of tasks that had not ended.
 */
import { parseSqlTime } from '../../sql/sql-values.ts';
import type { RowHead } from './result-rows.ts';

/** How long a skipped key may be committed late, in milliseconds. */
const LATE_MS = 30_000;
/** Most skipped keys and most open results that are looked at again. */
const MOST_GAPS = 500;
/** Keys before a row that may belong to rows of other workers that are committed later. */
const LONGEST_GAP = 50;
const MOST_OPEN = 20_000;
/** The last state is remembered for this many rows, up to twice as many: those of the overlap. */
const MOST_SEEN = 20_000;

/** States after which a result is not written again, except by a retry of the whole task. */
const ENDED: ReadonlySet<string> = new Set(['SUCCESS', 'FAILURE', 'REVOKED', 'REJECTED', 'IGNORED']);
/** States without data of their own: a row of one of them is only read again once its state or date has changed. */
const PLAIN: ReadonlySet<string> = new Set(['PENDING', 'RECEIVED', 'STARTED', 'RETRY']);

/** Positions in the table of results. */
export interface RowPositions {
  /** The greatest key that was seen. */
  lastKey: number;
  /** How far the index of dates was read: a date as the database writes it, and the last key of that date. */
  lastDate: string;
  lastDateKey: number;
  /** Rows that were written and have not been handed over, by key. They stay while the database is unreachable. */
  readonly pending: Map<number, RowHead>;
  /** Skipped keys, and when they were noticed by the monotonic clock. */
  readonly gaps: Map<number, number>;
  /** Keys of results whose tasks have not ended, those looked at last behind the others. */
  readonly open: Set<number>;
  /** How far the dates of new rows are behind, in milliseconds; 0: less than ten minutes. */
  skew: number;
  /** When rows were last searched, by the monotonic clock. */
  polledAt: number;
  /** State and date of rows, by key; `seenBefore` has older ones. */
  seen: Map<number, string>;
  seenBefore: ReadonlyMap<number, string>;
}

/** @param lastKey the greatest key; rows with a smaller one existed before */
export function newPositions(lastKey: number, lastDate: string): RowPositions {
  const seen = { seen: new Map(), seenBefore: new Map() };
  const now = { skew: 0, polledAt: performance.now() };
  const found = { gaps: new Map(), open: new Set<number>(), pending: new Map() };
  return { lastKey, lastDate, lastDateKey: 0, ...found, ...now, ...seen };
}

/** Notices the keys between the rows of one page, which is sorted by key. */
export function passKeys(positions: RowPositions, heads: readonly RowHead[], now: number): void {
  for (const { key } of heads) {
    for (
      let gap = Math.max(positions.lastKey + 1, key - LONGEST_GAP);
      gap < key && positions.gaps.size < MOST_GAPS;
      gap += 1
    )
      positions.gaps.set(gap, now);
    positions.lastKey = Math.max(positions.lastKey, key);
  }
}

/** A clock that differs by more is in another time zone, in milliseconds. */
const LEAST_SKEW_MS = 10 * 60_000;

/**
 * Compares the dates of rows that have just been written with the clock of the database.
 *
 * @param zone of dates that are stored without one
 */
export function compareClocks(
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

/** Results that were read elsewhere. Those whose tasks have not ended are handed over once they are written again. */
export function watchOpen(positions: RowPositions, heads: readonly RowHead[]): void {
  for (const head of heads) {
    watch(positions, head);
    if (positions.open.has(head.key)) remember(positions, head.key, markOf(head));
  }
}

/** Changes when the row is written again. */
function markOf({ state, date }: RowHead): string {
  return `${state} ${date}`;
}

/**
 * Notes as pending those of these rows that were written since they were last seen.
 *
 * @returns them
 */
export function takeChanged(positions: RowPositions, heads: readonly RowHead[]): readonly RowHead[] {
  const changed = heads.filter((head) => {
    const { key, state, date } = head;
    positions.gaps.delete(key);
    watch(positions, head);
    const mark = markOf(head);
    const before = positions.seen.get(key) ?? positions.seenBefore.get(key);
    remember(positions, key, mark);
    // Progress is stored under the same state, and SQLAlchemy does not date it.
    return before !== mark || (date === null && !PLAIN.has(state) && !ENDED.has(state));
  });
  for (const head of changed) if (head.id !== '') positions.pending.set(head.key, head);
  return changed;
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

/**
 * Keys to look at again, those looked at longest ago first.
 *
 * @param limit most of the open results
 */
export function dueKeys(positions: RowPositions, limit: number, now: number): number[] {
  for (const [key, since] of positions.gaps) if (now - since > LATE_MS) positions.gaps.delete(key);
  const open: number[] = [];
  for (const key of positions.open) {
    if (open.length >= limit) break;
    open.push(key);
  }
  for (const key of open) {
    positions.open.delete(key);
    positions.open.add(key);
  }
  return [...positions.gaps.keys(), ...open];
}

/** Forgets open results whose rows are gone. */
export function forgetMissing(
  positions: RowPositions,
  asked: readonly number[],
  found: readonly RowHead[],
): void {
  const keys = new Set(found.map(({ key }) => key));
  for (const key of asked) if (!keys.has(key)) positions.open.delete(key);
}

function remember(positions: RowPositions, key: number, mark: string): void {
  if (positions.seen.size >= MOST_SEEN) {
    positions.seenBefore = positions.seen;
    positions.seen = new Map();
  }
  positions.seen.set(key, mark);
}

function watch({ open }: RowPositions, { key, state }: RowHead): void {
  if (ENDED.has(state)) open.delete(key);
  else if (open.size < MOST_OPEN) open.add(key);
}
