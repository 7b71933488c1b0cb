import type { StatsCauseBody } from '../../client.ts';
import { Sparkline } from '../charts/sparkline.tsx';
import { Change } from '../parts/change.tsx';
import { Ago } from '../parts/moment.tsx';
import { causeLink } from '../route.ts';
import { count } from '../text/numbers.ts';
import { CauseText, NewBadge } from './cause-text.tsx';

/** `mail.send`, `mail.send +2` */
function Several({ items }: { readonly items: readonly string[] }) {
  const [first] = items;
  if (first === undefined) return <span class="dim">–</span>;
  return (
    <span title={items.join('\n')}>
      {first}
      {items.length > 1 && <span class="dim"> +{items.length - 1}</span>}
    </span>
  );
}

/** One cause in the table of failures. */
export function CauseRow(props: {
  readonly cause: StatsCauseBody;
  /** Failures in the previous period; `null`: unknown, `undefined`: no comparison. */
  readonly before: number | null | undefined;
}) {
  const { cause, before } = props;
  const { activity, first_seen, last_seen, names, workers } = cause;
  return (
    <tr>
      <td class="cause-new">
        <NewBadge cause={cause} />
      </td>
      <th scope="row" class="cause-name">
        <a href={causeLink(cause.cause)} title={cause.message ?? undefined}>
          <CauseText cause={cause} />
        </a>
      </th>
      <td class="num cause-count">
        {count(cause.count)}
        {before !== undefined && <Change now={cause.count} before={before} text={count} isCount />}
      </td>
      <td class="cause-activity">
        <Sparkline
          values={activity}
          tone="failed"
          label={`${count(cause.count)} failures, at most ${count(Math.max(0, ...activity))} per interval`}
        />
      </td>
      <td class="num cause-first">
        <Ago at={first_seen} isShort />
      </td>
      <td class="num cause-last">
        <Ago at={last_seen} isShort />
      </td>
      <td class="cause-names">
        <Several items={names} />
      </td>
      <td class="cause-workers">
        <Several items={workers} />
      </td>
    </tr>
  );
}
