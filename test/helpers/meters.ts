import type { MonitorSources } from '../../src/index.ts';
import type { Meter, MeterOptions } from '../../src/source.ts';

/** The meter of a source that has one. */
export function openMeter({ experimental }: MonitorSources, options: MeterOptions): Meter {
  const meter = experimental?.openMeter?.(options);
  if (meter === undefined) throw new Error('The source has no meter.');
  return meter;
}
