import type { StatsStepBody, TaskStatsBody } from '../../wire.ts';

type Figure = Exclude<keyof StatsStepBody, 't'>;

/** The previous period if it can be compared: of less than half of it, nobody can say what was usual. */
export function comparable(before: TaskStatsBody | null | undefined): TaskStatsBody | null {
  if (before == null) return null;
  const known = before.series.filter(({ succeeded }) => succeeded !== null);
  return 2 * known.length < before.series.length ? null : before;
}

/** A figure of each step of a period. */
export const valuesOf = (stats: TaskStatsBody, figure: Figure): readonly (number | null)[] =>
  stats.series.map((step) => step[figure] ?? null);

/**
 * The same figure in the previous period, for each step of this one. The last steps of both are aligned.
 *
 * @returns unknown values if the steps differ in length
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
