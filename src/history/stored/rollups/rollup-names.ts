/** Sums of rollups by name: counts, and histograms of run and wait times. */
import { percentilesIn } from '../../../select/durations.ts';
import { bucketsOf } from '../../../select/histogram.ts';
import type { DurationFigures } from '../../../source/stats-figures.ts';
import type { TaskStats } from '../../../source.ts';
import { OUTCOMES } from '../../aggregate/cells.ts';
import type { RollupTotal } from '../../rollup-store.ts';
import { addTimes, histogramIn, TIMES } from './rollup-cells.ts';

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
