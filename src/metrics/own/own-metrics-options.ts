/** The options of own metrics. */
import { checked, flag, MONITOR, type OptionTable, readOptions } from '../../check-options.ts';
import { isRecord } from '../../values.ts';

/** A `Registry` of prom-client 15. */
export interface MetricsRegister {
  readonly contentType: string;
  metrics(): Promise<string>;
  getSingleMetric(name: string): unknown;
  registerMetric(metric: never): void;
  removeSingleMetric(name: string): void;
}

/** Own metrics of the library, instead of those of an exporter. They need the package `prom-client`. */
export interface OwnMetricsOptions {
  /** Exports what the sources count, and figures about the monitor. Default: true with `register`. */
  readonly own?: boolean;
  /** Whether series of tasks have the label `hostname`, one value for each worker. Default false. */
  readonly hostname?: boolean;
  /**
   * The host's own registry. The metrics are added to it, and `/metrics` serves all of it. They are removed when the
   * router is closed. Default: a separate registry.
   */
  readonly register?: MetricsRegister;
}

/** Checked {@link OwnMetricsOptions}. */
export interface ResolvedOwnMetrics {
  readonly hostname: boolean;
  readonly register: MetricsRegister | null;
}

const METHODS = ['metrics', 'getSingleMetric', 'registerMetric', 'removeSingleMetric'];

/** The methods of a class are not own properties. */
function isRegister(given: unknown): given is MetricsRegister {
  return isRecord(given) && METHODS.every((name) => typeof given[name] === 'function');
}

const TABLE = {
  own: flag(null),
  hostname: flag(false),
  register: checked(isRegister, "a Registry of prom-client, such as its 'register'", null),
} satisfies OptionTable<OwnMetricsOptions>;

/**
 * Checks the `metrics` option if it requests own metrics.
 *
 * @returns `null` if it does not
 * @throws TypeError that says what to write
 */
export function resolveOwnMetrics(option: unknown): ResolvedOwnMetrics | null {
  if (!isRecord(option) || option instanceof URL) return null;
  if (option.own === undefined && option.register === undefined && option.hostname === undefined) return null;
  if (option.url !== undefined) {
    throw new TypeError(
      `${MONITOR}: 'metrics.url' and own metrics cannot be served together: two concatenated expositions are not a valid one. Write metrics: { own: true }, and let Prometheus scrape the other exporter, too.`,
    );
  }
  const words = { example: '{ own: true }', group: 'metrics' };
  const { own, hostname, register } = readOptions(MONITOR, option, TABLE, words);
  if (!(own ?? register !== null)) {
    throw new TypeError(`${MONITOR}: write metrics: { own: true, … }, or metrics: false for no metrics.`);
  }
  return Object.freeze({ hostname, register });
}
