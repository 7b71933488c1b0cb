import type { StatsTotalsBody, TaskStatsBody } from '../../client.ts';
import { CONSEQUENCE, consequencesOf } from '../failures/causes.tsx';
import { client, connection } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { comparable } from '../names/before-values.ts';
import { Change } from '../parts/change.tsx';
import { lazy } from '../parts/lazy.tsx';
import { Empty, NoStats, ReadState } from '../parts/problem.tsx';
import { toneOf } from '../parts/state-badge.tsx';
import { ViewHead } from '../parts/view-head.tsx';
import { isComparedAt, stepsOf, useRange } from '../range/use-range.ts';
import { currentRoute, linkTo } from '../route.ts';
import { useStore } from '../store.ts';
import { count } from '../text/numbers.ts';
import { Attention } from './attention.tsx';

/** Number of listed causes. */
const TOP_CAUSES = 5;
/** All causes, since one that is frequent now may have been rare before. */
const ALL_CAUSES = { stats_causes: 1_000 };
/** The lists are loaded after the chart. */
const Lists = lazy(async () => (await import('./lists.tsx')).Lists);

const isTask = (event: { readonly task_id: string | null }): boolean => event.task_id !== null;
const isWorker = (event: { readonly task_id: string | null }): boolean => event.task_id === null;

/** Summary of the deployment; problems come first. */
export function OverviewView() {
  const isLost = useStore(connection).state === 'lost';
  const range = useRange();
  const isCompared = isComparedAt(useStore(currentRoute));
  const stats = useResource(
    range.key,
    (signal) => client.tasks({ limit: 0, ...range.stats(), stats_causes: TOP_CAUSES }, { signal }),
    { news: isTask, gap: 3_000, keep: true },
  );
  const earlier = useResource(
    `${range.key} ${isCompared}`,
    (signal) => client.tasks({ limit: 0, ...range.before(), ...(isCompared && ALL_CAUSES) }, { signal }),
    { every: 60_000 },
  );
  const health = useResource('health', (signal) => client.health({ signal }), {
    news: isWorker,
    every: 10_000,
  });
  const workers = useResource('workers', (signal) => client.workers({ signal }), { news: isWorker });
  const components = useResource('components', (signal) => client.components({ signal }), { every: 10_000 });
  const figures = stats.data?.stats ?? null;
  const before = comparable(earlier.data?.stats);

  return (
    <>
      <ViewHead title="Overview" at={stats.at} />
      <Attention components={components} isLost={isLost} />
      <ReadState what="the figures" shape="charts" of={stats} />
      {figures !== null && (
        <section class="panel">
          <h2>Throughput</h2>
          <Throughput stats={figures} before={isCompared ? (before?.totals ?? null) : null} />
          <States stats={figures} before={isCompared ? (before?.states ?? null) : null} period={range.link} />
        </section>
      )}
      {stats.data !== null && figures === null && <NoStats />}
      <Lists
        figures={figures}
        before={before}
        isCompared={isCompared}
        period={range.link}
        components={components.data}
        health={health.data}
        workers={workers.data}
      />
    </>
  );
}

/** Number of tasks in each state. */
function States(props: {
  readonly stats: TaskStatsBody;
  /** Numbers in the previous period; `null`: no comparison, or unknown. */
  readonly before: Readonly<Record<string, number>> | null;
  readonly period: Readonly<Record<string, string>>;
}) {
  const { stats, before } = props;
  const consequences = consequencesOf(stats);
  const states = Object.entries(stats.states).toSorted(([, a], [, b]) => b - a);
  if (states.length === 0) return <Empty title="No task was seen in this period" />;
  return (
    <ul class="states" aria-label="Tasks by state">
      {states.map(([state, number]) => (
        <li key={state}>
          <a href={linkTo('tasks', { state, ...props.period })}>
            <span class={`tone-${toneOf(state)}`}>{state}</span> <b class="num">{count(number)}</b>
            {state === 'FAILURE' && consequences > 0 && (
              <span class="dim" title={CONSEQUENCE}>{`, ${count(consequences)} as a consequence`}</span>
            )}
            {before !== null && <Change now={number} before={before[state] ?? 0} text={count} isCount />}
          </a>
        </li>
      ))}
    </ul>
  );
}

// The figures arrive after the page, so their chart need not be part of the first screen.
const ThroughputChart = lazy(async () => (await import('../charts/throughput-chart.tsx')).ThroughputChart);

/** The tasks that ended over time. */
function Throughput(props: {
  readonly stats: TaskStatsBody;
  /** The previous period; `null`: no comparison, or unknown. */
  readonly before: StatsTotalsBody | null;
}) {
  const { stats, before } = props;
  return (
    <ThroughputChart {...stepsOf(stats)} label="Tasks over time" series={stats.series} before={before} />
  );
}
