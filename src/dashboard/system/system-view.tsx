import '../style/system.css';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { Loading, Problem } from '../parts/problem.tsx';
import { ViewHead } from '../parts/view-head.tsx';
import { Components } from './components.tsx';
import { Metrics } from './metrics.tsx';

/** What the monitor is connected to, with its settings, and the metrics of the exporter if there is one. */
export function SystemView() {
  const { data, error, at, reload } = useResource('components', (signal) => client.components({ signal }), {
    every: 10_000,
  });
  const hasExporter = data?.metrics !== undefined && data.metrics.status !== 'disabled';
  return (
    <>
      <ViewHead title="System" at={at} />
      {error !== null && <Problem what="the system" error={error} retry={reload} />}
      {data === null && error === null && <Loading />}
      {data !== null && <Components components={data} />}
      {hasExporter && <Metrics />}
    </>
  );
}
