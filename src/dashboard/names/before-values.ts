import type { StatsStepBody, TaskStatsBody } from '../../client.ts';

type Figure = Exclude<keyof StatsStepBody, 't'>;

/** A figure of each step of a period. */
export const valuesOf = (stats: TaskStatsBody, figure: Figure): readonly (number | null)[] =>
  stats.series.map((step) => step[figure] ?? null);

/**
 * The same figure in the period before, for each step of this one: the last steps of both lie under each other.
 *
 * @returns unknown values where the steps of both differ in length
 */
export function valuesBefore(
  now: TaskStatsBody,
  before: TaskStatsBody,
  figure: Figure,
): readonly (number | null)[] {
  const offset = before.series.length - now.series.length;
  const isSame = before.step_seconds === now.step_seconds;
  return now.series.map((_, step) => (isSame ? (before.series[step + offset]?.[figure] ?? null) : null));
}
