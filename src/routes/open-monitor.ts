import { createCore, type MonitorCore } from '../http/core.ts';
import { createMonitor } from '../http/monitor.ts';
import type { ResolvedOptions } from '../options/resolve-options.ts';
import { ROUTES } from './index.ts';
import { tellFindings } from './tell-findings.ts';

/** Creates the monitor for these options: it answers requests and does background work. */
export function openMonitor(options: ResolvedOptions): MonitorCore {
  const monitor = createMonitor(options);
  const core = createCore(monitor, ROUTES);
  tellFindings(monitor);
  return core;
}
