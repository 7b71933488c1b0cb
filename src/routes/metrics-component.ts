import type { Monitor } from '../http/monitor.ts';
import type { ComponentBody } from '../wire.ts';

/** The component `metrics`: the exporter, and whether it answers. */
export async function describeMetrics({ options, metrics }: Monitor): Promise<ComponentBody> {
  const reachable = (await metrics?.check()) ?? null;
  const status = reachable === null ? 'unknown' : reachable ? 'up' : 'down';
  return {
    name: 'metrics',
    enabled: metrics !== null,
    status: metrics === null ? 'disabled' : status,
    pid: null,
    url: options.metrics?.displayUrl ?? null,
    config: null,
  };
}
