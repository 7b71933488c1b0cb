/** Histograms of durations. */
import type { MetricHistogram, MetricLabels } from '../source.ts';

/** Upper bounds of buckets for runs and waits of tasks, in seconds, as dashboards for Celery expect them. */
export const RUN_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
export const WAIT_BOUNDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800];

/** Durations by bucket. */
export interface Durations {
  readonly bounds: readonly number[];
  /** Not cumulative; the last one counts durations above all bounds. */
  readonly counts: number[];
  sum: number;
}

/** Creates an empty histogram. */
export function createDurations(bounds: readonly number[]): Durations {
  return { bounds, counts: new Array(bounds.length + 1).fill(0), sum: 0 };
}

/** The number of series of a histogram: its buckets, infinity, the sum and the count. */
export function seriesOf(bounds: readonly number[]): number {
  return bounds.length + 3;
}

/** Counts a duration. */
export function addDuration(durations: Durations, seconds: number): void {
  const { bounds, counts } = durations;
  let at = 0;
  while (at < bounds.length && seconds > (bounds[at] as number)) at++;
  counts[at] = (counts[at] ?? 0) + 1;
  durations.sum += seconds;
}

/** The current histogram. */
export function readDurations({ bounds, counts, sum }: Durations, labels: MetricLabels): MetricHistogram {
  let count = 0;
  const cumulative = counts.map((own) => {
    count += own;
    return count;
  });
  // Infinity is not included in the buckets.
  return { labels, buckets: cumulative.slice(0, bounds.length), sum, count };
}
