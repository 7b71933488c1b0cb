import type { TaskStatsBody } from '../../client.ts';

/** Number of failures with a cause in a period; `null` if unknown. */
export function countBefore(
  { causes, causes_truncated, totals }: TaskStatsBody,
  cause: string,
): number | null {
  if (causes === undefined) return null;
  const known = causes.find((other) => other.cause === cause);
  // Only the most frequent causes are known.
  return known?.count ?? (causes_truncated === true || totals.failed === null ? null : 0);
}
