import type { TaskStatsBody } from '../../client.ts';
import { CONSEQUENCE, consequencesOf } from '../failures/causes.tsx';
import { client, connection } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { comparable } from '../names/before-values.ts';
import { lazy } from '../parts/lazy.tsx';
import { NoStats, ReadState } from '../parts/problem.tsx';
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

// The figures arrive after the page, so their chart need not be part of the first screen.
const ThroughputChart = lazy(async () => (await import('../charts/throughput-chart.tsx')).ThroughputChart);
/** States that the chart counts. */
const IN_LEGEND: ReadonlySet<string> = new Set(['SUCCESS', 'FAILURE', 'RETRY']);

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
      <Attention components={components} isLost={isLost} />
      <ReadState what="the figures" shape="charts" of={stats} />
      {figures !== null && (
        <section class="panel">
          <h2>Throughput</h2>
          <ThroughputChart
            {...stepsOf(figures)}
            label="Tasks over time"
            series={figures.series}
            before={isCompared ? (before?.totals ?? null) : null}
            more={<OtherStates stats={figures} period={range.link} />}
          />
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

/** The states that the legend of the chart lacks, each with its number of tasks, and failures that do not count there. */
function OtherStates(props: {
  readonly stats: TaskStatsBody;
  readonly period: Readonly<Record<string, string>>;
}) {
  const { stats, period } = props;
  const consequences = consequencesOf(stats);
  const others = Object.entries(stats.states)
    .filter(([state, number]) => number > 0 && !IN_LEGEND.has(state))
    .toSorted(([, a], [, b]) => b - a);
  const link = (state: string): string => linkTo('tasks', { state, ...period });
  return (
    <>
      {consequences > 0 && (
        <a class="chart-entry" href={link('FAILURE')} title={CONSEQUENCE}>
          +{count(consequences)} as a consequence
        </a>
      )}
      {others.map(([state, number]) => (
        <a key={state} class="chart-entry" href={link(state)}>
          {state.toLowerCase()} <b class="num">{count(number)}</b>
        </a>
      ))}
    </>
  );
}
