/**
 * Folds minutes to hours and hours to days: a cell whose counts are below the sum of its parts is folded again. So it
 * does not matter how often, how late or by how many instances this is done.
 */
import { type Steps, scheduler } from '../../../scheduler.ts';
import { OUTCOME_COUNT } from '../../aggregate/cells.ts';
import type { RollupLevel, RollupQuery, RollupSpan, RollupStore, StoredRollup } from '../../rollup-store.ts';
import { addStored, type SumsByKey, storedCell, sumsOf, WATCHED } from './rollup-cells.ts';

export const HOUR_MS = 60 * 60_000;
export const DAY_MS = 24 * HOUR_MS;
/** How long minutes are kept, in days. */
export const MINUTE_DAYS = 2;

const LEVELS: readonly RollupLevel[] = [0, 1, 2, 3, 4, 5];
/** Cells of one call of the store. */
const BATCH = 1_000;
/** Most cells that are read at once. */
const MOST_CELLS = 100_000;
/** Parts of a span that are read one after the other, so that all its cells need not be in memory. */
const PARTS = 12;

/** Which span is folded to which. */
interface Fold {
  readonly from: RollupSpan;
  readonly to: RollupSpan;
}

const TO_HOURS: Fold = { from: 60, to: 3_600 };
const TO_DAYS: Fold = { from: 3_600, to: 86_400 };

/**
 * Folds the complete spans between two times. Rejects with what the store throws. @param now milliseconds since 1970
 */
export async function foldRollups(store: RollupStore, since: number, now: number): Promise<void> {
  await foldSpans(store, TO_HOURS, since, now);
  await foldSpans(store, TO_DAYS, since, now);
}

/** Drops old cells: minutes after two days, the rest after `days`. */
export async function dropRollups(store: RollupStore, days: number, now: number): Promise<void> {
  const oldest = startOf(now - days * DAY_MS, DAY_MS);
  await store.dropBefore(60, Math.max(oldest, startOf(now - MINUTE_DAYS * DAY_MS, HOUR_MS)));
  await store.dropBefore(3_600, oldest);
  await store.dropBefore(86_400, oldest);
}

function startOf(time: number, spanMs: number): number {
  return Math.floor(time / spanMs) * spanMs;
}

async function foldSpans(store: RollupStore, { from, to }: Fold, since: number, now: number): Promise<void> {
  const spanMs = to * 1_000;
  const range = { from: startOf(since, spanMs), to: startOf(now, spanMs) };
  const counted = new Map<number, number>();
  for (const { start, counts } of await store.sums({ ...total(from), ...range })) {
    const whole = startOf(start, spanMs);
    counted.set(whole, (counted.get(whole) ?? 0) + eventsIn(counts));
  }
  const folded = new Map<number, number>();
  for (const { start, counts } of await store.sums({ ...total(to), ...range })) {
    folded.set(start, eventsIn(counts));
  }
  for (const [start, events] of [...counted].sort(([a], [b]) => a - b)) {
    const known = folded.get(start);
    if (known === undefined || known < events) await foldSpan(store, { from, to }, start);
  }
}

function total(span: RollupSpan): Pick<RollupQuery, 'level' | 'span' | 'names' | 'queues' | 'workers'> {
  return { level: 0, span, names: [], queues: [], workers: [] };
}

/** The total is written last: it shows that the others are. */
async function foldSpan(store: RollupStore, { from, to }: Fold, start: number): Promise<void> {
  for (const level of LEVELS.toReversed()) {
    const sums: SumsByKey = new Map();
    const partMs = (to * 1_000) / PARTS;
    for (let part = 0; part < PARTS; part++) {
      const range = { from: start + part * partMs, to: start + (part + 1) * partMs };
      const cells = await store.read({ ...total(from), level, ...range }, MOST_CELLS);
      await scheduler.run('rollups', addCells(sums, cells));
    }
    const cells = [...sums.values()].map((sum) => storedCell(sum, to, start, ''));
    for (let at = 0; at < cells.length; at += BATCH) await store.write(cells.slice(at, at + BATCH));
  }
}

function* addCells(sums: SumsByKey, cells: readonly StoredRollup[]): Steps<void> {
  let watched = { start: Number.NaN, seconds: 0 };
  for (const cell of cells) {
    const sum = sumsOf(sums, cell);
    if (cell.level !== 0) addStored(sum, cell);
    else {
      // Time that several instances have watched counts once.
      const before = watched.start === cell.start ? watched.seconds : 0;
      const seconds = Math.max(before, cell.counts[WATCHED] ?? 0);
      watched = { start: cell.start, seconds };
      addStored(sum, cell);
      sum.counts[WATCHED] = (sum.counts[WATCHED] as number) - (cell.counts[WATCHED] ?? 0) + seconds - before;
    }
    yield;
  }
}

function eventsIn(counts: readonly number[]): number {
  return counts.slice(0, OUTCOME_COUNT).reduce((sum, count) => sum + count, 0);
}
