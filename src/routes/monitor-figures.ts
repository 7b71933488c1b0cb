/** Figures of all sources and of the monitor itself, for own metrics. */
import { type LoopDelay, measureLoopDelay } from '../http/loop-delay.ts';
import type { Monitor } from '../http/monitor.ts';
import type { Collector } from '../metrics/own/collector.ts';
import { scheduler } from '../scheduler.ts';
import { shareCalls } from '../single-flight.ts';
import type { HistoryStats, MetricSeries } from '../source.ts';
import { settleInTime } from '../waiting.ts';
import { findingsOf } from './findings-component.ts';
import { FAMILIES } from './monitor-families.ts';
import { type Parts, partsByName, readPart, type SourceReads } from './situation.ts';
import { seriesOf } from './source-figures.ts';
import { VERSION } from './version.ts';

/** How long figures of the sources are reused, in milliseconds. */
const FRESH_MS = 5_000;
/** Longest time that a scrape waits for them, in milliseconds: Prometheus itself gives up after 10 s. */
const WAIT_MS = 7_000;

/** Collects figures of all sources and of the monitor itself. Starts measuring the delay of the event loop. */
export function collectFigures(monitor: Monitor): Omit<Collector, 'source'> {
  const delay = measureLoopDelay();
  const readSources = shareCalls(() => readFigures(monitor), FRESH_MS);
  const late = (): Error => new Error('The figures of the sources arrived too late for this scrape.');
  const readInTime = async (): Promise<readonly MetricSeries[]> => {
    try {
      return await settleInTime(readSources(), { ms: WAIT_MS }, late);
    } catch (error) {
      monitor.report(error, { code: null, source: null, call: 'metrics' });
      return [];
    }
  };
  return {
    families: Object.values(FAMILIES),
    collect: async () => [...(await readInTime()), ...ownSeries(monitor, delay)],
    close: delay.close,
  };
}

async function readFigures(monitor: Monitor): Promise<readonly MetricSeries[]> {
  const [{ evaluation, situations }, histories] = await Promise.all([
    findingsOf(monitor)(),
    readHistories(monitor),
  ]);
  return scheduler.run('metrics', seriesOf({ evaluation, situations, histories }));
}

async function readHistories(monitor: Monitor): Promise<ReadonlyMap<string, HistoryStats>> {
  const read = [...partsByName(monitor.sources)].map(async ([name, { history }]) => {
    const reads: SourceReads = { monitor, name, failures: [], key: 'findings' };
    return [name, await readHistory(reads, history)] as const;
  });
  const histories = new Map<string, HistoryStats>();
  for (const [name, stats] of await Promise.all(read)) if (stats != null) histories.set(name, stats);
  return histories;
}

function readHistory(reads: SourceReads, history: Parts['history']) {
  return readPart(
    reads,
    history,
    'getHistoryStats',
    (part, context) => part.getHistoryStats(context),
    function* (stats: HistoryStats) {
      yield;
      return stats;
    },
  );
}

function ownSeries({ streams, figures }: Monitor, delay: LoopDelay): readonly MetricSeries[] {
  return [
    { name: FAMILIES.version.name, samples: [{ labels: { version: VERSION }, value: 1 }] },
    { name: FAMILIES.requests.name, samples: figures?.requests.samples() ?? [] },
    { name: FAMILIES.problems.name, samples: figures?.problems.samples() ?? [] },
    { name: FAMILIES.reads.name, samples: figures?.reads.samples() ?? [] },
    { name: FAMILIES.errors.name, samples: figures?.errors.samples() ?? [] },
    { name: FAMILIES.streams.name, samples: [{ labels: {}, value: streams.count() }] },
    { name: FAMILIES.delay.name, samples: [delay.read()] },
  ];
}
