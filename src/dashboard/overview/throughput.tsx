import type { TaskStatsBody } from '../../client.ts';
import { ThroughputChart } from '../charts/throughput-chart.tsx';
import { go, linkHere } from '../route.ts';

/** The tasks that ended over time. */
export function Throughput({ stats }: { readonly stats: TaskStatsBody }) {
  return (
    <ThroughputChart
      label="Tasks over time"
      series={stats.series}
      stepSeconds={stats.step_seconds}
      onRange={(from, to) => go(linkHere({ from, to, range: null }))}
    />
  );
}
