import type { QueueAnswer } from '../answers/queue-answers.ts';
import { isMonitorError, MonitorError } from '../errors.ts';
import type { Evaluation } from '../findings/evaluate.ts';
import type { SourceSituation } from '../findings/finding.ts';
import { type Waiting, waitingByQueue } from '../findings/rules/queues.ts';
import { STORE_COMPONENT } from '../history/store-parts.ts';
import { isGone, onLeave, sendFresh } from '../http/exchange.ts';
import type { Monitor } from '../http/monitor.ts';
import { defineRoute } from '../http/route.ts';
import { DELAY_BOUNDS, measureLoopDelay } from '../metrics/durations.ts';
import type { Collector } from '../metrics/exposition.ts';
import { CLIENT_GONE } from '../read.ts';
import { type Steps, scheduler } from '../scheduler.ts';
import { shareCalls } from '../single-flight.ts';
import type { HistoryStats, MetricFamily, MetricLabels, MetricSeries, MetricValue } from '../source.ts';
import { settleInTime } from '../waiting.ts';
import { type Findings, findingsOf } from './own-components.ts';
import { partsByName, readPart, type SourceReads } from './situation.ts';
import { VERSION } from './version.ts';

/** `GET /metrics`: what this library counts, or the exporter's response with its body and content type unchanged. */
export const metricsRoute = defineRoute({
  name: 'metrics',
  path: '/metrics',
  summary: 'Metrics for Prometheus',
  query: {},
  body: null,
  errors: ['metrics_disabled', 'exporter_invalid', 'exporter_unavailable', 'exporter_timeout'],
  cached: false,
  passes: ({ options }) => options.exporter?.query ?? [],
  open(monitor) {
    const { metrics, ownMetrics, options, report } = monitor;
    if (ownMetrics !== null) ownMetrics.add(collectFigures(monitor));
    return ({ pairs }) => {
      const query = new URLSearchParams(pairs.filter(([name]) => options.exporter?.query.includes(name)));
      return async (request, response) => {
        if (metrics === null) throw new MonitorError('metrics_disabled');
        try {
          const { headers } = request;
          const reply = await metrics.scrape({ headers, query, onLeave: onLeave(response) });
          sendFresh(request, response, 200, reply.contentType, reply.body);
        } catch (error) {
          // The client has disconnected: there is no error to report.
          if (isGone(response)) throw CLIENT_GONE;
          if (isMonitorError(error)) report(error, { code: error.code, source: null, call: 'metrics' });
          throw error;
        }
      };
    };
  },
});

/** How long figures of the sources are reused, in milliseconds. */
const FRESH_MS = 5_000;
/** Longest time that a scrape waits for them, in milliseconds: Prometheus itself gives up after 10 s. */
const WAIT_MS = 7_000;

/** Collects figures of all sources and of the monitor itself. Starts measuring the delay of the event loop. */
function collectFigures(monitor: Monitor): Omit<Collector, 'source'> {
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
  const [{ evaluation, situations, queues }, histories] = await Promise.all([
    findingsOf(monitor)(),
    readHistories(monitor),
  ]);
  return scheduler.run('metrics', seriesOf({ evaluation, situations, queues, histories }));
}

async function readHistories(monitor: Monitor): Promise<ReadonlyMap<string, HistoryStats>> {
  const histories = new Map<string, HistoryStats>();
  const read = [...partsByName(monitor.sources)].map(async ([name, { history }]) => {
    const reads: SourceReads = { monitor, name, failures: [], key: 'findings' };
    const stats = await readPart(
      reads,
      history,
      'getHistoryStats',
      (part, context) => part.getHistoryStats(context),
      unchanged,
    );
    if (stats != null) histories.set(name, stats);
  });
  await Promise.all(read);
  return histories;
}

function* unchanged<Raw>(raw: Raw): Steps<Raw> {
  yield;
  return raw;
}

