/**
 * Own metrics: what a scrape reads, how it is written, a few lines in each turn of the event loop, and through which
 * registry.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Registry } from 'prom-client';
import { MONITOR } from '../check-options.ts';
import { MonitorError } from '../errors.ts';
import { failedImport, type ServerProblem } from '../server-problems.ts';
import { shareCalls } from '../single-flight.ts';
import type {
  Meter,
  MetricFamily,
  MetricHistogram,
  MetricLabels,
  MetricSeries,
  MetricValue,
} from '../source.ts';
import type { MetricsRegister } from './metrics-options.ts';
import type { MetricsReply } from './scrape.ts';

/** Supplies the series of some families: the meter of a source, or figures about the monitor. */
export interface Collector extends Pick<Meter, 'families' | 'overflow'> {
  /** Name of the source, or of the subject of the figures. */
  readonly source: string;
  /** Never rejects: without an answer in time, its families have no series. */
  collect(): Promise<readonly MetricSeries[]>;
  /** Called once, at the end. */
  close(): void;
}

/** What is exported. */
interface Exported {
  readonly collectors: readonly Collector[];
  /** Those of all collectors, and {@link OVERFLOW}, by name. */
  readonly families: ReadonlyMap<string, MetricFamily>;
  /** Number of samples that were omitted so far, by source. */
  readonly leftOut: Map<string, number>;
}

/** Maximum number of series in an exposition; each bucket of a histogram, its sum and its count are one series. */
export const MOST_SERIES = 10_000;
/** The share of them for figures about the monitor. The meters of the sources share the rest. */
export const MONITOR_SERIES = 1_000;

/** Counts the samples that were omitted because of the limit. */
const OVERFLOW: MetricFamily = {
  name: 'task_monitor_metrics_overflow_total',
  help: 'Observations counted under other, and series left out, because there were too many series.',
  type: 'counter',
};

/** One line, in the form that metrics of prom-client return. */
interface PromValue {
  readonly value: number;
  readonly labels: MetricLabels;
  /** Default: the family's name. */
  readonly metricName?: string;
  /** Labels shared by several lines. */
  readonly sharedLabels?: MetricLabels;
}

/** Some lines of a family. Every family has at least one chunk, which may be empty. */
interface Chunk {
  readonly family: MetricFamily;
  readonly isFirst: boolean;
  readonly values: PromValue[];
}

/** Number of lines between two checks of the time. */
const CHUNK = 100;
/** Longest work in one turn of the event loop, in milliseconds. */
const SLICE_MS = 1;

/** Reads all collectors, and yields their lines. Whoever takes them works in the same turns. */
async function* readChunks(exported: Exported): AsyncGenerator<Chunk, void> {
  const collectors = [...exported.collectors, overflowOf(exported)];
  const answers = await Promise.all(
    collectors.map(async (collector) => ({ collector, series: await collector.collect() })),
  );
  const room: Room = { left: MOST_SERIES, leftOut: exported.leftOut };
  let turnEnds = performance.now() + SLICE_MS;
  for (const family of exported.families.values()) {
    let chunk: Chunk = { family, isFirst: true, values: [] };
    for (const lines of linesOf(family, answers, room)) {
      chunk.values.push(...lines);
      if (chunk.values.length < CHUNK) continue;
      yield chunk;
      chunk = { family, isFirst: false, values: [] };
      if (performance.now() < turnEnds) continue;
      await nextTurn();
      turnEnds = performance.now() + SLICE_MS;
    }
    if (chunk.isFirst || chunk.values.length > 0) yield chunk;
  }
}

/** Counts the samples that were omitted before this scrape. */
function overflowOf({ collectors, leftOut }: Exported): Collector {
  const counts = new Map(leftOut);
  for (const { source, overflow } of collectors) {
    counts.set(source, (counts.get(source) ?? 0) + (overflow?.() ?? 0));
  }
  const samples = [...counts].map(([source, value]) => ({ labels: { source }, value }));
  const series: MetricSeries[] = [{ name: OVERFLOW.name, samples }];
  return { source: '', families: [OVERFLOW], collect: async () => series, close: () => {} };
}

/** What a collector has answered. */
interface Answer {
  readonly collector: Collector;
  readonly series: readonly MetricSeries[];
}

/** What may still be written. */
interface Room extends Pick<Exported, 'leftOut'> {
  /** Number of series. */
  left: number;
}

