/** What a source counts for `/metrics`, in Prometheus' data model. The router writes the text format. */
import type { Awaitable, ReadContext } from '../source.ts';

/** A metric with all its series. */
export interface MetricFamily {
  /** Such as `celery_task_sent_total`; the name of a counter ends with `_total`. */
  readonly name: string;
  /** One sentence for people. */
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Upper bounds of a histogram's buckets, ascending, without infinity. Default: none. */
  readonly bounds?: readonly number[];
}

/** Names and values of the labels of a series. */
export type MetricLabels = Readonly<Record<string, string>>;

/** The value of one series of a counter or a gauge. */
export interface MetricValue {
  readonly labels: MetricLabels;
  readonly value: number;
}

/** One series of a histogram. */
export interface MetricHistogram {
  readonly labels: MetricLabels;
  /** How many observations do not exceed each of the family's bounds: they are cumulative. */
  readonly buckets: readonly number[];
  readonly sum: number;
  readonly count: number;
}

/** The series of one family at the time of a scrape. */
export interface MetricSeries {
  /** Name of one of the meter's families. */
  readonly name: string;
  /** Read once, in parts over several turns of the event loop. Each sample is written before the next is requested. */
  readonly samples: Iterable<MetricValue> | Iterable<MetricHistogram>;
}

/** How to count. */
export interface MeterOptions {
  /** Whether series of tasks have the label `hostname`. */
  readonly hostname: boolean;
  /** Maximum number of series; each bucket of a histogram, its sum and its count are one series each. */
  readonly mostSeries: number;
}

/** Counts from the time it is opened. */
export interface Meter {
  /** Every family that may ever have series. */
  readonly families: readonly MetricFamily[];
  /** Called for a scrape. Families without a series may be omitted. */
  collect(context: ReadContext): Awaitable<readonly MetricSeries[]>;
  /** Number of observations that were counted under `other` because there were too many series. Default: 0. */
  overflow?(): number;
  /** Stops counting. Called once. */
  close(): void;
}
