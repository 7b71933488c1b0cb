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

/** Upper bounds of the buckets of delays, in seconds. */
export const DELAY_BOUNDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** How often the delay is measured, in milliseconds. */
const EVERY_MS = 20;

/**
 * Measures how late timers of the process are called, since other work of the event loop delays them. It does not keep
 * the process alive.
 */
export function measureLoopDelay() {
  const delays = createDurations(DELAY_BOUNDS);
  let calledAt = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    addDuration(delays, Math.max(0, now - calledAt - EVERY_MS) / 1_000);
    calledAt = now;
  }, EVERY_MS).unref();
  return {
    /** All delays so far. */
    read: () => readDurations(delays, {}),
    close: () => clearInterval(timer),
  };
}
