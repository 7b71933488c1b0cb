import { createCore, type MonitorCore } from '../http/core.ts';
import { createMonitor } from '../http/monitor.ts';
import type { ResolvedOptions } from '../options/resolve-options.ts';
import { ROUTES } from './index.ts';
import { tellFindings } from './tell-findings.ts';

/** Creates the monitor of these options: what answers its requests, and what it does without any. */
export function openMonitor(options: ResolvedOptions): MonitorCore {
  const monitor = createMonitor(options);
  const core = createCore(monitor, ROUTES);
  tellFindings(monitor);
  return core;
}
