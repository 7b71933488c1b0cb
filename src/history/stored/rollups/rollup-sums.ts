/** Sums of rollups by name: counts, and histograms of run and wait times. */
import { scheduler } from '../../../scheduler.ts';
import { bucketsOf, percentilesIn } from '../../../select/durations.ts';
import { depthsOf, MOST_DEPTHS, type QueueSample } from '../../../select/queue-depths.ts';
import type { StatsWindow } from '../../../select/task-stats.ts';
import type { DurationFigures } from '../../../source/task-stats.ts';
import type { QueueDepths, ReadContext, TaskStats } from '../../../source.ts';
import { OUTCOMES } from '../../aggregate/cells.ts';
import { UNKNOWN } from '../../aggregate/minute-aggregate.ts';
import type { RollupSteps, RollupStore, RollupTotal, StoredRollup } from '../../rollup-store.ts';
import { addTimes, GAUGE, histogramIn, TIMES } from './rollup-cells.ts';
import type { Piece } from './rollup-pieces.ts';

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
