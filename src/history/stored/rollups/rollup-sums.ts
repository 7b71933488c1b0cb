/**
 * Sums of rollups by name: counts, and histograms of run and wait times; and the minutes, hours and days from which the
 * counts of a window are made.
 */
import { scheduler } from '../../../scheduler.ts';
import { bucketsOf, percentilesIn } from '../../../select/durations.ts';
import { depthsOf, MOST_DEPTHS, type QueueSample } from '../../../select/queue-depths.ts';
import type { StatsWindow } from '../../../select/task-stats.ts';
import type { DurationFigures } from '../../../source/task-stats.ts';
import type { QueueDepths, ReadContext, TaskStats } from '../../../source.ts';
import { OUTCOMES } from '../../aggregate/cells.ts';
import { UNKNOWN } from '../../aggregate/minute-aggregate.ts';
import type {
  RollupQuery,
  RollupSpan,
  RollupSteps,
  RollupStore,
  RollupTotal,
  StoredRollup,
} from '../../rollup-store.ts';
import { addTimes, DAY_MS, GAUGE, HOUR_MS, histogramIn, MINUTE_DAYS, TIMES } from './rollup-cells.ts';

/** Most names in the result. */
const MAX_NAMES = 50;
/** Most workers and queues. */
const MAX_LISTED = 1_000;

/** Sums up totals of levels 1 and 4. */
export interface NameSums {
  add(cell: RollupTotal): void;
  /** The most frequent names. Tasks without a name, and names beyond the bound, are left out. */
  top(): TaskStats['names'];
  /** Percentiles and histograms of everything that was added. */
  durations(): DurationFigures & Required<Pick<TaskStats, 'runtimeHistogram' | 'waitHistogram'>>;
  /** Of the totals: only those of level 4 have them. */
  workers(): readonly string[];
  queues(): readonly string[];
}

interface Sums {
  readonly name: string;
  count: number;
  failed: number;
  readonly times: Float64Array;
}

export function createNameSums(): NameSums {
  const byName = new Map<string, Sums>();
  const all = new Float64Array(TIMES);
  const workers = new Set<string>();
  const queues = new Set<string>();
  return {
    add({ name, queue, worker, counts, times }) {
      if (isKnown(worker)) workers.add(worker);
      if (isKnown(queue)) queues.add(queue);
      if (times !== null) addTimes(all, times);
      if (!isKnown(name)) return;
      const sums = byName.get(name) ?? { name, count: 0, failed: 0, times: new Float64Array(TIMES) };
      byName.set(name, sums);
      for (const outcome of ['succeeded', 'failed', 'revoked', 'rejected'] as const) {
        sums.count += counts[OUTCOMES[outcome]] ?? 0;
      }
      sums.failed += counts[OUTCOMES.failed] ?? 0;
      if (times !== null) addTimes(sums.times, times);
    },
    top: () =>
      [...byName.values()]
        .filter(({ count }) => count > 0)
        .sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1))
        .slice(0, MAX_NAMES)
        .map(figuresOf),
    durations: () => ({
      ...percentilesIn(histogramIn(all, 'run'), histogramIn(all, 'wait')),
      runtimeHistogram: bucketsOf(histogramIn(all, 'run')),
      waitHistogram: bucketsOf(histogramIn(all, 'wait')),
    }),
    workers: () => [...workers].sort().slice(0, MAX_LISTED),
    queues: () => [...queues].sort().slice(0, MAX_LISTED),
  };
}

/** A text of a task: not one that stands for all, for unknown ones or for those beyond the bound. */
function isKnown(text: string): boolean {
  return text !== '' && !text.startsWith('\0');
}

function figuresOf({ name, count, failed, times }: Sums): TaskStats['names'][number] {
  const found = percentilesIn(histogramIn(times, 'run'), histogramIn(times, 'wait'));
  const { runtimeP50, runtimeP95, waitP50, waitP95 } = found;
  return { name, count, failed, runtimeP50, runtimeP95, waitP50, waitP95 };
}

/** Most cells that one answer reads of one level and span. */
const MOST_CELLS = 50_000;
/** Movements of messages of a queue. */
const MOVES = ['sent', 'received', 'started'] as const;

/**
 * The queues with the most waiting messages. Rejects with what the store throws. @param queues only these; empty: all
 */
export async function readDepths(
  store: RollupStore,
  pieces: readonly Piece[],
  window: StatsWindow,
  queues: readonly string[],
  context: ReadContext,
): Promise<readonly QueueDepths[]> {
  const all = { names: [], workers: [] };
  const steps = { first: window.first, ms: window.stepSeconds * 1_000 };
  const whole = { first: window.first, ms: steps.ms * window.count };
  const read = (level: 2 | 5, names: readonly string[], by: RollupSteps) =>
    Promise.all(pieces.map((piece) => store.byQueue({ ...piece, ...all, queues: names, level }, by)));
  // There may be thousands of queues: steps are read of those that are listed alone.
  const [depths, moves] = await Promise.all([read(5, queues, whole), read(2, queues, whole)]);
  const most = new Map<string, number>();
  // Queues that were not read, and from which messages were taken.
  for (const { queue, sums } of moves.flat()) {
    if (queue !== UNKNOWN && MOVES.some((move) => (sums[OUTCOMES[move]] ?? 0) > 0)) most.set(queue, 0);
  }
  for (const { queue, peaks } of depths.flat()) {
    most.set(queue, Math.max(most.get(queue) ?? 0, peaks[GAUGE.mostWaiting] ?? 0));
  }
  if (most.size === 0) return [];
  const busiest = [...most].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1));
  const listed = busiest.slice(0, MOST_DEPTHS).map(([queue]) => queue);
  const [gauges, moved] = await Promise.all([
    Promise.all(
      pieces.map((piece) => store.read({ ...piece, ...all, queues: listed, level: 5 }, MOST_CELLS)),
    ),
    read(2, [...listed, UNKNOWN], steps),
  ]);
  const movements = moved.flat().map(({ queue, step, sums }) => ({
    level: 2,
    queue,
    start: steps.first + step * steps.ms,
    counts: sums,
  }));
  const samples = [...gauges.flat(), ...movements].map(sampleOf);
  return await scheduler.run('stats', depthsOf(samples, window), context);
}

