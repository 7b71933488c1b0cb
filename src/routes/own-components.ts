/** Components of the monitor itself, with the findings in all sources. */
import { type AnswerQueues, createQueueAnswers, type QueueAnswer } from '../answers/queue-answers.ts';
import { isMonitorError } from '../errors.ts';
import { type Evaluation, evaluate } from '../findings/evaluate.ts';
import type { SourceSituation } from '../findings/finding.ts';
import { type MonitorRequest, mountPathOf } from '../http/exchange.ts';
import { type Monitor, oncePerMonitor } from '../http/monitor.ts';
import { errorOf, freshnessOf } from '../read.ts';
import { type Steps, scheduler } from '../scheduler.ts';
import { figure, isoTime } from '../serialize/shown-values.ts';
import { shareCalls } from '../single-flight.ts';
import type { HistoryStats } from '../source.ts';
import type { ComponentBody } from '../wire.ts';
import { partsByName, readSituation } from './situation.ts';
import { VERSION } from './version.ts';

/** A component of the monitor, with what is known of it. */
export function ownComponent(
  name: string,
  status: ComponentBody['status'],
  known: Partial<ComponentBody> = {},
): ComponentBody {
  return { name, enabled: status !== 'disabled', status, pid: null, url: null, config: null, ...known };
}

export function describeWeb({ options }: Monitor, request: MonitorRequest): ComponentBody {
  return ownComponent('web', 'up', {
    pid: process.pid,
    url: options.publicUrl ?? (mountPathOf(request) || '/'),
    config: { version: VERSION, node: process.versions.node },
  });
}

/** The exporter, and whether it answers. */
export async function describeMetrics({ options, metrics }: Monitor): Promise<ComponentBody> {
  const reachable = (await metrics?.check()) ?? null;
  const status = reachable === null ? 'unknown' : reachable ? 'up' : 'down';
  return ownComponent('metrics', metrics === null ? 'disabled' : status, {
    url: options.exporter?.displayUrl ?? null,
  });
}

/** The status is unknown: readable schedules do not prove that a beat process is running. */
export function describeBeat(situations: readonly SourceSituation[]): ComponentBody {
  const isUsed = situations.some(({ schedules }) => schedules !== undefined);
  return ownComponent('beat', isUsed ? 'unknown' : 'disabled');
}

export async function describeHistory(monitor: Monitor): Promise<ComponentBody> {
  const part = monitor.sources.history;
  const unreadable = monitor.unreadable();
  if (part === undefined) return ownComponent('history', 'disabled', { config: { unreadable } });
  try {
    const { stats, failures } = await monitor.reader.read({
      part,
      call: 'getHistoryStats',
      key: '',
      read: (context) => part.getHistoryStats(context),
      map: (raw, result) => ({ stats: readHistory(raw), failures: result.failures }),
    });
    const isUp = errorOf(freshnessOf(part, Date.now(), monitor.report)) === null;
    // Some sources have answered and others have failed.
    const [failure] = failures.values();
    const status = failure === undefined ? (isUp ? 'up' : 'down') : 'unknown';
    const error = failure === undefined ? {} : { error: failure.code };
    return ownComponent('history', status, { config: { ...stats, ...error, unreadable } });
  } catch (error) {
    if (!isMonitorError(error)) throw error;
    return ownComponent('history', 'unknown', { config: { error: error.code, unreadable } });
  }
}

function readHistory(stats: HistoryStats): Readonly<Record<string, string | number | null>> {
  if (typeof stats.tasks !== 'number')
    throw new TypeError('getHistoryStats() must return { tasks: number, … }.');
  return {
    tasks: figure(stats.tasks),
    workers: figure(stats.workers),
    events: figure(stats.events),
    since: isoTime(stats.since),
    evicted: figure(stats.evicted),
    bytes: figure(stats.bytes),
    events_received: figure(stats.eventsReceived),
    dropped: figure(stats.dropped),
    lag_seconds: figure(stats.lagSeconds),
  };
}

/** How long an evaluation is reused, in milliseconds. */
const FRESH_MS = 5_000;

/** The findings, for requests and for the host. */
export interface Findings {
  readonly evaluation: Evaluation;
  readonly component: ComponentBody;
  /** The data that the rules have judged. */
  readonly situations: readonly SourceSituation[];
  /** By source and queue. */
  readonly queues: ReadonlyMap<string, ReadonlyMap<string, QueueAnswer>>;
  /** Answers for the queues of a source that were read later. */
  readonly answerQueues: AnswerQueues;
}

/**
 * The reader of a monitor's findings. The rules run in the scheduler, once in several seconds however many requests
 * there are.
 */
export const findingsOf = oncePerMonitor((monitor): (() => Promise<Findings>) => {
  const sources = [...partsByName(monitor.sources)];
  const firstFound = new Map<string, number>();
  const reportActivity = (error: unknown, source: string): void =>
    monitor.report(error, { code: 'source_invalid', source, call: 'getActivity' });
  const answerQueues = createQueueAnswers(reportActivity);

  async function look(): Promise<Findings> {
    const [metrics, ...situations] = await Promise.all([
      describeMetrics(monitor),
      ...sources.map(([name, parts]) => readSituation(monitor, name, parts)),
    ]);
    const evaluation = await scheduler.run(
      'findings',
      evaluate(
        {
          now: Date.now(),
          sources: situations,
          own: { metrics },
          onError: (error, { name }) => reportActivity(error, name),
        },
        firstFound,
      ),
    );
    const queues = await scheduler.run('findings', answerAll(answerQueues, situations, evaluation.at));
    return { evaluation, component: bodyOf(monitor, evaluation), situations, queues, answerQueues };
  }

  return shareCalls(look, FRESH_MS);
});

function* answerAll(
  answerQueues: AnswerQueues,
  situations: readonly SourceSituation[],
  now: number,
): Steps<Findings['queues']> {
  const all = new Map<string, ReadonlyMap<string, QueueAnswer>>();
  for (const situation of situations) {
    all.set(situation.name, yield* answerQueues(situation.name, situation, now));
    yield;
  }
  return all;
}

function bodyOf({ serializer }: Monitor, { findings, rules, at }: Evaluation): ComponentBody {
  return ownComponent('findings', 'up', {
    findings: findings.map(serializer.finding),
    rules: rules.map(serializer.rule),
    checked_at: new Date(at).toISOString(),
  });
}
