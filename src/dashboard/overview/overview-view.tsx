import { useEffect, useMemo, useState } from 'preact/hooks';
import { MonitorClientError } from '../../client.ts';
import type { ComponentBody, TaskStatsBody } from '../../wire.ts';
import { ThroughputChart as Chart } from '../charts/throughput-chart.tsx';
import { CONSEQUENCE, consequencesOf } from '../failures/causes.tsx';
import { client, connection } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { lazy } from '../parts/lazy.tsx';
import { NoStats, ReadState } from '../parts/problem.tsx';
import { isComparedAt, useRange } from '../range/use-range.ts';
import { currentRoute, linkTo } from '../route.ts';
import { soon } from '../slices.ts';
import { useStore } from '../store.ts';
import { count } from '../text/numbers.ts';
import { Attention } from './attention.tsx';
import { figuresOf } from './figures.ts';
import { Lists } from './lists.tsx';

/** States that the chart counts. */
const IN_LEGEND: ReadonlySet<string> = new Set(['SUCCESS', 'FAILURE', 'RETRY']);

/** Summary of the deployment; problems come first. */
export function OverviewView() {
  const isLost = useStore(connection).state === 'lost';
  const range = useRange();
  const isCompared = isComparedAt(useStore(currentRoute));
  const overview = useResource(range.key, (signal) => client.components({ ...range.stats(), signal }), {
    news: () => true,
    gap: 3_000,
    every: 10_000,
    keep: true,
  });
  const { data: components, error } = overview;
  const tasks = components?.tasks;
  const known = useMemo(() => {
    const stats = components?.tasks?.stats ?? null;
    return { components, ...(stats === null ? NONE : figuresOf(stats)) };
  }, [components]);
  // The verdict, then the figures, then their chart, then the lists: at once, a slow processor would draw for long.
  const drawn = useSoon(known);
  const listed = useSoon(useSoon(drawn));
  const { now: figures, before } = drawn;

  return (
    <>
      <Attention components={overview} isLost={isLost} />
      <ReadState
        what="the figures"
        shape="charts"
        of={{ ...overview, data: tasks ?? null, error: error ?? problemOf(tasks) }}
      />
      {figures !== null && (
        <section class="panel">
          <h2>Throughput</h2>
          <ThroughputChart
            label="Tasks over time"
            stats={figures}
            before={isCompared ? (before?.totals ?? null) : null}
            more={<OtherStates stats={figures} />}
          />
        </section>
      )}
      {tasks?.stats === null && <NoStats />}
      <Lists figures={listed.now} before={listed.before} components={listed.components} />
    </>
  );
}

const NONE = { now: null, before: null };

/** Rendered in a task of its own when it appears. */
const ThroughputChart = lazy(() => Chart);

/** The value after the next frame, so that what shows it prolongs no task that shows something else. */
function useSoon<T>(value: T): T {
  const [later, setLater] = useState(value);
  useEffect(() => soon(() => setLater(() => value)), [value]);
  return later;
}

/** Why a component has no data; `null`: it has. */
function problemOf(component: ComponentBody | undefined): MonitorClientError | null {
  const { problem } = component ?? {};
  return problem === undefined ? null : new MonitorClientError(problem.detail, { ...problem, problem });
}

/** The states that the legend of the chart lacks, each with its number of tasks, and failures that do not count there. */
function OtherStates({ stats }: { readonly stats: TaskStatsBody }) {
  const { link: period } = useRange();
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