function ownSeries(
  { streams, figures }: Monitor,
  delay: ReturnType<typeof measureLoopDelay>,
): readonly MetricSeries[] {
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

/** Maximum number of queues, of all sources together, with series of their own; the others are added up. */
const MOST_QUEUES = 400;
const OTHER = 'other';
/** Items that are processed in one step. */
const STEP = 100;

/** Takes a value of a series. Without a finite number it is unknown, and the series is left out. */
type Put = (family: MetricFamily, labels: MetricLabels, value: unknown) => void;

/** The data of the figures. */
interface SourceFigures extends Pick<Findings, 'situations' | 'evaluation' | 'queues'> {
  /** By source; sources without a history, or whose history could not be read, are missing. */
  readonly histories: ReadonlyMap<string, HistoryStats>;
}

function* seriesOf({
  situations,
  evaluation,
  queues: answers,
  histories,
}: SourceFigures): Steps<readonly MetricSeries[]> {
  const values = new Map<string, MetricValue[]>();
  const put: Put = ({ name }, labels, value) => {
    if (typeof value !== 'number' || !Number.isFinite(value)) return;
    const known = values.get(name);
    if (known === undefined) values.set(name, [{ labels, value }]);
    else known.push({ labels, value });
  };
  const mostQueues = Math.floor(MOST_QUEUES / Math.max(1, situations.length));
  for (const situation of situations) {
    const { name: source, error, activity = null, queues, workers, components } = situation;
    put(FAMILIES.up, { source }, error === null ? 1 : 0);
    const waiting = queues === null ? [] : waitingByQueue(activity, queues);
    yield* putQueues(put, source, waiting, evaluation.at, mostQueues);
    yield* putDrains(put, source, answers.get(source) ?? new Map(), Math.ceil(mostQueues / DRAIN_SHARE));
    if (workers != null) yield* putWorkers(put, source, workers);
    putStore(put, source, components[STORE_COMPONENT]);
    putHistory(put, source, histories.get(source));
    yield;
  }
  putFindings(put, evaluation);
  return [...values].map(([name, samples]) => ({ name, samples }));
}

function* putQueues(
  put: Put,
  source: string,
  queues: readonly Waiting[],
  now: number,
  most: number,
): Steps<void> {
  let [length, oldest]: (number | null)[] = [null, null];
  for (const [index, { queue, count, since }] of queues.entries()) {
    if (index % STEP === STEP - 1) yield;
    const age = count === 0 ? 0 : since === null ? null : Math.max(0, now - since) / 1_000;
    if (index < most) {
      put(FAMILIES.queueLength, { source, queue }, count);
      put(FAMILIES.oldestDue, { source, queue }, age);
    } else {
      if (count !== null) length = (length ?? 0) + count;
      if (age !== null) oldest = Math.max(oldest ?? 0, age);
    }
  }
  put(FAMILIES.queueLength, { source, queue: OTHER }, length);
  put(FAMILIES.oldestDue, { source, queue: OTHER }, oldest);
}

/** One of this many queues with a length may have a forecast, which has more series. */
const DRAIN_SHARE = 10;

/** Of the queues in which most tasks wait. An empty queue needs nothing; a forecast that is not possible is left out. */
function* putDrains(
  put: Put,
  source: string,
  answers: ReadonlyMap<string, QueueAnswer>,
  most: number,
): Steps<void> {
  const busiest = [...answers].sort(([, one], [, other]) => (other.waiting ?? 0) - (one.waiting ?? 0));
  yield;
  for (const [queue, { waiting, drain, slots }] of busiest.slice(0, most)) {
    const labels = { source, queue };
    put(FAMILIES.drain, labels, waiting === 0 ? 0 : drain?.seconds);
    put(FAMILIES.drainMost, labels, waiting === 0 ? 0 : drain?.high);
    put(FAMILIES.slots, labels, slots);
    put(FAMILIES.slotsNeeded, labels, waiting === 0 ? 0 : drain?.slots_needed);
  }
}

function* putWorkers(
  put: Put,
  source: string,
  workers: NonNullable<SourceSituation['workers']>,
): Steps<void> {
  const counts = { online: 0, stale: 0, offline: 0 };
  for (const [index, { status }] of workers.entries()) {
    if (index % STEP === STEP - 1) yield;
    counts[status] += 1;
  }
  for (const [status, count] of Object.entries(counts)) put(FAMILIES.workers, { source, status }, count);
}

function putStore(put: Put, source: string, store: SourceSituation['components'][string] | undefined): void {
  if (store === undefined) return;
  const { delay_seconds, waiting, lost } = store.config ?? {};
  if (store.status !== 'unknown') put(FAMILIES.storeUp, { source }, store.status === 'up' ? 1 : 0);
  put(FAMILIES.storeDelay, { source }, delay_seconds);
  put(FAMILIES.storeWaiting, { source }, waiting);
  put(FAMILIES.storeLost, { source }, lost);
}

function putHistory(put: Put, source: string, stats: HistoryStats | undefined): void {
  put(FAMILIES.received, { source }, stats?.eventsReceived);
  put(FAMILIES.dropped, { source }, stats?.dropped);
  put(FAMILIES.lag, { source }, stats?.lagSeconds);
}

/** Rules that lack data and have found nothing are left out. */
function putFindings(put: Put, { rules }: Evaluation): void {
  for (const { code, source, status, found, critical } of rules) {
    if (status === 'unknown') continue;
    const labels = { ...(source !== null && { source }), code };
    put(FAMILIES.findings, { ...labels, severity: 'critical' }, critical);
    put(FAMILIES.findings, { ...labels, severity: 'warning' }, found - critical);
    if (code === 'schedule_missed' && source !== null) put(FAMILIES.missed, { source }, found);
  }
}

const gauge = (name: string, help: string): MetricFamily => ({
  name: `task_monitor_${name}`,
  help,
  type: 'gauge',
});
const counter = (name: string, help: string): MetricFamily => ({
  name: `task_monitor_${name}_total`,
  help,
  type: 'counter',
});

/** By what they show. */
const FAMILIES = {
  version: gauge('build_info', 'The version of the monitor, as a label'),
  up: gauge('source_up', 'Whether the data of the source is up to date: 1 or 0'),
  queueLength: gauge('queue_length', 'Messages or jobs that no worker has taken'),
  oldestDue: gauge('queue_oldest_due_seconds', 'How long the oldest due message or job has waited'),
  drain: gauge('queue_drain_seconds', 'Expected time until the queue is empty'),
  drainMost: gauge('queue_drain_high_seconds', 'Time within which the queue is empty in most cases'),
  slots: gauge('queue_slots', 'How many tasks of the queue its workers can run at a time'),
  slotsNeeded: gauge('queue_slots_needed', 'How many more slots would empty the queue in ten minutes'),
  workers: gauge('workers', 'Workers by status'),
  missed: gauge('schedules_missed', 'Schedules that did not run when they were due'),
  findings: gauge('findings', 'Problems that rules have found'),
  received: counter('events_received', 'Received events'),
  dropped: counter('events_dropped', 'Messages that could not be read'),
  lag: gauge('event_lag_seconds', 'How long the newest change took from its sender to the monitor'),
  storeUp: gauge('store_up', 'Whether the last read or write of the store succeeded: 1 or 0'),
  storeDelay: gauge('store_delay_seconds', 'How long the oldest unwritten change has waited'),
  storeWaiting: gauge('store_waiting_tasks', 'Changed tasks that wait to be written'),
  storeLost: counter('store_lost', 'Tasks, relations and events dropped before they could be written'),
  requests: counter('http_requests', 'Answers by route and status'),
  problems: counter('http_errors', 'Error answers by route and error code; overloaded: refused'),
  reads: counter('source_reads', 'Calls of sources by method'),
  errors: counter(
    'errors',
    'Errors for onError, including those that are not passed to it because it was just called',
  ),
  streams: gauge('streams', 'Open streams'),
  delay: {
    name: 'task_monitor_event_loop_delay_seconds',
    help: 'How late timers of the process fire',
    type: 'histogram',
    bounds: DELAY_BOUNDS,
  },
} as const satisfies Readonly<Record<string, MetricFamily>>;
