import type { StatsCauseBody, StatsTotalsBody, TaskStatsBody } from '../../wire.ts';
import { greatest } from '../charts/chart.ts';
import { Sparkline } from '../charts/chart-frame.tsx';
import { useHeldRows } from '../live/pace.ts';
import { Change } from '../parts/inline.tsx';
import { causeLink, linkTo } from '../route.ts';
import { count } from '../text/format.ts';

/** A cause, without what only its own page has. */
type Cause = Omit<StatsCauseBody, 'first_seen' | 'last_seen' | 'names' | 'workers' | 'sample'>;

/** A cause in words: the class of the exception and its message. */
export function CauseText({ cause }: { readonly cause: Cause }) {
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
export function NewBadge({ cause: { is_new } }: { readonly cause: Cause }) {
  if (is_new !== true) return null;
  return (
    <span class="badge outlined tone-failure" title="First seen in this period">
      new
    </span>
  );
}

/** The causes of an earlier period. */
interface Before {
  readonly causes?: readonly Pick<StatsCauseBody, 'cause' | 'count'>[] | undefined;
  readonly causes_truncated?: boolean;
  readonly totals: Pick<StatsTotalsBody, 'failed'>;
}

/** Number of failures with a cause in a period; `null` if unknown. */
export function countBefore({ causes, causes_truncated, totals }: Before, cause: string): number | null {
  if (causes === undefined) return null;
  const known = causes.find((other) => other.cause === cause);
  // Only the most frequent causes are known.
  return known?.count ?? (causes_truncated === true || totals.failed === null ? null : 0);
}

/** What the number of {@link consequencesOf} means. */
export const CONSEQUENCE = 'They never ran because a task they depend on failed.';

/** Number of tasks that failed only because another one did: they are in a state, but do not count as failed. */
export function consequencesOf(
  stats: Pick<TaskStatsBody, 'states' | 'series'> & Pick<Before, 'totals'>,
): number {
  const { states, series, totals } = stats;
  if (totals.failed === null) return 0;
  const failed = series.reduce((sum, step) => sum + (step.failed ?? 0), 0);
  return Math.max(0, (states.FAILURE ?? 0) - failed);
}

/** The most frequent causes of failures. */
export function TopCauses(props: {
  readonly stats: Pick<Before, 'totals'> & { readonly causes?: readonly Cause[] | undefined };
  /** The previous period; `null`: no comparison, or unknown. */
  readonly before: Before | null;
  /** Filters of the failures. Default: none. */
  readonly filters?: Readonly<Record<string, string>>;
}) {
  const { stats, before, filters = {} } = props;
  const { rows, holders } = useHeldRows(stats.causes ?? [], ({ cause }) => cause);
  const { failed } = stats.totals;
  if (stats.causes === undefined) return null;
  const most = greatest(...rows.map(({ activity }) => activity));
  return (
    <section class="panel">
      <div class="flow panel-head">
        <h2>Failures by cause</h2>
        <a class="panel-more end" href={linkTo('failures', filters)}>
          All causes ›
        </a>
      </div>
      {rows.length === 0 && <p class="dim">{whyNone(failed)}</p>}
      <ul class="top-causes" {...holders}>
        {rows.map((cause) => (
          <li key={cause.cause} class="line">
            <a href={causeLink(cause.cause)} title={cause.message ?? undefined}>
              <CauseText cause={cause} />
            </a>
            <NewBadge cause={cause} />
            {before?.causes !== undefined && (
              <Change now={cause.count} before={countBefore(before, cause.cause)} text={count} isCount />
            )}
            <Sparkline
              values={cause.activity}
              most={most}
              tone="failed"
              label={`${count(cause.count)} failures`}
            />
            <b class="num">{count(cause.count)}</b>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** @param failed how many tasks failed; `null`: unknown for a part of the period */
function whyNone(failed: number | null): string {
  if (failed === null) return 'No failure was seen in this period; a part of it is unknown.';
  return failed === 0 ? 'Nothing failed in this period.' : 'No cause of these failures is known.';
}
