import { createCore, type MonitorCore } from '../http/core.ts';
import { createDashboard } from '../http/dashboard.ts';
import { createMonitor, type Monitor } from '../http/monitor.ts';
import { createTargets } from '../http/targets.ts';
import type { ResolvedOptions } from '../options/resolve-options.ts';
import { freshnessOf } from '../read.ts';
import { ROUTES } from './index.ts';
import { abilitiesOf } from './task-parameters.ts';
import { tellFindings } from './tell-findings.ts';

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

const LOOK_EVERY_MS = 1_000;
/** By then, connecting has failed: it has a deadline. */
const MOST_LOOKS = 15;

/** Looks at the sources of tasks until all are connected. What they say of an outage is reported as at a request. */
function watchStart({ sources, report, beforeClose }: Monitor): void {
  const { tasks } = sources;
  if (tasks === undefined) return;
  let looks = 0;
  const timer = setInterval(() => {
    looks += 1;
    const areUp = freshnessOf(tasks, Date.now(), report).sources.every(({ ok }) => ok);
    if (areUp || looks === MOST_LOOKS) clearInterval(timer);
  }, LOOK_EVERY_MS).unref();
  beforeClose(async () => clearInterval(timer));
}
