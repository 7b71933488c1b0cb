/** Puts own metrics into the registry of the host. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { MONITOR } from '../../check-options.ts';
import type { MetricFamily } from '../../source.ts';
import type { MetricsRegister } from './own-metrics-options.ts';
import type { PromValue } from './values.ts';

/** What a registry holds: a metric that is asked for its values at each scrape. */
interface HostMetric {
  /** A registry for OpenMetrics removes `_total` from the names of counters. */
  name: string;
  readonly help: string;
  readonly type: string;
  readonly aggregator: string;
  get(): Promise<Readonly<Record<string, unknown>>>;
  /** Called by `register.resetMetrics()`, which begins anew in tests; what a source has counted stays. */
  reset(): void;
}

/**
 * Registers families.
 *
 * @param values the values of each family by name. Metrics of one scrape ask in the same turn
 * @returns removes them again
 * @throws TypeError when the host has a metric of the same name; nothing is registered then
 */
export function registerFamilies(
  register: MetricsRegister,
  families: Iterable<MetricFamily>,
  values: () => Promise<ReadonlyMap<string, readonly PromValue[]>>,
): () => void {
  const all = [...families];
  const taken = all.find(({ name }) => register.getSingleMetric(name) !== undefined);
  if (taken !== undefined) {
    throw new TypeError(
      `${MONITOR}: 'metrics.register' has a metric named '${taken.name}' already. Close the monitor that registered it, or pass another Registry.`,
    );
  }
  const turn = takeTurns();
  const metrics = all.map(({ name, help, type }) => {
    const metric: HostMetric = {
      name,
      help,
      type,
      aggregator: 'max',
      async get() {
        const known = await values();
        // Whatever the registry writes of one metric, it writes in one go: each metric has a turn of its own.
        await turn();
        return { name: metric.name, help, type, aggregator: 'max', values: known.get(name) ?? [] };
      },
      reset() {},
    };
    register.registerMetric(metric as never);
    return { name, metric };
  });
  return () => {
    for (const { name, metric } of metrics) {
      // The host may have cleared the registry and used the name again.
      if (register.getSingleMetric(name) === metric) register.removeSingleMetric(name);
    }
  };
}

/** Lets callers go on one after the other, each in a turn of the event loop of its own. */
function takeTurns(): () => Promise<unknown> {
  let last: Promise<unknown> = Promise.resolve();
  return () => {
    last = last.then(() => nextTurn());
    return last;
  };
}
