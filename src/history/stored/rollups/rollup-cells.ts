/** Cells of rollups: made of the cells of the per-minute aggregate, written as text, and added up. */
import { BUCKETS } from '../../../select/durations.ts';
import type { DurationKind } from '../../../source.ts';
import { HISTOGRAMS, MINUTE_MS, OUTCOME_COUNT, WIDTH } from '../../aggregate/cells.ts';
import type { TaskCell } from '../../aggregate/minute-aggregate.ts';
import type { QueueGauge } from '../../aggregate/queue-history.ts';
import type { RollupLevel, StoredRollup } from '../../rollup-store.ts';

export const HOUR_MS = 60 * 60_000;
export const DAY_MS = 24 * HOUR_MS;
/** How long minutes are kept, in days. */
export const MINUTE_DAYS = 2;
/** Numbers of a stored cell: the outcomes, and on level 0 the seconds that were watched. */
const COUNTS = 9;
/** The column of the seconds that were watched. */
export const WATCHED = OUTCOME_COUNT;
/** Columns of both histograms. */
export const TIMES = WIDTH - OUTCOME_COUNT;

/** Columns of a queue's gauge. */
export const GAUGE = {
  samples: 0,
  mostWaiting: 1,
  lastWaiting: 2,
  agedSamples: 3,
  mostAge: 4,
  lastAge: 5,
  atLeastSamples: 6,
} as const;

/** The key of a stored cell, beside its span, start and writer. */
export type RollupKey = Pick<StoredRollup, 'level' | 'name' | 'queue' | 'worker'>;

/** What is counted for one key. */
export interface RollupSums {
  readonly key: RollupKey;
  /** {@link COUNTS} numbers. */
  readonly counts: Float64Array;
  /** {@link TIMES} numbers; `null`: not counted on this level. */
  readonly times: Float64Array | null;
}

/** Sums of one span, by key. */
export type SumsByKey = Map<string, RollupSums>;

/** The sums of a key, which are zero at first. */
export function sumsOf(sums: SumsByKey, { level, name, queue, worker }: RollupKey): RollupSums {
  const text = `${level}\n${name}\n${queue}\n${worker}`;
  const known = sums.get(text);
  if (known !== undefined) return known;
  const hasTimes = level === 1 || level === 4;
  const created: RollupSums = {
    key: { level, name, queue, worker },
    counts: new Float64Array(COUNTS),
    times: hasTimes ? new Float64Array(TIMES) : null,
  };
  sums.set(text, created);
  return created;
}

/** A cell of the per-minute aggregate counts on five levels. */
export function keysOf({ name, queue, worker }: Omit<RollupKey, 'level'>): RollupKey[] {
  const key = (level: RollupLevel, own: Partial<RollupKey>): RollupKey => ({
    level,
    name: '',
    queue: '',
    worker: '',
    ...own,
  });
  return [
    key(0, {}),
    key(1, { name }),
    key(2, { queue }),
    key(3, { worker }),
    key(4, { name, queue, worker }),
  ];
}

/** Adds a cell of the per-minute aggregate. */
export function addCell({ counts, times }: RollupSums, { columns }: Pick<TaskCell, 'columns'>): void {
  for (let column = 0; column < OUTCOME_COUNT; column++) {
    counts[column] = (counts[column] as number) + (columns[column] as number);
  }
  if (times === null) return;
  for (let column = 0; column < TIMES; column++) {
    times[column] = (times[column] as number) + (columns[HISTOGRAMS.run + column] as number);
  }
}

/** The cell to be stored. */
export function storedCell(
  { key, counts, times }: RollupSums,
  span: StoredRollup['span'],
  start: number,
  writer: string,
): StoredRollup {
  return {
    ...key,
    span,
    start,
    writer,
    weight:
      key.level === 5 ? (counts[GAUGE.samples] as number) : counts.reduce((sum, count) => sum + count, 0),
    counts: [...counts],
    times: times === null ? null : writeTimes(times),
  };
}

/** The gauge of a queue, to be stored. */
export function storedGauge(queue: string, minute: number, gauge: QueueGauge, writer: string): StoredRollup {
  const { samples, mostWaiting, lastWaiting, agedSamples, mostAge, lastAge, atLeastSamples } = gauge;
  return {
    span: 60,
    start: minute * MINUTE_MS,
    level: 5,
    writer,
    name: '',
    queue,
    worker: '',
    weight: samples,
    counts: [samples, mostWaiting, lastWaiting, agedSamples, mostAge, lastAge, atLeastSamples, 0, 0],
    times: null,
  };
}

/** Adds the gauge of a later time. */
function addGauge(counts: Float64Array, given: readonly number[]): void {
  const at = (column: number): number => given[column] ?? 0;
  counts[GAUGE.mostWaiting] = Math.max(counts[GAUGE.mostWaiting] as number, at(GAUGE.mostWaiting));
  counts[GAUGE.mostAge] = Math.max(counts[GAUGE.mostAge] as number, at(GAUGE.mostAge));
  if (at(GAUGE.samples) > 0) counts[GAUGE.lastWaiting] = at(GAUGE.lastWaiting);
  if (at(GAUGE.agedSamples) > 0) counts[GAUGE.lastAge] = at(GAUGE.lastAge);
  for (const column of [GAUGE.samples, GAUGE.agedSamples, GAUGE.atLeastSamples]) {
    counts[column] = (counts[column] as number) + at(column);
  }
}

/** Adds a stored cell of another span or writer. Those of gauges come oldest first. */
export function addStored({ key, counts, times }: RollupSums, cell: StoredRollup): void {
  if (key.level === 5) {
    addGauge(counts, cell.counts);
    return;
  }
  for (let column = 0; column < COUNTS; column++) {
    counts[column] = (counts[column] as number) + (cell.counts[column] ?? 0);
  }
  if (times !== null && cell.times !== null) addTimes(times, cell.times);
}

/** Histograms as text: `bucket` and `count` of each bucket that is not empty, two numbers of base 36 and a comma. */
export function writeTimes(times: ArrayLike<number>): string {
  let text = '';
  for (let bucket = 0; bucket < times.length; bucket++) {
    const count = times[bucket] as number;
    if (count > 0) text += `${bucket.toString(36)} ${count.toString(36)},`;
  }
  return text;
}

/** Adds histograms that were written as text. Unreadable parts are left out. */
export function addTimes(times: Float64Array, text: string): void {
  let bucket = 0;
  let number = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === SPACE) {
      bucket = number;
      number = 0;
    } else if (code === COMMA) {
      if (bucket < times.length) times[bucket] = (times[bucket] as number) + number;
      number = 0;
    } else number = number * 36 + (code < LETTER_A ? code - DIGIT_0 : code - LETTER_A + 10);
  }
}

const SPACE = 32;
const COMMA = 44;
const DIGIT_0 = 48;
const LETTER_A = 97;

/** One of both histograms. */
export function histogramIn(times: Float64Array, kind: DurationKind): Float64Array {
  const first = HISTOGRAMS[kind] - OUTCOME_COUNT;
  return times.subarray(first, first + BUCKETS);
}

/** The columns of a cell of the per-minute aggregate that was stored. */
export function columnsOf({ counts, times }: StoredRollup): Float64Array {
  const columns = new Float64Array(WIDTH);
  for (let column = 0; column < OUTCOME_COUNT; column++) columns[column] = counts[column] ?? 0;
  const histograms = new Float64Array(TIMES);
  if (times !== null) addTimes(histograms, times);
  columns.set(histograms, OUTCOME_COUNT);
  return columns;
}