/** The counts of a queue in a cell of level 2 or 5. */
export function sampleOf({
  level,
  queue,
  start,
  counts,
}: Pick<StoredRollup, 'queue' | 'start' | 'counts'> & { readonly level: number }): QueueSample {
  const at = (column: number): number => counts[column] ?? 0;
  const name = queue === UNKNOWN ? null : queue;
  if (level !== 5) {
    return {
      queue: name,
      at: start,
      mostWaiting: null,
      lastWaiting: null,
      age: null,
      isAtLeast: false,
      sent: at(OUTCOMES.sent),
      received: at(OUTCOMES.received),
      started: at(OUTCOMES.started),
    };
  }
  return {
    queue: name,
    at: start,
    mostWaiting: at(GAUGE.mostWaiting),
    lastWaiting: at(GAUGE.lastWaiting),
    age: at(GAUGE.agedSamples) > 0 ? at(GAUGE.mostAge) : null,
    isAtLeast: at(GAUGE.atLeastSamples) > 0,
    sent: 0,
    received: 0,
    started: 0,
  };
}

/** A part of a window, in one span. */
export type Piece = Pick<RollupQuery, 'span' | 'from' | 'to'>;

/** Up to when minutes have been folded to hours, and hours to days. Milliseconds since 1970; `-Infinity`: never. */
interface Folded {
  readonly hours: number;
  readonly days: number;
}

const MINUTE_MS = 60_000;
/** How far back the end of the folded time is searched: before that, nothing is assumed to be folded. */
const SEARCHED = { hours: 4 * DAY_MS, days: 10 * DAY_MS };
const ALL = { names: [], queues: [], workers: [] } as const;

/** Reads from the store how far folding has come. Later minutes and hours are read instead. */
export async function readFolded(store: RollupStore, now: number): Promise<Folded> {
  const end = async (span: RollupSpan, from: number): Promise<number> => {
    const sums = await store.sums({ level: 0, span, from, to: now + DAY_MS, ...ALL });
    const last = sums.at(-1);
    return last === undefined ? Number.NEGATIVE_INFINITY : last.start + span * 1_000;
  };
  const [hours, days] = await Promise.all([
    end(3_600, now - SEARCHED.hours),
    end(86_400, now - SEARCHED.days),
  ]);
  return { hours, days };
}

/** Since when there are minutes. */
export function minutesSince(now: number): number {
  return Math.ceil((now - MINUTE_DAYS * DAY_MS) / HOUR_MS) * HOUR_MS;
}

/**
 * Divides a window into as few cells as possible: days inside, hours around them, minutes at the ends.
 *
 * @param coarsest the longest span whose cells can be told apart
 */
export function piecesOf(
  window: { readonly from: number; readonly to: number },
  coarsest: RollupSpan,
  folded: Folded,
  now: number,
): Piece[] {
  const { from, to } = window;
  if (from >= to) return [];
  if (coarsest === 60) return [{ span: 60, from: floor(from, MINUTE_MS), to }];
  if (coarsest === 86_400) {
    const days = { from: ceil(from, DAY_MS), to: Math.min(floor(to, DAY_MS), folded.days) };
    if (days.from < days.to) {
      return [
        ...piecesOf({ from, to: days.from }, 3_600, folded, now),
        { span: 86_400, ...days },
        ...piecesOf({ from: days.to, to }, 3_600, folded, now),
      ];
    }
  }
  // Without minutes, the whole hour is used for a part of it.
  const hasMinutes = from >= minutesSince(now);
  const first = hasMinutes ? ceil(from, HOUR_MS) : floor(from, HOUR_MS);
  const end = Math.min(
    hasMinutes || to >= minutesSince(now) ? floor(to, HOUR_MS) : ceil(to, HOUR_MS),
    folded.hours,
  );
  if (first >= end) return [{ span: 60, from: floor(from, MINUTE_MS), to }];
  const hours: Piece[] = [{ span: 3_600, from: first, to: end }];
  if (from < first) hours.unshift({ span: 60, from: floor(from, MINUTE_MS), to: first });
  if (end < to) hours.push({ span: 60, from: end, to });
  return hours;
}

function floor(time: number, ms: number): number {
  return Math.floor(time / ms) * ms;
}

function ceil(time: number, ms: number): number {
  return Math.ceil(time / ms) * ms;
}
