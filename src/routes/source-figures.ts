/** Figures of all sources for own metrics, from the data that the rules judge, so that nothing is read twice. */
import type { Evaluation } from '../findings/evaluate.ts';
import type { SourceSituation } from '../findings/finding.ts';
import { type Waiting, waitingByQueue } from '../findings/rules/queue-waiting.ts';
import { STORE_COMPONENT } from '../history/store-parts.ts';
import type { Steps } from '../scheduler.ts';
import type { HistoryStats, MetricFamily, MetricLabels, MetricSeries, MetricValue } from '../source.ts';
import { FAMILIES } from './monitor-families.ts';

/** Maximum number of queues, of all sources together, with series of their own; the others are added up. */
const MOST_QUEUES = 400;
const OTHER = 'other';
/** Items that are processed in one step. */
const STEP = 100;

/** Takes a value of a series; `null`: it is unknown, and the series is left out. */
type Put = (family: MetricFamily, labels: MetricLabels, value: number | null | undefined) => void;

/** The data of the figures. */
export interface SourceFigures {
  readonly situations: readonly SourceSituation[];
  readonly evaluation: Evaluation;
  /** By source; sources without a history, or whose history could not be read, are missing. */
  readonly histories: ReadonlyMap<string, HistoryStats>;
}

export function* seriesOf({
  situations,
  evaluation,
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
  put(FAMILIES.storeDelay, { source }, numberOf(delay_seconds));
  put(FAMILIES.storeWaiting, { source }, numberOf(waiting));
  put(FAMILIES.storeLost, { source }, numberOf(lost));
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
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
