/** Exports the series of collectors through `/metrics` or the host's registry. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { MONITOR } from '../../check-options.ts';
import { shareCalls } from '../../single-flight.ts';
import type { MetricFamily, MetricSeries } from '../../source.ts';
import type { MetricsRegister } from '../metrics-options.ts';
import { type Collector, familiesOf, gather, MOST_SERIES, OVERFLOW } from './collector.ts';
import { type Budget, type Chunk, chunksOf, type PromValue } from './values.ts';
import { type Exposition, type Format, loadPromClient, writeExposition } from './write.ts';

/** Exports until it is closed. */
export interface OwnExporter {
  /**
   * Adds a collector, before the first scrape.
   *
   * @throws TypeError if the name of a family is invalid or already used
   */
  add(collector: Collector): void;
  /** The current exposition; it is shared by concurrent calls, and by calls within a second. */
  expose(format: Format): Promise<Exposition>;
  close(): void;
}

interface State {
  readonly collectors: Collector[];
  families: ReadonlyMap<string, MetricFamily>;
  /** Number of omitted samples, by source. */
  readonly leftOut: Map<string, number>;
  unregister: () => void;
}

/** How long an exposition is reused for later scrapes, in milliseconds. */
const KEEP_MS = 1_000;

/** @param register the host's registry; `null`: none */
export function createOwnExporter(register: MetricsRegister | null): OwnExporter {
  const state: State = {
    collectors: [],
    families: familiesOf([]),
    leftOut: new Map(),
    unregister: () => {},
  };
  const write = (format: Format): (() => Promise<Exposition>) =>
    shareCalls(async () => writeExposition(await loadPromClient(), format, chunksNow(state)), KEEP_MS);
  const own = { text: write('text'), openmetrics: write('openmetrics') };
  const values = shareCalls(() => valuesNow(state));
  const whole = shareCalls(async (): Promise<Exposition> => {
    const text = (await register?.metrics()) ?? '';
    return { contentType: register?.contentType ?? '', text };
  }, KEEP_MS);
  return {
    add(collector) {
      const families = familiesOf([...state.collectors, collector]);
      state.unregister();
      state.unregister = () => {};
      if (register !== null) state.unregister = registerFamilies(register, families.values(), values);
      state.collectors.push(collector);
      state.families = families;
    },
    expose: (format) => (register === null ? own[format]() : whole()),
    close() {
      state.unregister();
      for (const collector of state.collectors.splice(0)) collector.close();
    },
  };
}

async function* chunksNow(state: State): AsyncGenerator<Chunk, void> {
  const { collectors, families, leftOut } = state;
  const budget: Budget = {
    left: MOST_SERIES,
    onLeftOut: (source) => void leftOut.set(source, (leftOut.get(source) ?? 0) + 1),
  };
  const gathered = await gather([...collectors, overflowOf(state)], families);
  yield* chunksOf(gathered, budget);
}

/** Counts the omitted samples, by source. */
function overflowOf({ collectors, leftOut }: State): Collector {
  const counts = new Map(leftOut);
  for (const { source, overflow } of collectors) {
    counts.set(source, (counts.get(source) ?? 0) + (overflow?.() ?? 0));
  }
  const samples = [...counts].map(([source, value]) => ({ labels: { source }, value }));
  const series: MetricSeries[] = [{ name: OVERFLOW.name, samples }];
  return { source: '', families: [OVERFLOW], collect: async () => series, close: () => {} };
}

async function valuesNow(state: State): Promise<ReadonlyMap<string, readonly PromValue[]>> {
  const all = new Map<string, PromValue[]>();
  for await (const { family, values } of chunksNow(state)) {
    const known = all.get(family.name);
    if (known === undefined) all.set(family.name, [...values]);
    else known.push(...values);
  }
  return all;
}

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
function registerFamilies(
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
