/** The option `metrics`: own metrics of the library. */
import { checked, flag, type OptionsOf, type OptionTable, optionalGroup } from '../check-options.ts';
import { isRecord } from '../values.ts';

/** A `Registry` of prom-client 15. */
export interface MetricsRegister {
  readonly contentType: string;
  metrics(): Promise<string>;
  getSingleMetric(name: string): unknown;
  registerMetric(metric: never): void;
  removeSingleMetric(name: string): void;
}

/** Own metrics of the library: what the sources count, and figures about the monitor. They need `prom-client`. */
export interface MetricsOptions {
  /** Whether series of tasks have the label `hostname`, one value for each worker. Default false. */
  readonly hostname?: boolean;
  /**
   * The host's own registry. The metrics are added to it, and `/metrics` serves all of it. They are removed when the
   * router is closed. Default: a separate registry.
   */
  readonly register?: MetricsRegister;
}

/** {@link MetricsOptions}, checked, with every default filled in. */
export type ResolvedMetrics = OptionsOf<typeof TABLE>;

const METHODS = ['metrics', 'getSingleMetric', 'registerMetric', 'removeSingleMetric'];

/** The methods of a class are not own properties. */
function isRegister(given: unknown): given is MetricsRegister {
  return isRecord(given) && METHODS.every((name) => typeof given[name] === 'function');
}

const TABLE = {
  hostname: flag(false),
  register: checked(isRegister, "a Registry of prom-client, such as its 'register'", null),
} satisfies OptionTable<MetricsOptions>;

/** The option `metrics`; `null`: nothing is counted. */
export const readMetrics = optionalGroup(TABLE, { example: '{ hostname: true }' }, false);
