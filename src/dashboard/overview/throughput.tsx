import type { StatsTotalsBody, TaskStatsBody } from '../../client.ts';
import { lazy } from '../parts/lazy.tsx';
import { go, linkHere } from '../route.ts';

// The figures arrive after the page, so their chart need not be part of the first screen.
const ThroughputChart = lazy(async () => (await import('../charts/throughput-chart.tsx')).ThroughputChart);

/** The tasks that ended over time. */
export function Throughput(props: {
  readonly stats: TaskStatsBody;
  /** The previous period; `null`: no comparison, or unknown. */
  readonly before: StatsTotalsBody | null;
}) {
  const { stats, before } = props;
  return (
    <ThroughputChart
      label="Tasks over time"
      series={stats.series}
      stepSeconds={stats.step_seconds}
      markers={stats.markers}
      before={before}
      onRange={(from, to) => go(linkHere({ from, to, range: null }))}
    />
  );
}
