import '../style/failures.css';
import { useState } from 'preact/hooks';
import type { StatsCauseBody, TaskStatsBody } from '../../client.ts';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { Empty } from '../parts/problem.tsx';
import { ReadState } from '../parts/read-state.tsx';
import { useHeldRows } from '../parts/use-held.ts';
import { useHold } from '../parts/use-hold.ts';
import { ViewHead } from '../parts/view-head.tsx';
import { usePrevious, useRange } from '../range/use-range.ts';
import { linkHere, linkTo } from '../route.ts';
import { count, counted } from '../text/numbers.ts';
import { CONSEQUENCE, consequencesOf, countBefore } from './cause-count.ts';
import { CauseRow } from './cause-row.tsx';
import { filtersOf } from './filters-of.ts';

/** Number of causes requested at first, and maximum. */
const [FEW, MOST] = [100, 1_000];

const ORDERS = {
  count: { text: 'Most frequent', of: (cause: StatsCauseBody) => cause.count },
  new: { text: 'Newest', of: (cause: StatsCauseBody) => Date.parse(cause.first_seen ?? '') || 0 },
} as const;
type OrderName = keyof typeof ORDERS;

/** Failures by cause. */
export function FailuresView({ query }: { readonly query: URLSearchParams }) {
  const range = useRange();
  const [limit, setLimit] = useState(FEW);
  const filters = filtersOf(query);
  const key = `${range.key} ${limit} ${JSON.stringify(filters)}`;
  const resource = useResource(
    key,
    (signal) => client.tasks({ ...filters, limit: 0, ...range.stats(), stats_causes: limit }, { signal }),
    { news: (event) => event.state === 'FAILURE', gap: 5_000, keep: true },
  );
  const before = usePrevious(key, (window, signal) =>
    client.tasks({ ...filters, limit: 0, ...window, stats_causes: MOST }, { signal }),
  );
  const { data, at } = resource;
  const order: OrderName = query.get('sort') === 'new' ? 'new' : 'count';
  const stats = data?.stats ?? null;
  return (
    <>
      <ViewHead title="Failures" at={at}>
        {(Object.keys(ORDERS) as OrderName[]).map((name) => (
          <a
            key={name}
            class="chip"
            href={linkHere({ sort: name === 'count' ? null : name })}
            aria-current={name === order ? 'true' : undefined}
          >
            {ORDERS[name].text}
          </a>
        ))}
      </ViewHead>
      <FilteredBy filters={filters} />
      <ReadState what="the failures" of={resource} />
      {data !== null && stats === null && <NotGrouped filters={filters} />}
      {stats !== null && (
        <Causes stats={stats} filters={filters} order={order} before={before?.stats ?? null} />
      )}
      {stats?.causes_truncated === true && (
        <p class="dim failures-more" role="status">
          {limit === MOST ? (
            `These are the ${count(MOST)} most frequent causes. There are more.`
          ) : (
            <button type="button" onClick={() => setLimit(MOST)}>
              Show up to {count(MOST)} causes
            </button>
          )}
        </p>
      )}
    </>
  );
}

type Filters = ReturnType<typeof filtersOf>;

function FilteredBy({ filters }: { readonly filters: Filters }) {
  const parts = Object.entries(filters).flatMap(([name, values]) =>
    [values].flat().map((value) => `${name} ${value}`),
  );
  if (parts.length === 0) return null;
  return (
    <p class="failures-filters">
      Only {parts.join(', ')} · <a href={linkTo('failures')}>All failures</a>
    </p>
  );
}

function NotGrouped({ filters }: { readonly filters: Filters }) {
  return (
    <Empty title="This task source does not group failures">
      <a href={linkTo('tasks', { ...filters, state: 'FAILURE' })}>List the tasks that failed</a>
    </Empty>
  );
}

function Causes(props: {
  readonly stats: TaskStatsBody;
  readonly before: TaskStatsBody | null;
  readonly filters: Filters;
  readonly order: OrderName;
}) {
  const { stats, before, filters, order } = props;
  const { isHeld, pointer, focus } = useHold();
  const causes = stats.causes ?? [];
  const sorted = causes.toSorted((a, b) => ORDERS[order].of(b) - ORDERS[order].of(a));
  const rows = useHeldRows(sorted, ({ cause }) => cause, isHeld);
  if (stats.causes === undefined) return <NotGrouped filters={filters} />;
  if (rows.length === 0) return <NoCause stats={stats} filters={filters} />;
  return (
    <>
      <Summary stats={stats} filters={filters} />
      <div class="panel causes" {...pointer} {...focus}>
        <table>
          <CausesHead order={order} />
          <tbody>
            {rows.map((cause) => (
              <CauseRow
                key={cause.cause}
                cause={cause}
                before={before === null ? undefined : countBefore(before, cause.cause)}
              />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

/** The total of the causes, and the failures without a cause. */
function Summary({ stats, filters }: { readonly stats: TaskStatsBody; readonly filters: Filters }) {
  const { causes = [], causes_truncated: isCut } = stats;
  const grouped = causes.reduce((sum, cause) => sum + cause.count, 0);
  const others = isCut === true ? 0 : (stats.totals.failed ?? 0) - grouped;
  return (
    <p class="failures-summary">
      <b>{counted(grouped, 'failure')}</b>, {counted(causes.length, 'cause')}
      {others > 0 && ` · ${count(others)} more of unknown cause`}
      <Consequences stats={stats} filters={filters} />
    </p>
  );
}

/** Tasks that failed only because another one did. */
function Consequences({ stats, filters }: { readonly stats: TaskStatsBody; readonly filters: Filters }) {
  const more = consequencesOf(stats);
  if (more === 0) return null;
  return (
    <>
      {' · '}
      <a href={linkTo('tasks', { ...filters, state: 'FAILURE' })} title={CONSEQUENCE}>
        +{count(more)} as a consequence
      </a>
    </>
  );
}

function NoCause({ stats, filters }: { readonly stats: TaskStatsBody; readonly filters: Filters }) {
  const { failed } = stats.totals;
  if (failed !== null && failed > 0) {
    return (
      <Empty title={`${counted(failed, 'failure')} of unknown cause`}>
        <a href={linkTo('tasks', { ...filters, state: 'FAILURE' })}>List the tasks that failed</a>
      </Empty>
    );
  }
  if (failed === null) return <Empty title="It is unknown whether anything failed in this period" />;
  return (
    <Empty title="Nothing failed in this period.">
      <Consequences stats={stats} filters={filters} />
    </Empty>
  );
}

function CausesHead({ order }: { readonly order: OrderName }) {
  return (
    <thead>
      <tr>
        <th scope="col">New</th>
        <th scope="col">Cause</th>
        <th scope="col" class="num" aria-sort={order === 'count' ? 'descending' : undefined}>
          Tasks
        </th>
        <th scope="col" class="cause-activity">
          Activity
        </th>
        <th scope="col" class="num cause-first" aria-sort={order === 'new' ? 'descending' : undefined}>
          First
        </th>
        <th scope="col" class="num">
          Last
        </th>
        <th scope="col" class="cause-names">
          Names
        </th>
        <th scope="col" class="cause-workers">
          Workers
        </th>
      </tr>
    </thead>
  );
}