/** The lines of each sample of a family, unless there is no room for them. */
function* linesOf(
  family: MetricFamily,
  answers: readonly Answer[],
  room: Room,
): Generator<readonly PromValue[], void> {
  const toLines = lineWriter(family);
  const isOfFamily = ({ name }: { readonly name: string }): boolean => name === family.name;
  // Series of several sources need the label `source`.
  const isShared = answers.filter(({ collector }) => collector.families.some(isOfFamily)).length > 1;
  for (const { collector, series } of answers) {
    const { source } = collector;
    for (const { samples } of series.filter(isOfFamily)) {
      for (const sample of samples) {
        const lines = toLines(isShared ? { ...sample, labels: { ...sample.labels, source } } : sample);
        if (lines.length > room.left) {
          room.leftOut.set(source, (room.leftOut.get(source) ?? 0) + 1);
          continue;
        }
        room.left -= lines.length;
        yield lines;
      }
    }
  }
}

/** Converts samples to lines. */
function lineWriter({
  name,
  bounds = [],
}: MetricFamily): (sample: MetricValue | MetricHistogram) => readonly PromValue[] {
  const [bucket, sum, count] = [`${name}_bucket`, `${name}_sum`, `${name}_count`];
  // As in the OpenMetrics of the Python and Go clients, so that series have the same labels in all formats.
  const les = bounds.map((bound) => ({ le: Number.isInteger(bound) ? bound.toFixed(1) : String(bound) }));
  return (sample) => {
    if (!('buckets' in sample)) return [sample];
    const { labels: sharedLabels, buckets } = sample;
    return [
      ...les.map((labels, index) => ({
        value: buckets[index] ?? 0,
        labels,
        metricName: bucket,
        sharedLabels,
      })),
      { value: sample.count, labels: { le: '+Inf' }, metricName: bucket, sharedLabels },
      { value: sample.sum, labels: {}, metricName: sum, sharedLabels },
      { value: sample.count, labels: {}, metricName: count, sharedLabels },
    ];
  };
}

/** Prometheus text, or OpenMetrics. */
type Format = 'text' | 'openmetrics';

/**
 * Writes everything that is exported.
 *
 * @throws MonitorError `exporter_unavailable`, with what to install, if prom-client is not installed
 */
async function writeExposition(exported: Exported, format: Format): Promise<MetricsReply> {
  const { Registry: PromRegistry } = await loadPromClient();
  const isOpen = format === 'openmetrics';
  const contentType = isOpen ? PromRegistry.OPENMETRICS_CONTENT_TYPE : PromRegistry.PROMETHEUS_CONTENT_TYPE;
  // The types of prom-client declare the constructor without its argument.
  const registry: Registry = new (PromRegistry as new (contentType: string) => Registry)(contentType);
  const texts: string[] = [];
  // A registry writes a whole metric without a pause, 10,000 series in 13 ms: each chunk is a metric of its own.
  for await (const { family, isFirst, values } of readChunks(exported)) {
    const name = isOpen && family.type === 'counter' ? family.name.replace(/_total$/, '') : family.name;
    const metric = { name, help: family.help, type: family.type, values, get: () => metric };
    registry.registerMetric(metric as never);
    const text = await registry.getSingleMetricAsString(name);
    registry.removeSingleMetric(name);
    // HELP and TYPE are written only once.
    texts.push(isFirst ? text : text.slice(text.indexOf('\n', text.indexOf('\n') + 1) + 1));
  }
  if (isOpen) texts.push('# EOF');
  return { contentType, body: Buffer.from(`${texts.join('\n')}\n`) };
}

/** Loaded for a scrape, because only hosts with own metrics have the package. */
export async function loadPromClient(): Promise<Pick<typeof import('prom-client'), 'Registry'>> {
  try {
    return await import('prom-client');
  } catch (error) {
    throw failedImport('prom-client', error, Missing);
  }
}

class Missing extends MonitorError {
  constructor({ sentence }: ServerProblem) {
    super('exporter_unavailable', sentence);
  }
}

/** How long an exposition is reused for later scrapes, in milliseconds. */
const KEEP_MS = 1_000;

/**
 * Creates an exporter without collectors, which exports until it is closed.
 *
 * @param register the host's registry, which writes everything in its own format; `null`: none
 * @throws TypeError if another monitor exports through the registry
 */
