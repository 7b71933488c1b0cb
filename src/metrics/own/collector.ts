/** What the exporter reads at each scrape. */
import type { Meter, MetricFamily, MetricSeries } from '../../source.ts';

/** Supplies the series of some families: the meter of a source, or figures about the monitor. */
export interface Collector extends Pick<Meter, 'families' | 'overflow'> {
  /** Name of the source, or of the subject of the figures. */
  readonly source: string;
  /** Never rejects: without an answer in time, its families have no series. */
  collect(): Promise<readonly MetricSeries[]>;
  /** Called once, at the end. */
  close(): void;
}

/** Maximum number of series in an exposition; each bucket of a histogram, its sum and its count are one series. */
export const MOST_SERIES = 10_000;
/** The share of them for figures about the monitor. The meters of the sources share the rest. */
export const MONITOR_SERIES = 1_000;

/** Counts the samples that were omitted because of the limit. The exporter itself supplies this family. */
export const OVERFLOW: MetricFamily = {
  name: 'task_monitor_metrics_overflow_total',
  help: 'Observations counted under other, and series left out, because there were too many series.',
  type: 'counter',
};

const NAME = /^[A-Za-z_:][\w:]*$/;

/**
 * The families of all collectors, each name once.
 *
 * @throws TypeError if a name is invalid, or two collectors define a family differently
 */
export function familiesOf(collectors: readonly Collector[]): ReadonlyMap<string, MetricFamily> {
  const families = new Map<string, MetricFamily>([[OVERFLOW.name, OVERFLOW]]);
  for (const { families: own, source } of collectors) {
    for (const family of own) {
      const { name, type } = family;
      if (!NAME.test(name) || name.endsWith('_total') !== (type === 'counter')) {
        throw new TypeError(
          `The metric '${name}' of the source '${source}' has no valid name. Write letters, digits and _, with _total at the end of counters only.`,
        );
      }
      const known = families.get(name) ?? family;
      if (known.type !== type || String(known.bounds) !== String(family.bounds)) {
        throw new TypeError(`Two sources define the metric '${name}' with different types or bounds.`);
      }
      families.set(name, known);
    }
  }
  return families;
}

/** A family at the time of a scrape. */
export interface Gathered {
  readonly family: MetricFamily;
  readonly parts: readonly { readonly source: string; readonly samples: MetricSeries['samples'] }[];
  /** Whether several collectors supply it, so that its series need the label `source`. */
  readonly isShared: boolean;
}

/** Reads all collectors. */
export async function gather(
  collectors: readonly Collector[],
  families: ReadonlyMap<string, MetricFamily>,
): Promise<Gathered[]> {
  const answers = await Promise.all(
    collectors.map(async ({ source, collect }) => ({ source, series: await collect() })),
  );
  return [...families.values()].map((family) => ({
    family,
    parts: answers.flatMap(({ source, series }) =>
      series.filter(({ name }) => name === family.name).map(({ samples }) => ({ source, samples })),
    ),
    isShared: collectors.filter((one) => one.families.some(({ name }) => name === family.name)).length > 1,
  }));
}
