/** The state that the routes of one router share. */
import { MONITOR } from '../check-options.ts';
import { MonitorError } from '../errors.ts';
import { createLruCache } from '../lru-cache.ts';
import { createMetricsProxy, type MetricsServer } from '../metrics/metrics-proxy.ts';
import type { ResolvedOptions } from '../options/resolve-options.ts';
import type { RouteName } from '../options.ts';
import { createReader, createReport, type LastAnswer, type Report } from '../read.ts';
import { createRedactor } from '../redact.ts';
import { createSerializer } from '../serialize.ts';
import { useSources } from '../source/bundles.ts';
import type { MetricValue, SourcePart } from '../source.ts';
import type { AnswerEntry } from './answer-body.ts';
import { createGuard, type Guard } from './authorize.ts';
import type { MonitorRequest, MonitorResponse } from './exchange.ts';
import { createMarkers } from './markers.ts';
import { createOwnMetrics } from './own-metrics.ts';
import { createStreams } from './streams.ts';
import { createWorkflows } from './workflows.ts';

/** The state of one router. */
export type Monitor = ReturnType<typeof createMonitor>;

/** Wraps a function so that each monitor has one result, which all of its routes share. */
export function oncePerMonitor<Result>(create: (monitor: Monitor) => Result): (monitor: Monitor) => Result {
  const results = new WeakMap<Monitor, Result>();
  return (monitor) => {
    const result = results.get(monitor) ?? create(monitor);
    results.set(monitor, result);
    return result;
  };
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
export function createMonitor(options: ResolvedOptions) {
  const { sources, limits, timeoutMs, metrics: own, exporter } = options;
  const redactor = createRedactor(sources.redact, { caller: MONITOR, option: 'sources.redact' });
  const figures = own === null ? null : createFigures();
  const reportTo = createReport(options.onError, redactor.text);
  const report = figures === null ? reportTo : figures.counting(reportTo);
  const lastAnswers = createLruCache<LastAnswer>(ANSWERS);
  const { concurrency } = limits;
  const onCall = figures?.countRead;
  const reader = createReader({ timeoutMs, concurrency, report, lastAnswers, onCall });
  const ownMetrics = own === null ? null : createOwnMetrics({ ...own, sources, reader });
  const metrics: MetricsServer | null = exporter === null ? ownMetrics : createMetricsProxy(exporter);
  const answers = createLruCache<AnswerEntry>(ANSWERS);
  const { authorize } = options;
  const guard: Guard = authorize === null ? () => null : createGuard(authorize, options, report);
  const streams = createStreams({ most: limits.streams, mostBytes: limits.streamBytes, guard, report });
  const leaveSources = useSources(sources);
  const serializer = createSerializer({ redactor, preview: limits.preview, detail: limits.detail });
  const workflows = createWorkflows({ reader, serializer, report, most: limits.nodes, timeoutMs });
  const endings: (() => Promise<void>)[] = [];

  return {
    options,
    sources,
    reader,
    report,
    serializer,
    /** `null` when no exporter is configured. */
    metrics,
    /** The same, if it exports this library's own metrics. */
    ownMetrics,
    /** Counts of the monitor's work, if it exports own metrics. */
    figures,
    /** The host's markers, oldest first. */
    markers: createMarkers(options.markers, report, redactor.text),
    answers,
    workflows,
    /** Decides which requests are allowed. */
    guard,
    nameClient: createNameClient(options, report),
    streams,
    ...createUnreadable(report),
    /** Adds work to do when the monitor is closed, before its sources. It should end within a fraction of a second. */
    beforeClose: (work: () => Promise<void>): void => void endings.push(work),
    /**
     * Ends all reads, streams and scrapes, and closes the sources that no other router uses. To be called once.
     * Resolves within 1.5 s, never rejects.
     */
    async close(): Promise<void> {
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

/** Counts items of sources that could not be read. */
function createUnreadable(report: Report) {
  let unreadable = 0;
  return {
    /** Counts them, and reports them to the host. */
    countUnreadable(part: SourcePart, call: string, count: number): void {
      unreadable += count;
      const detail = `${call}() returned ${count} items that are invalid or exceed the limit; they are omitted.`;
      report(new MonitorError('source_invalid', detail), { code: 'source_invalid', source: part.name, call });
    },
    /** Their number so far. */
    unreadable: () => unreadable,
  };
}

/** Waits at most this long for a value. */
function atMost(milliseconds: number, value: unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    // Unlike Promise.resolve, a resolver also catches errors of a thenable that throws.
    new Promise((adopt) => adopt(value)).then(() => resolve(), reject).finally(() => clearTimeout(timer));
  });
}

let routers = 0;

/**
 * Creates the names of the clients of one router, so that their long work takes turns: clients of two routers have
 * different names.
 *
 * @returns names the client of a request, or for `null` all clients of the router
 */
function createNameClient({ clientKey }: Pick<ResolvedOptions, 'clientKey'>, report: Report) {
  routers += 1;
  const router = routers;

  function nameOf(request: MonitorRequest): unknown {
    try {
      return clientKey?.(request) ?? request.socket?.remoteAddress;
    } catch (error) {
      report(error, { code: null, source: null, call: 'clientKey' });
      return '';
    }
  }

  return (request: MonitorRequest | null): string =>
    request === null ? String(router) : `${router} ${nameOf(request)}`;
}

/** Counts the work of a router since it was created. */
function createFigures() {
  /** Answers. */
  const requests = createCounter('route', 'code');
  /** Calls of sources. */
  const reads = createCounter('source', 'call');
  /** Errors reported to the host. */
  const errors = createCounter('source', 'call', 'error');
  return {
    requests,
    /** Problems sent as answers. */
    problems: createCounter('route', 'error'),
    reads,
    errors,
    /** Counts an answer when it ends. There is none if the client disconnects before it begins. */
    watch(route: RouteName, response: MonitorResponse): void {
      response.once('close', () => {
        if (response.headersSent) requests.add(route, String(response.statusCode));
      });
    },
    countRead: (part: SourcePart, call: string): void => reads.add(part.name, call),
    /** Also counts errors that are suppressed because they are too frequent. */
    counting:
      (report: Report): Report =>
      (error, context) => {
        errors.add(context.source ?? '', context.call, context.code ?? 'internal');
        report(error, context);
      },
  };
}

/** A counter for each combination of values of these labels. */
function createCounter(...names: readonly string[]) {
  const values = new Map<string, { readonly labels: MetricValue['labels']; value: number }>();
  return {
    /** @param texts values of the labels, in their order */
    add(...texts: readonly string[]): void {
      const key = texts.join('\n');
      const known = values.get(key);
      if (known !== undefined) known.value += 1;
      else {
        const labels = Object.fromEntries(names.map((name, index) => [name, texts[index] ?? '']));
        values.set(key, { labels, value: 1 });
      }
    },
    samples: (): Iterable<MetricValue> => values.values(),
  };
}
