import type { TaskStatsBody } from '../../client.ts';
import { Histogram } from '../charts/histogram.tsx';
import { type ChartLine, LineChart } from '../charts/line-chart.tsx';
import { ThroughputChart } from '../charts/throughput-chart.tsx';
import { go, linkHere } from '../route.ts';
import { seconds } from '../text/numbers.ts';
import { valuesBefore, valuesOf } from './before-values.ts';

/** The period, and the previous one; `null`: no comparison, or unknown. */
interface Periods {
  readonly stats: TaskStatsBody;
  readonly before: TaskStatsBody | null;
}

/** How many tasks of a name ran, how long they took, and how long they waited. */
export function NameCharts({ id, stats, before }: Periods & { readonly id: string }) {
  const shared = {
    stepSeconds: stats.step_seconds,
    markers: stats.markers,
    filters: { name: id },
    onRange: (from: string, to: string) => go(linkHere({ from, to, range: null })),
  };
  const timed = { ...shared, times: stats.series.map(({ t }) => t) };
  const format = (value: number): string => seconds(value);
  return (
    <>
      <section class="panel">
        <h2>Throughput</h2>
        <ThroughputChart
          {...shared}
          label={`Tasks of ${id}`}
          series={stats.series}
          before={before?.totals ?? null}
        />
        {before !== null && (
          <LineChart
            {...timed}
            label={`Tasks of ${id}, and in the previous period`}
            unit="count"
            height={90}
            lines={endLines(stats, before)}
          />
        )}
      </section>
      <section class="panel">
        <h2>Run time</h2>
        <LineChart
          {...timed}
          label={`Run time of ${id}`}
          unit="seconds"
          lines={durationLines('runtime', { stats, before })}
        />
        <Histogram label={`Run times of ${id}`} classes={stats.runtime_histogram ?? []} format={format} />
      </section>
      <section class="panel">
        <h2>Wait</h2>
        <LineChart
          {...timed}
          label={`Wait of ${id}`}
          unit="seconds"
          lines={durationLines('wait', { stats, before })}
        />
        <Histogram label={`Waits of ${id}`} classes={stats.wait_histogram ?? []} format={format} />
      </section>
    </>
  );
}

function endLines(stats: TaskStatsBody, before: TaskStatsBody): readonly ChartLine[] {
  return [
    { label: 'succeeded', values: valuesOf(stats, 'succeeded'), look: 'thin', tone: 'succeeded' },
    {
      label: 'succeeded before',
      look: 'dashed',
      tone: 'succeeded',
      values: valuesBefore(stats, before, 'succeeded'),
    },
    { label: 'failed', values: valuesOf(stats, 'failed'), look: 'thick', tone: 'failed' },
    { label: 'failed before', values: valuesBefore(stats, before, 'failed'), look: 'dashed', tone: 'failed' },
  ];
}

/** The percentiles, and the 95th of the previous period. */
function durationLines(of: 'runtime' | 'wait', { stats, before }: Periods): readonly ChartLine[] {
  const now: readonly ChartLine[] = [
    { label: 'p99', values: valuesOf(stats, `${of}_p99`), look: 'thin', tone: 'waiting' },
    { label: 'p95', values: valuesOf(stats, `${of}_p95`), look: 'thick' },
    { label: 'p50', values: valuesOf(stats, `${of}_p50`), look: 'thin' },
  ];
  if (before === null) return now;
  return [...now, { label: 'p95 before', values: valuesBefore(stats, before, `${of}_p95`), look: 'dashed' }];
}
