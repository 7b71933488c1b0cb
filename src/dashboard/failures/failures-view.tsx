import '../style/failures.css';
import { useState } from 'preact/hooks';
import type { EventBody, StatsCauseBody, TaskStatsBody } from '../../wire.ts';
import { greatest } from '../charts/chart.ts';
import { Sparkline } from '../charts/chart-frame.tsx';
import { ThroughputChart } from '../charts/throughput-chart.tsx';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { type Column, DataTable, type Order, orderIn } from '../parts/data-table.tsx';
import { CountedLinks } from '../parts/facts.tsx';
import { Ago, Change, Moment } from '../parts/inline.tsx';
import { LatestTasks } from '../parts/latest-tasks.tsx';
import { ErrorText, Traceback } from '../parts/value-block.tsx';
import { Empty, ReadState, ViewHead } from '../parts/view.tsx';
import { usePrevious, useRange, useTasks } from '../range.ts';
import { causeLink, linkHere, linkTo, nameLink, workerLink } from '../route.ts';
import { listQuery } from '../tasks/list-query.ts';
import { count, counted, millis } from '../text/format.ts';
import { CauseText, CONSEQUENCE, consequencesOf, countBefore, NewBadge } from './causes.tsx';

/** Number of causes requested at first, and maximum. */
const [FEW, MOST] = [100, 1_000];

const ORDERS = {
  count: (a: StatsCauseBody, b: StatsCauseBody) => b.count - a.count,
  new: (a: StatsCauseBody, b: StatsCauseBody) => firstOf(b) - firstOf(a),
};
const firstOf = ({ first_seen }: StatsCauseBody): number => millis(first_seen) ?? 0;

const isFailure = ({ state }: EventBody): boolean => state === 'FAILURE';

/** Failures by cause. */
export function FailuresView({ query }: { readonly query: URLSearchParams }) {
  const [limit, setLimit] = useState(FEW);
  const filters = filtersOf(query);
  const resource = useTasks({ filters, stats: { stats_causes: limit } }, { news: isFailure, gap: 5_000 });
  const before = usePrevious({ filters, stats: { stats_causes: MOST } });
  const { data, at } = resource;
  const order = orderIn(query, ORDERS);
  const stats = data?.stats ?? null;
  const marker = stats?.markers?.at(-1);
  return (
    <>
      <ViewHead title="Failures" at={at}>
        {marker !== undefined && (
          <a class="chip" href={linkHere({ from: marker.at, to: null, range: null })}>
            Since {marker.text}
          </a>
        )}
      </ViewHead>
      <FilteredBy filters={filters} />
      <ReadState what="the failures" shape="charts" of={resource} />
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
  readonly order: Order<StatsCauseBody>;
}) {
  const { stats, before, filters, order } = props;
  const { causes } = stats;
  if (causes === undefined) return <NotGrouped filters={filters} />;
  if (causes.length === 0) return <NoCause stats={stats} filters={filters} />;
  return (
    <>
      <Summary stats={stats} filters={filters} />
      <section class="panel">
        <ThroughputChart
          label="Failures over time"
          stats={stats}
          isFailedOnly
          height={96}
          filters={{ ...filters, state: 'FAILURE' }}
        />
      </section>
      <div class="panel">
        <DataTable
          class="causes"
          columns={columnsFor(before, greatest(...causes.map(({ activity }) => activity)))}
          rows={causes}
          keyOf={({ cause }) => cause}
          order={order}
        />
      </div>
    </>
  );
}

/**
 * @param before the previous period; `null`: no comparison, or unknown
 * @param most greatest number of failures with a cause in a step
 */
const columnsFor = (before: TaskStatsBody | null, most: number): readonly Column<StatsCauseBody>[] => [
  {
    title: 'Cause',
    isHead: true,
    isWide: true,
    class: 'cause-name',
    cell: (cause) => (
      <>
        <a href={causeLink(cause.cause)} title={cause.message ?? undefined}>
          <CauseText cause={cause} />
        </a>{' '}
        <NewBadge cause={cause} />
      </>
    ),
  },
  {
    title: 'Tasks',
    isNumber: true,
    phone: 'beside',
    class: 'cause-count',
    order: 'count',
    cell: ({ cause, count: failed }) => (
      <>
        {before !== null && <Change now={failed} before={countBefore(before, cause)} text={count} isCount />}
        {count(failed)}
      </>
    ),
  },
  {
    title: 'Activity',
    phone: 'hidden',
    cell: ({ activity, count: failed }) => (
      <Sparkline
        values={activity}
        most={most}
        tone="failed"
        label={`${count(failed)} failures, at most ${count(Math.max(0, ...activity))} per interval`}
      />
    ),
  },
  {
    title: 'First',
    isNumber: true,
    isRare: true,
    phone: 'hidden',
    order: 'new',
    cell: ({ first_seen }) => <Ago at={first_seen} isShort />,
  },
  { title: 'Last', isNumber: true, phone: 'end', cell: ({ last_seen }) => <Ago at={last_seen} isShort /> },
  { title: 'Names', isRare: true, cell: ({ names }) => <Several items={names} /> },
  { title: 'Workers', isRare: true, phone: 'hidden', cell: ({ workers }) => <Several items={workers} /> },
];

