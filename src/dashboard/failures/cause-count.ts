import type { TaskStatsBody } from '../../client.ts';

/** How many failures a cause had in a period; `null` where that is not known. */
export function countBefore(
  { causes, causes_truncated, totals }: TaskStatsBody,
  cause: string,
): number | null {
  if (causes === undefined) return null;
  const known = causes.find((other) => other.cause === cause);
  // Beyond the most frequent ones nothing is known.
  return known?.count ?? (causes_truncated === true || totals.failed === null ? null : 0);
}
