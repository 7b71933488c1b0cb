import type { Meter, MeterOptions, MetricsSource } from '../source.ts';

/** One meter of several sources, which share the series. The router itself opens one meter for each source. */
export function openAllMeters(parts: readonly MetricsSource[], options: MeterOptions): Meter {
  const mostSeries = Math.floor(options.mostSeries / parts.length);
  const meters = parts.map((part) => part.openMeter({ ...options, mostSeries }));
  const families = meters.flatMap((meter) => meter.families);
  return {
    families: families.filter(
      ({ name }, index) => families.findIndex((other) => other.name === name) === index,
    ),
    collect: async (context) => (await Promise.all(meters.map((meter) => meter.collect(context)))).flat(),
    overflow: () => meters.reduce((sum, meter) => sum + (meter.overflow?.() ?? 0), 0),
    close: () => {
      for (const meter of meters) meter.close();
    },
  };
}
