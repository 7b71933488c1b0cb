/** Registers own metrics in the host's registry. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { MONITOR } from '../../check-options.ts';
import type { MetricFamily } from '../../source.ts';
import type { MetricsRegister } from './own-metrics-options.ts';
import type { PromValue } from './values.ts';

/** An entry of a registry: a metric whose values are read at each scrape. */
interface HostMetric {
  /** A registry for OpenMetrics removes `_total` from the names of counters. */
  name: string;
  readonly help: string;
  readonly type: string;
  readonly aggregator: string;
  get(): Promise<Readonly<Record<string, unknown>>>;
  /** Called by `register.resetMetrics()`, which tests use to start again; the counts of sources stay. */
  reset(): void;
}

/**
 * Registers families.
 *
 * @param values the values of each family by name. All metrics of a scrape call it in the same turn
 * @returns a function that removes them again
 * @throws TypeError if the host has a metric of the same name; nothing is then registered
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
        // The registry writes all values of a metric without a pause, so each metric gets its own turn.
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
      // The host may have cleared the registry and used the name for another metric.
      if (register.getSingleMetric(name) === metric) register.removeSingleMetric(name);
    }
  };
}

/** Resumes its callers one after another, each in its own turn of the event loop. */
function takeTurns(): () => Promise<unknown> {
  let last: Promise<unknown> = Promise.resolve();
  return () => {
    last = last.then(() => nextTurn());
    return last;
  };
}
