import type { StatsTotalsBody, TaskStatsBody } from '../../client.ts';
import { lazy } from '../parts/lazy.tsx';
import { go, linkHere } from '../route.ts';

// The figures come later than the page: their chart need not be part of the first screen.
const ThroughputChart = lazy(async () => (await import('../charts/throughput-chart.tsx')).ThroughputChart);

/** The tasks that ended over time. */
export function Throughput(props: {
  readonly stats: TaskStatsBody;
  /** The period before; `null`: nobody compares, or it is not known. */
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