/** `mail.send`, `mail.send +2` */
function Several({ items }: { readonly items: readonly string[] }) {
  const [first] = items;
  if (first === undefined) return <span class="dim">–</span>;
  return (
    <div class="one-line" title={items.join('\n')}>
      {first}
      {items.length > 1 && <span class="dim"> +{items.length - 1}</span>}
    </div>
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

/** The filters of the address, as parameters of the API: without a period, an order and a state. */
function filtersOf(query: URLSearchParams): Readonly<Record<string, string | readonly string[]>> {
  const { since, until, sort, order, state, engine_state, ...filters } = listQuery(query);
  return filters as Readonly<Record<string, string | readonly string[]>>;
}

const LATEST = 10;

/** One cause of failures: when it occurred, a sample with its traceback, and the affected tasks. */
export function CauseView({ id }: { readonly id: string }) {
  const range = useRange();
  const filters = { cause: id };
  const resource = useTasks(
    { limit: LATEST, filters, stats: { stats_causes: 1 } },
    { news: isFailure, gap: 3_000 },
  );
  const before = usePrevious({ filters });
  const { data, at } = resource;
  const stats = data?.stats ?? null;
  const cause = stats?.causes?.[0];
  return (
    <>
      <ViewHead title={cause?.exception ?? 'Cause'} at={at}>
        <a class="button small" href={linkTo('tasks', { cause: id, ...range.link })}>
          All its tasks
        </a>
      </ViewHead>
      <ReadState what="the failures" shape="charts" of={resource} />
      {stats !== null && cause !== undefined && (
        <Cause
          cause={cause}
          stats={stats}
          before={before === null ? undefined : (before.stats?.totals.failed ?? null)}
        />
      )}
      {data !== null && cause === undefined && (
        <Empty title="No failures with this cause in this period.">
          <a href={linkTo('failures')}>All failures</a>
        </Empty>
      )}
      {data !== null && (
        <LatestTasks
          tasks={data.tasks}
          total={data.total}
          all={linkTo('tasks', { cause: id, ...range.link })}
          same="failed"
        />
      )}
    </>
  );
}

function Cause(props: {
  readonly cause: StatsCauseBody;
  readonly stats: TaskStatsBody;
  /** Failures in the previous period; `null`: unknown, `undefined`: no comparison. */
  readonly before: number | null | undefined;
}) {
  const { cause, stats, before } = props;
  const { link: period } = useRange();
  const { message, frame, first_seen, last_seen, sample } = cause;
  return (
    <>
      <p class="cause-message wrap">
        {message} {frame !== null && <span class="dim">{frame}</span>}
      </p>
      <p class="flow cause-facts">
        <NewBadge cause={cause} />
        <span>
          <b class="num">{count(cause.count)}</b> failed{' '}
          {before !== undefined && <Change now={cause.count} before={before} text={count} isCount />}
        </span>
        <span>
          first <Moment at={first_seen} />
        </span>
        <span>
          last <Moment at={last_seen} />
        </span>
      </p>
      <section class="panel">
        <h2>Failures over time</h2>
        <ThroughputChart
          label="Failures over time"
          stats={stats}
          isFailedOnly
          height={120}
          filters={{ cause: cause.cause }}
        />
      </section>
      <div class="columns">
        <div class="column-side">{sample !== null && <Sample id={sample} />}</div>
        <section class="panel" aria-label="Where">
          <CountedLinks
            title="Names"
            items={stats.names.map(({ name, failed }) => ({
              text: name,
              count: failed,
              link: nameLink(name),
              rows: linkTo('tasks', { cause: cause.cause, name, ...period }),
            }))}
          />
          {cause.workers.length > 0 && (
            <CountedLinks
              title="Workers"
              items={cause.workers.map((worker) => ({ text: worker, link: workerLink(worker) }))}
            />
          )}
        </section>
      </div>
    </>
  );
}

/** The traceback of the last failure, the app's own frames first. */
function Sample({ id }: { readonly id: string }) {
  const resource = useResource(id, (signal) => client.task(id, { signal }), { every: 60_000 });
  const { data } = resource;
  if (data === null) return <ReadState what="a task that failed" of={resource} />;
  const { traceback, exception, truncated } = data;
  return (
    <section class="panel" aria-label="Sample">
      {exception !== null && <ErrorText text={exception} />}
      <Traceback text={traceback} isCut={truncated.includes('traceback')} />
    </section>
  );
}