export function createOwnExporter(register: MetricsRegister | null) {
  const collectors: Collector[] = [];
  const families = new Map([[OVERFLOW.name, OVERFLOW]]);
  const exported: Exported = { collectors, families, leftOut: new Map() };
  const host = register === null ? null : joinRegistry(register, exported);
  host?.add([OVERFLOW]);
  const share = (format: Format) => shareCalls(() => writeExposition(exported, format), KEEP_MS);
  const expositions = { text: share('text'), openmetrics: share('openmetrics') };
  return {
    /**
     * Adds a collector, before the first scrape.
     *
     * @throws TypeError if the name of a family is invalid or already used
     */
    add(collector: Collector): void {
      const added = newFamilies(exported, collector);
      host?.add(added);
      for (const family of added) families.set(family.name, family);
      collectors.push(collector);
    },
    /** The current exposition; it is shared by concurrent calls, and by calls within a second. */
    expose: (format: Format): Promise<MetricsReply> =>
      host === null ? expositions[format]() : host.expose(),
    close(): void {
      host?.leave();
      for (const collector of collectors.splice(0)) collector.close();
    },
  };
}

const NAME = /^[A-Za-z_:][\w:]*$/;

/**
 * The families that only this collector has.
 *
 * @throws TypeError if a name is invalid, or another collector defines a family differently
 */
function newFamilies({ families }: Exported, { families: own, source }: Collector): readonly MetricFamily[] {
  const added = new Map<string, MetricFamily>();
  for (const family of own) {
    const { name, type } = family;
    if (!NAME.test(name) || name.endsWith('_total') !== (type === 'counter')) {
      throw new TypeError(
        `The metric '${name}' of the source '${source}' has no valid name. Write letters, digits and _, with _total at the end of counters only.`,
      );
    }
    const known = families.get(name) ?? added.get(name);
    if (known === undefined) added.set(name, family);
    else if (known.type !== type || String(known.bounds) !== String(family.bounds)) {
      throw new TypeError(`Two sources define the metric '${name}' with different types or bounds.`);
    }
  }
  return [...added.values()];
}

/** Exports through the host's registry. */
function joinRegistry(register: MetricsRegister, exported: Exported) {
  // All metrics of a scrape ask for their values in the same turn.
  const read = shareCalls(() => readValues(exported));
  const turn = takeTurns();
  const metrics = new Map<string, object>();
  const createMetric = ({ name, help, type }: MetricFamily) => {
    // In a cluster, each worker counts everything.
    const metric = { name, help, type, aggregator: 'max', get, reset };
    async function get(): Promise<object> {
      const values = (await read()).get(name) ?? [];
      // The registry writes all values of a metric without a pause, so each metric gets its own turn.
      await turn();
      // A registry for OpenMetrics has changed the name of a counter: it removes `_total`.
      return { name: metric.name, help, type, aggregator: 'max', values };
    }
    // For `register.resetMetrics()`, which tests use to start again; the counts of sources stay.
    function reset(): void {}
    return metric;
  };
  return {
    /** @throws TypeError if the host has a metric of the same name; nothing is then registered */
    add(families: readonly MetricFamily[]): void {
      const taken = families.find(({ name }) => register.getSingleMetric(name) !== undefined);
      if (taken !== undefined) {
        throw new TypeError(
          `${MONITOR}: 'metrics.register' has a metric named '${taken.name}' already. Close the monitor that registered it, or pass another Registry.`,
        );
      }
      for (const family of families) {
        const metric = createMetric(family);
        register.registerMetric(metric as never);
        metrics.set(family.name, metric);
      }
    },
    /** Everything in the registry. */
    expose: shareCalls(async (): Promise<MetricsReply> => {
      const text = await register.metrics();
      return { contentType: register.contentType, body: Buffer.from(text) };
    }, KEEP_MS),
    /** Removes what was added. */
    leave(): void {
      for (const [name, metric] of metrics) {
        // The host may have cleared the registry and used the name for another metric.
        if (register.getSingleMetric(name) === metric) register.removeSingleMetric(name);
      }
    },
  };
}

/** The lines of each family, by name. */
async function readValues(exported: Exported): Promise<ReadonlyMap<string, readonly PromValue[]>> {
  const all = new Map<string, PromValue[]>();
  for await (const { family, values } of readChunks(exported)) {
    const known = all.get(family.name) ?? [];
    known.push(...values);
    all.set(family.name, known);
  }
  return all;
}

/** Resumes its callers one after another, each in its own turn of the event loop. */
function takeTurns(): () => Promise<unknown> {
  let last: Promise<unknown> = Promise.resolve();
  return () => {
    last = last.then(() => nextTurn());
    return last;
  };
}
