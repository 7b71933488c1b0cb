import type { StatsTotalsBody, TaskStatsBody } from '../../client.ts';
import { Histogram } from '../charts/histogram.tsx';
import { LineChart } from '../charts/line-chart.tsx';
import { ThroughputChart } from '../charts/throughput-chart.tsx';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { Empty, Problem } from '../parts/problem.tsx';
import { ViewHead } from '../parts/view-head.tsx';
import { usePrevious, useRange } from '../range/use-range.ts';
import { go, linkHere, linkTo } from '../route.ts';
import { count, seconds } from '../text/numbers.ts';

const shown = (value: number | null): string => (value === null ? '–' : count(value));

const TILES = [
  ['Succeeded', 'succeeded', shown],
  ['Failed', 'failed', shown],
  ['Retried', 'retried', shown],
  ['Run p50', 'runtime_p50', seconds],
  ['Run p95', 'runtime_p95', seconds],
  ['Run p99', 'runtime_p99', seconds],
  ['Wait p95', 'wait_p95', seconds],
] as const satisfies readonly (readonly [string, keyof StatsTotalsBody, (value: number | null) => string])[];

/** One task name over time, against the period before. */
export function NameView({ id }: { readonly id: string }) {
  const range = useRange();
  const asked = { limit: 0, name: id, stats_percentiles: true };
  const { data, error, at, reload } = useResource(
    `${range.key} ${id}`,
    (signal) => client.tasks({ ...asked, ...range.stats() }, { signal }),
    { keep: true, every: 10_000 },
  );
  const before = usePrevious(
    id,
    async (window, signal) => (await client.tasks({ ...asked, ...window }, { signal })).stats ?? null,
  );
  const stats = data?.stats ?? null;
  return (
    <>
      <ViewHead title={id} at={at}>
        <a href={linkTo('tasks', { name: id })}>Tasks of this name</a>
      </ViewHead>
      {error !== null && <Problem error={error} retry={reload} />}
      {data !== null && stats === null && <Empty title="No statistics" />}
      {stats !== null && (
        <>
          <section class="panel">
            <h2>Figures</h2>
            <dl class="facts">
              {TILES.map(([label, figure, format]) => (
                <div key={figure}>
                  <dt>{label}</dt>
                  <dd class="num">
                    {format(stats.totals[figure])}
                    {before !== null && <Change now={stats.totals[figure]} before={before.totals[figure]} />}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
          <Charts id={id} stats={stats} />
        </>
      )}
    </>
  );
}

/** How many tasks ran, and how long they took. */
function Charts({ id, stats }: { readonly id: string; readonly stats: TaskStatsBody }) {
  const { series } = stats;
  const shared = {
    stepSeconds: stats.step_seconds,
    markers: stats.markers,
    filters: { name: id },
    onRange: (from: string, to: string) => go(linkHere({ from, to, range: null })),
  };
  return (
    <>
      <section class="panel">
        <h2>Throughput</h2>
        <ThroughputChart {...shared} label={`Tasks of ${id}`} series={series} />
      </section>
      <section class="panel">
        <h2>Run time</h2>
        <LineChart
          {...shared}
          times={series.map(({ t }) => t)}
          label={`Run time of ${id}`}
          unit="seconds"
          lines={[
            { label: 'p95', values: series.map((step) => step.runtime_p95 ?? null), look: 'thick' },
            { label: 'p50', values: series.map((step) => step.runtime_p50 ?? null), look: 'thin' },
          ]}
        />
        <Histogram
          label={`Run times of ${id}`}
          classes={stats.runtime_histogram ?? []}
          format={(value) => seconds(value)}
        />
      </section>
    </>
  );
}

/** A figure against that of the period before. */
function Change({ now, before }: { readonly now: number | null; readonly before: number | null }) {
  if (before === null) return <span class="dim"> no earlier data</span>;
  if (now === null || now === before) return <span class="dim"> as before</span>;
  const factor = before === 0 ? null : now / before;
  const text = factor === null ? 'before 0' : `${factor < 10 ? factor.toFixed(1) : Math.round(factor)}×`;
  return (
    <span class="dim">
      {' '}
      {now > before ? '▲' : '▼'} {text}
    </span>
  );
}
