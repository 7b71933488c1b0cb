import type { StatsCauseBody, TaskStatsBody } from '../../wire.ts';

/** A cause in words: the class of the exception and its message. */
export function CauseText({ cause }: { readonly cause: StatsCauseBody }) {
  const { exception, message, frame } = cause;
  return (
    <>
      <b>{exception ?? (message === null ? 'Unknown error' : '')}</b>
      {message !== null && message !== '' && (
        <span>
          {exception === null ? '' : ': '}
          {message}
        </span>
      )}
      {frame !== null && <span class="dim"> {frame}</span>}
    </>
  );
}

/** Says that a cause is new in the period, if this is known. */
export function NewBadge({ cause: { is_new } }: { readonly cause: StatsCauseBody }) {
  if (is_new !== true) return null;
  return (
    <span class="badge outlined tone-failure" title="First seen in this period">
      new
    </span>
  );
}

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

/** What the number of {@link consequencesOf} means. */
export const CONSEQUENCE = 'They never ran because a task they depend on failed.';

/** Number of tasks that failed only because another one did: they are in a state, but do not count as failed. */
export function consequencesOf({ states, series, totals }: TaskStatsBody): number {
  if (totals.failed === null) return 0;
  const failed = series.reduce((sum, step) => sum + (step.failed ?? 0), 0);
  return Math.max(0, (states.FAILURE ?? 0) - failed);
}
