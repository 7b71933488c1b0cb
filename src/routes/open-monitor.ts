import { createCore, type MonitorCore } from '../http/core.ts';
import { createDashboard } from '../http/dashboard.ts';
import { createMonitor } from '../http/monitor.ts';
import { createTargets } from '../http/targets.ts';
import type { ResolvedOptions } from '../options/resolve-options.ts';
import { ROUTES } from './index.ts';
import { abilitiesOf } from './task-capabilities.ts';
import { tellFindings } from './tell-findings.ts';
import { watchStart } from './watch-start.ts';

/** Creates the monitor for these options: it answers requests and does background work. */
export function openMonitor(options: ResolvedOptions): MonitorCore {
  const monitor = createMonitor(options);
  const targets = createTargets(monitor, ROUTES);
  const dashboard = createDashboard(monitor, abilitiesOf(monitor.sources.tasks).body);
  const core = createCore(
    monitor,
    (request, url) => targets.find(url) ?? dashboard?.find(request, url) ?? null,
  );
  tellFindings(monitor);
  watchStart(monitor);
  return core;
}
