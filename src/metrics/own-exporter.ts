/** Exports the series of collectors through `/metrics` or the host's registry. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { MONITOR } from '../check-options.ts';
import { shareCalls } from '../single-flight.ts';
import type { MetricFamily } from '../source.ts';
import type { MetricsReply } from './exporter-reply.ts';
import {
  type Collector,
  type Exported,
  type Format,
  OVERFLOW,
  type PromValue,
  readChunks,
  writeExposition,
} from './exposition.ts';
import type { MetricsRegister } from './metrics-options.ts';

/** Exports until it is closed. */
export interface OwnExporter {
  /**
   * Adds a collector, before the first scrape.
   *
   * @throws TypeError if the name of a family is invalid or already used
   */
  add(collector: Collector): void;
  /** The current exposition; it is shared by concurrent calls, and by calls within a second. */
  expose(format: Format): Promise<MetricsReply>;
  close(): void;
}

/** How long an exposition is reused for later scrapes, in milliseconds. */
const KEEP_MS = 1_000;

/**
 * Creates an exporter without collectors.
 *
 * @param register the host's registry, which writes everything in its own format; `null`: none
 * @throws TypeError if another monitor exports through the registry
 */
export function createOwnExporter(register: MetricsRegister | null): OwnExporter {
  const collectors: Collector[] = [];
  const families = new Map([[OVERFLOW.name, OVERFLOW]]);
  const exported: Exported = { collectors, families, leftOut: new Map() };
  const host = register === null ? null : joinRegistry(register, exported);
  host?.add([OVERFLOW]);
  const share = (format: Format) => shareCalls(() => writeExposition(exported, format), KEEP_MS);
  const expositions = { text: share('text'), openmetrics: share('openmetrics') };
  return {
    add(collector) {
      const added = newFamilies(exported, collector);
      host?.add(added);
      for (const family of added) families.set(family.name, family);
      collectors.push(collector);
    },
    expose: (format) => (host === null ? expositions[format]() : host.expose()),
    close() {
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
interface HostRegistry {
  /** @throws TypeError if the host has a metric of the same name; nothing is then registered */
  add(families: readonly MetricFamily[]): void;
  /** Everything in the registry. */
  expose(): Promise<MetricsReply>;
  /** Removes what was added. */
  leave(): void;
}

function joinRegistry(register: MetricsRegister, exported: Exported): HostRegistry {
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
    add(families) {
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
    expose: shareCalls(async () => {
      const text = await register.metrics();
      return { contentType: register.contentType, body: Buffer.from(text) };
    }, KEEP_MS),
    leave() {
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
