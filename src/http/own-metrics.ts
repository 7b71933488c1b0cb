/** `GET /metrics` with the option `metrics`: what the sources count, and figures about the monitor. */
import { isMonitorError } from '../errors.ts';
import {
  type Collector,
  createOwnExporter,
  loadPromClient,
  MONITOR_SERIES,
  MOST_SERIES,
} from '../metrics/exposition.ts';
import { prefersOpenMetrics } from '../metrics/formats.ts';
import type { ResolvedMetrics } from '../metrics/metrics-options.ts';
import type { MetricsServer } from '../metrics/metrics-proxy.ts';
import type { Reader } from '../read.ts';
import { partsOf } from '../source/combined-part.ts';
import type { Meter, MonitorSources, SourcePart } from '../source.ts';

/** What own metrics are built from. */
interface OwnMetricsContext extends ResolvedMetrics {
  readonly sources: MonitorSources;
  readonly reader: Reader;
}

/** The name of the collector of figures about the monitor itself. */
const MONITOR = 'monitor';

/** Opens the meters of the sources. @throws TypeError when the host's registry has a metric of the same name */
export function createOwnMetrics(context: OwnMetricsContext) {
  const { sources, register } = context;
  const exporter = createOwnExporter(register);
  const all = sources.experimental === undefined ? [] : partsOf(sources.experimental);
  const parts = all.filter(({ openMeter }) => openMeter !== undefined);
  const mostSeries = Math.floor((MOST_SERIES - MONITOR_SERIES) / Math.max(1, parts.length));
  const add = (collector: Collector): void => {
    try {
      exporter.add(collector);
    } catch (error) {
      collector.close();
      exporter.close();
      throw error;
    }
  };
  for (const part of parts) {
    const meter = part.openMeter?.({ hostname: context.hostname, mostSeries });
    if (meter !== undefined) add(collectorOf(context, part, meter));
  }
  const server: MetricsServer = {
    scrape: ({ headers }) => exporter.expose(prefersOpenMetrics(headers.accept) ? 'openmetrics' : 'text'),
    check: async () =>
      register !== null ||
      (await loadPromClient().then(
        () => true,
        () => false,
      )),
    close: exporter.close,
  };
  return {
    ...server,
    /**
     * Adds figures about the monitor, before the first scrape.
     *
     * @throws TypeError when the host's registry has a metric of the same name; everything is then closed
     */
    add: (collector: Omit<Collector, 'source'>): void => add({ ...collector, source: MONITOR }),
  };
}

/** The collector of a source's meter. A source that fails has no series; the others are served. */
function collectorOf({ reader }: OwnMetricsContext, part: SourcePart, meter: Meter): Collector {
  return {
    source: part.name,
    families: meter.families,
    overflow: () => meter.overflow?.() ?? 0,
    close: () => meter.close(),
    async collect() {
      try {
        return await reader.read({
          part,
          call: 'collect',
          key: '',
          urgent: true,
          read: (context) => meter.collect(context),
          map: (series) => series,
        });
      } catch (error) {
        // The reader has already reported it.
        if (isMonitorError(error)) return [];
        throw error;
      }
    },
  };
}
