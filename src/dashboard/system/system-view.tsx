import '../style/system.css';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { ReadState } from '../parts/read-state.tsx';
import { ViewHead } from '../parts/view-head.tsx';
import { Components } from './components.tsx';
import { Metrics } from './metrics.tsx';

/** The components that the monitor is connected to, their settings, and the exporter's metrics if there is one. */
export function SystemView() {
  const resource = useResource('components', (signal) => client.components({ signal }), { every: 10_000 });
  const { data, at } = resource;
  const hasExporter = data?.metrics !== undefined && data.metrics.status !== 'disabled';
  return (
    <>
      <ViewHead title="System" at={at} />
      <ReadState what="the system" of={{ ...resource, data: data === null ? null : {} }} />
      {data !== null && <Components components={data} />}
      {hasExporter && <Metrics />}
    </>
  );
}
