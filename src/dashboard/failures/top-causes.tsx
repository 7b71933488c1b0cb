import type { TaskStatsBody } from '../../wire.ts';
import { greatest } from '../charts/chart.ts';
import { Sparkline } from '../charts/sparkline.tsx';
import { Change } from '../parts/change.tsx';
import { useHeldRows } from '../parts/use-hold.ts';
import { causeLink, linkTo } from '../route.ts';
import { count } from '../text/numbers.ts';
import { CauseText, countBefore, NewBadge } from './causes.tsx';

/** The most frequent causes of failures. */
export function TopCauses(props: {
  readonly stats: TaskStatsBody;
  /** The previous period; `null`: no comparison, or unknown. */
  readonly before: TaskStatsBody | null;
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
