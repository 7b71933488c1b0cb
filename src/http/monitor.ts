/** The state that the routes of one router share. */
import { MonitorError } from '../errors.ts';
import { createLruCache, type LruCache } from '../lru-cache.ts';
import type { ResolvedOptions } from '../options/resolve-options.ts';
import { createReader, createReport, type LastAnswer, type Reader, type Report } from '../read.ts';
import { createRedactor, type Redactor } from '../redact.ts';
import { createSerializer, type Serializer } from '../serialize.ts';
import { useSources } from '../source/source-users.ts';
import type { MonitorSources, SourcePart } from '../source.ts';
import type { AnswerEntry } from './answer-entry.ts';
import { createGuard, type Guard } from './authorize.ts';
import { createNameClient, type NameClient } from './client-name.ts';
import { createFigures, type Figures } from './figures.ts';
import { createMarkers, type ReadMarkers } from './markers.ts';
import { createMetricsProxy, type MetricsServer } from './metrics-proxy.ts';
import { createOwnMetrics, type OwnMetrics } from './own-metrics.ts';
import { createStreams, type Streams } from './streams.ts';
import { createWorkflows, type Workflows } from './workflows.ts';

/** The state of one router. */
export interface Monitor {
  readonly options: ResolvedOptions;
  readonly sources: MonitorSources;
  readonly reader: Reader;
  readonly report: Report;
  readonly serializer: Serializer;
  /** `null` when no exporter is configured. */
  readonly metrics: MetricsServer | null;
  /** The same, if it exports this library's own metrics. */
  readonly ownMetrics: OwnMetrics | null;
  /** Counts of the monitor's work, if it exports own metrics. */
  readonly figures: Figures | null;
  /** The host's markers, oldest first. */
  readonly markers: ReadMarkers;
  readonly answers: LruCache<AnswerEntry>;
  readonly workflows: Workflows;
  /** Decides which requests are allowed. */
  readonly guard: Guard;
  readonly nameClient: NameClient;
  readonly streams: Streams;
  /** Counts items of a source that could not be read, and reports them to the host. */
  countUnreadable(part: SourcePart, call: string, count: number): void;
  /** Number of items that could not be read so far. */
  unreadable(): number;
  /** Adds work to do when the monitor is closed, before its sources. It should end within a fraction of a second. */
  beforeClose(work: () => Promise<void>): void;
  /**
   * Ends all reads, streams and scrapes, and closes the sources that no other router uses. To be called once.
   * Resolves within 1.5 s, never rejects.
   */
  close(): Promise<void>;
}

/** Bounds of each cache of answers. */
const ANSWERS = {
  entries: 500,
  bytes: 16 * 1024 * 1024,
  sizeOf: ({ size }: { readonly size: number }, key: string) => size + key.length,
};

/** How long `close` waits for the sources, in milliseconds. */
const CLOSE_MS = 1_200;

/** Creates the state of one router. */
export function createMonitor(options: ResolvedOptions): Monitor {
  const { sources, limits, timeoutMs, ownMetrics: own } = options;
  const redactor = createRedactor(options.redact);
  const figures = own === null ? null : createFigures();
  const report = openReport(options, redactor, figures);
  const lastAnswers = createLruCache<LastAnswer>(ANSWERS);
  const { concurrency, perSource: perPart } = limits;
  const onCall = figures?.countRead;
  const reader = createReader({ timeoutMs, concurrency, perPart, report, lastAnswers, onCall });
  const ownMetrics = own === null ? null : createOwnMetrics({ ...own, sources, reader, report });
  const metrics = options.metrics === null ? ownMetrics : createMetricsProxy(options.metrics);
  const markers = createMarkers({ markers: options.markers, report, redact: redactor.text });
  const answers = createLruCache<AnswerEntry>(ANSWERS);
  const guard = createGuard(options, report);
  const streams = createStreams({ most: limits.streams, mostBytes: limits.streamBytes, guard, report });
  const leaveSources = useSources(sources);
  const serializer = createSerializer({ redactor, preview: limits.preview, detail: limits.detail });
  const workflows = createWorkflows({ reader, serializer, report, most: limits.nodes, timeoutMs });
  let unreadable = 0;
  const endings: (() => Promise<void>)[] = [];

  return {
    options,
    sources,
    reader,
    report,
    serializer,
    metrics,
    ownMetrics,
    figures,
    markers,
    answers,
    workflows,
    guard,
    nameClient: createNameClient(options, report),
    streams,
    countUnreadable(part, call, count) {
      unreadable += count;
      const detail = `${call}() returned ${count} items that are invalid or exceed the limit; they are omitted.`;
      report(new MonitorError('source_invalid', detail), { code: 'source_invalid', source: part.name, call });
    },
    unreadable: () => unreadable,
    beforeClose: (work) => void endings.push(work),
    async close() {
      const until = performance.now() + CLOSE_MS;
      const ended = Promise.all(endings.map((end) => end()));
      streams.close();
      reader.close();
      metrics?.close();
      answers.clear();
      lastAnswers.clear();
      workflows.clear();
      try {
        await atMost(CLOSE_MS, ended);
        await atMost(until - performance.now(), leaveSources());
      } catch (error) {
        report(error, { code: null, source: null, call: 'close' });
      }
    },
  };
}

/** Reports errors to the host. Own metrics count them. */
function openReport({ onError }: ResolvedOptions, { text }: Redactor, figures: Figures | null): Report {
  const report = createReport({ onError, redact: text });
  return figures === null ? report : figures.counting(report);
}

/** Waits at most this long for a value. */
function atMost(milliseconds: number, value: unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    // Unlike Promise.resolve, a resolver also catches errors of a thenable that throws.
    new Promise((adopt) => adopt(value)).then(() => resolve(), reject).finally(() => clearTimeout(timer));
  });
}
