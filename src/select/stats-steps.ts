/** How a window of statistics is divided into steps. */
import type { TaskStatsQuery } from '../source.ts';

const MINUTE_MS = 60_000;
/** Readable chart steps, in seconds; the smallest one with at most 60 steps is used, beyond a day with at most 90. */
const STEPS = [1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800];
const LONG_STEPS = [3_600, 7_200, 14_400, 28_800, 86_400];
const MAX_STEPS = 60;
const MAX_LONG_STEPS = 90;
const DAY_MINUTES = 1_440;

/** A window and its steps. Times in milliseconds since 1970. */
export interface StatsWindow {
  readonly start: number;
  readonly end: number;
  readonly stepSeconds: number;
  /** When the first step begins. */
  readonly first: number;
  /** How many steps there are. */
  readonly count: number;
}

/** @param least shortest possible step, in seconds */
export function statsWindow(
  query: Pick<TaskStatsQuery, 'minutes' | 'now' | 'stepSeconds'>,
  least = 1,
): StatsWindow {
  const { minutes, now, stepSeconds: asked } = query;
  const stepSeconds = Math.max(asked ?? usualStep(minutes), least);
  const stepMs = stepSeconds * 1_000;
  const end = now.getTime();
  const start = end - minutes * MINUTE_MS;
  // Steps begin at round times, so that a chart does not change between two answers.
  const first = Math.floor(start / stepMs) * stepMs;
  const count = Math.floor(end / stepMs) - first / stepMs + 1;
  return { start, end, stepSeconds, first, count };
}

function usualStep(minutes: number): number {
  if (minutes > DAY_MINUTES) {
    return LONG_STEPS.find((step) => (minutes * 60) / step <= MAX_LONG_STEPS) ?? 86_400;
  }
  return STEPS.find((step) => (minutes * 60) / step <= MAX_STEPS) ?? 1_800;
}
