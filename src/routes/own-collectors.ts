/** Figures about every source and about the monitor, for own metrics. */
import type { Monitor } from '../http/monitor.ts';
import type { OwnMetrics } from '../http/own-metrics.ts';
import { collectFigures } from './monitor-figures.ts';

/** Opens a collector for one router. It is called at each scrape, and may read sources through `monitor.reader`. */
type OpenCollector = (monitor: Monitor) => Parameters<OwnMetrics['add']>[0];

const COLLECTORS: readonly OpenCollector[] = [collectFigures];

/** Adds every collector to the exported metrics. */
export function addOwnCollectors(monitor: Monitor, ownMetrics: OwnMetrics): void {
  for (const open of COLLECTORS) ownMetrics.add(open(monitor));
}
