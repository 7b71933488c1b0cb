/** Combines totals and percentiles of several sources. */
import { percentilesIn, totalsIn } from '../select/durations.ts';
import { addBuckets, BUCKETS, bucketsOf } from '../select/histogram.ts';
import type { DurationFigures, HistogramBucket, TaskStats } from '../source.ts';

type Totals = Required<Pick<TaskStats, 'totals'>> & Pick<TaskStats, 'runtimeHistogram' | 'waitHistogram'>;

/**
 * Percentiles on which sources differ are those of all histograms together.
 *
 * @param all at least one
 * @param series of all together
 */
export function mergeTotals(all: readonly TaskStats[], series: TaskStats['series']): Totals {
  const runs = mergeBuckets(all.map(({ runtimeHistogram }) => runtimeHistogram));
  const waits = mergeBuckets(all.map(({ waitHistogram }) => waitHistogram));
  const known = all.flatMap(({ totals }) => totals ?? []);
  const same = mergePercentiles(known);
  const together = percentilesIn(runs ?? NOTHING, waits ?? NOTHING);
  // A source without totals may have durations of which nothing is known.
  const percentile = (name: keyof DurationFigures): number | null =>
    known.length < all.length ? null : (same[name] ?? together[name]);
  return {
    totals: {
      ...totalsIn(series),
      ...percentiles(percentile),
    },
    ...(runs !== null && { runtimeHistogram: bucketsOf(runs) }),
    ...(waits !== null && { waitHistogram: bucketsOf(waits) }),
  };
}

const NOTHING = new Float64Array(BUCKETS);

/** `null`: one of them is not known. */
function mergeBuckets(all: readonly (readonly HistogramBucket[] | undefined)[]): Float64Array | null {
  const counts = new Float64Array(BUCKETS);
  for (const buckets of all) {
    if (buckets === undefined) return null;
    addBuckets(counts, buckets);
  }
  return counts;
}

/** The percentiles on which all agree. */
export function mergePercentiles(all: readonly Partial<DurationFigures>[]): DurationFigures {
  return percentiles((name) => agreed(all.map(({ [name]: figure = null }) => figure)));
}

function percentiles(figure: (name: keyof DurationFigures) => number | null): DurationFigures {
  return {
    runtimeP50: figure('runtimeP50'),
    runtimeP95: figure('runtimeP95'),
    runtimeP99: figure('runtimeP99'),
    waitP50: figure('waitP50'),
    waitP95: figure('waitP95'),
    waitP99: figure('waitP99'),
  };
}

/** The common value; `null` for a figure means that the source has no runs, so it does not count. */
export function agreed(figures: readonly (number | null)[]): number | null {
  const [figure = null, ...others] = new Set(figures.filter((value) => value !== null));
  return others.length === 0 ? figure : null;
}

/**
 * Adds up known ends of tasks even where others are unknown: stored results report ends where no events were heard. The
 * sum is only 0 if all parts are known; else it is `null`.
 *
 * @param sum `undefined`: of nothing
 */
export function addEnds(figure: number | null, sum: number | null | undefined): number | null {
  return addKnown(figure, sum) ?? ((figure ?? 0) + (sum ?? 0) || null);
}

/** A sum with a part that is not known is not known either. @param sum `undefined`: of nothing */
export function addKnown(figure: number | null, sum: number | null | undefined): number | null {
  if (sum === undefined) return figure;
  return figure === null || sum === null ? null : figure + sum;
}
