/** Converts samples to the values that prom-client writes, a few in each turn of the event loop. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MetricFamily, MetricHistogram, MetricLabels, MetricValue } from '../../source.ts';
import type { Gathered } from './collector.ts';

/** One line, in the form that metrics of prom-client return. */
export interface PromValue {
  readonly value: number;
  readonly labels: MetricLabels;
  /** Default: the family's name. */
  readonly metricName?: string;
  /** Labels shared by several lines. */
  readonly sharedLabels?: MetricLabels;
}

/** Some lines of a family. Every family has at least one chunk, which may be empty. */
export interface Chunk {
  readonly family: MetricFamily;
  readonly isFirst: boolean;
  readonly values: readonly PromValue[];
}

/** The number of series that may still be written. */
export interface Budget {
  left: number;
  /** Called for each omitted sample. */
  onLeftOut(source: string): void;
}

/** Number of lines between two checks of the time. */
const CHUNK = 100;
/** Longest work in one turn of the event loop, in milliseconds. */
const SLICE_MS = 1;

/** The lines of all families. Their reader works in the same turns. */
export async function* chunksOf(gathered: readonly Gathered[], budget: Budget): AsyncGenerator<Chunk, void> {
  let turnEnds = performance.now() + SLICE_MS;
  for (const { family, parts, isShared } of gathered) {
    const lines = linesOf(family);
    let isFirst = true;
    let values: PromValue[] = [];
    for (const { source, samples } of parts) {
      for (const sample of samples) {
        const added = lines(isShared ? { ...sample, labels: { ...sample.labels, source } } : sample);
        if (added.length > budget.left) {
          budget.onLeftOut(source);
          continue;
        }
        budget.left -= added.length;
        values.push(...added);
        if (values.length < CHUNK) continue;
        yield { family, isFirst, values };
        isFirst = false;
        values = [];
        if (performance.now() < turnEnds) continue;
        await nextTurn();
        turnEnds = performance.now() + SLICE_MS;
      }
    }
    if (isFirst || values.length > 0) yield { family, isFirst, values };
  }
}

/** The lines of a sample. */
function linesOf({
  name,
  bounds = [],
}: MetricFamily): (sample: MetricValue | MetricHistogram) => PromValue[] {
  const [bucket, sum, count] = [`${name}_bucket`, `${name}_sum`, `${name}_count`];
  // As in the OpenMetrics of the Python and Go clients, so that series have the same labels in all formats.
  const les = bounds.map((bound) => ({ le: Number.isInteger(bound) ? bound.toFixed(1) : String(bound) }));
  const none = {};
  return (sample) => {
    if (!('buckets' in sample)) return [sample];
    const { labels: sharedLabels, buckets } = sample;
    const values: PromValue[] = les.map((labels, index) => ({
      value: buckets[index] ?? 0,
      labels,
      metricName: bucket,
      sharedLabels,
    }));
    values.push(
      { value: sample.count, labels: { le: '+Inf' }, metricName: bucket, sharedLabels },
      { value: sample.sum, labels: none, metricName: sum, sharedLabels },
      { value: sample.count, labels: none, metricName: count, sharedLabels },
    );
    return values;
  };
}
