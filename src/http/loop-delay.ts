import { addDuration, createDurations, readDurations } from '../metrics/durations.ts';
import type { MetricHistogram } from '../source.ts';

/** Upper bounds of the buckets of delays, in seconds. */
export const DELAY_BOUNDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** How often the delay is measured, in milliseconds. */
const EVERY_MS = 20;

/** Measures how late timers of the process are called. */
export interface LoopDelay {
  /** All delays so far. */
  read(): MetricHistogram;
  close(): void;
}

/** Starts measuring: other work of the event loop delays a timer. It does not keep the process alive. */
export function measureLoopDelay(): LoopDelay {
  const delays = createDurations(DELAY_BOUNDS);
  let calledAt = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    addDuration(delays, Math.max(0, now - calledAt - EVERY_MS) / 1_000);
    calledAt = now;
  }, EVERY_MS).unref();
  return { read: () => readDurations(delays, {}), close: () => clearInterval(timer) };
}
