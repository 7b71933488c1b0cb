/** Serializes workers, feed events and schedules. */

import type { Wait } from '../answers/queue-causes.ts';
import type { FoundProblem, RuleOutcome } from '../findings/evaluate.ts';
import type { JudgedTask } from '../findings/judge-running.ts';
import type { Component, Queue, Schedule, ScheduleRun, TaskEvent, Worker } from '../model.ts';
import { credentialsLength, plainRecord, type Redactor } from '../redact.ts';
import type {
  ComponentBody,
  EventBody,
  FindingBody,
  QueueBody,
  RuleBody,
  RunningTaskBody,
  ScheduleBody,
  ScheduleRunBody,
  TaskBody,
  WaitBody,
  WorkerBody,
} from '../wire.ts';
import {
  countsOf,
  figure,
  isoTime,
  label,
  labels,
  MOST_ITEMS,
  rulesFor,
  type ShowText,
  wellFormed,
  whole,
} from './shown-values.ts';

/** Maximum number of listed runs of a schedule. */
const MOST_RUNS = 20;

const STATUSES: readonly WorkerBody['status'][] = ['online', 'stale', 'offline'];

/** `null` if the worker has no hostname or no status. */
export function workerBody(worker: Worker, source: string, now: Date): WorkerBody | null {
  const hostname = label(worker.hostname);
  const given: unknown = worker.status;
  const status = STATUSES.find((known) => known === given);
  if (hostname === null || status === undefined) return null;
  const heartbeat = isoTime(worker.lastHeartbeat);
  const registered = labels(worker.registeredTasks);
  const load: unknown = worker.loadAverage;
  return {
    hostname,
    status,
    last_heartbeat: heartbeat,
    last_seen_seconds: secondsBetween(heartbeat, now),
    pid: whole(worker.pid),
    pool: label(worker.pool),
    pool_size: whole(worker.poolSize),
    concurrency: whole(worker.concurrency),
    active: whole(worker.active),
    processed: whole(worker.processed),
    registered: registered?.length ?? null,
    registered_tasks: registered,
    queues: labels(worker.queues),
    software: label(worker.software),
    load_average: Array.isArray(load)
      ? load
          .slice(0, MOST_ITEMS)
          .map(figure)
          .filter((value) => value !== null)
      : null,
    uptime_seconds: figure(worker.uptimeSeconds),
    source,
  };
}

/** `null` when the task has no id or no start. @param row the task as lists show it; `null`: not found */
export function runningTaskBody(
  { task, p95, isStuck }: JudgedTask,
  row: TaskBody | null,
): RunningTaskBody | null {
  const id = label(task.id);
  const started = isoTime(new Date(task.startedAt));
  if (id === null || started === null) return null;
  return {
    task_id: id,
    name: label(task.name),
    queue: label(task.queue) ?? row?.queue ?? null,
    args: row?.args ?? null,
    kwargs: row?.kwargs ?? null,
    started,
    runtime_p95: p95 === null ? null : figure(Math.round(p95) / 1_000),
    stuck: isStuck,
  };
}

/** Clocks of two machines differ, so a time may seem to be in the future. Its age is never negative. */
function secondsBetween(time: string | null, now: Date): number | null {
  return time === null ? null : whole(Math.max(0, Math.floor((now.getTime() - Date.parse(time)) / 1_000)));
}

/** `null` when the event has no id or no type. */
export function eventBody(event: TaskEvent, show: ShowText): EventBody | null {
  const id = label(event.id);
  const type = label(event.type);
  if (id === null || type === null) return null;
  return {
    id,
    type,
    task: label(event.task),
    task_id: label(event.taskId),
    state: label(event.state),
    worker: label(event.worker),
    timestamp: isoTime(event.timestamp),
    detail: show(event.detail, 'detail', false, event.redacted === true).text,
  };
}

/** `null` when the schedule has no id or no name. */
export function scheduleBody(schedule: Schedule, source: string, show: ShowText): ScheduleBody | null {
  const id = label(schedule.id);
  const name = label(schedule.name);
  if (id === null || name === null) return null;
  const enabled: unknown = schedule.enabled;
  const isRedacted = schedule.redacted === true;
  const text = (value: unknown, field: string) => show(value, field, false, isRedacted).text;
  return {
    id,
    app: label(schedule.app),
    name,
    task: label(schedule.task),
    schedule: text(schedule.schedule, 'schedule'),
    enabled: typeof enabled === 'boolean' ? enabled : null,
    args: text(schedule.args, 'args'),
    kwargs: text(schedule.kwargs, 'kwargs'),
    queue: label(schedule.queue),
    timezone: label(schedule.timezone),
    last_run_at: isoTime(schedule.lastRunAt),
    next_run_at: isoTime(schedule.nextRunAt),
    total_run_count: whole(schedule.totalRunCount),
    last_runs: runBodies(schedule.lastRuns),
    source,
  };
}

/** Runs without a task or a time are left out. */
function runBodies(runs: unknown): ScheduleRunBody[] | null {
  if (!Array.isArray(runs)) return null;
  return runs.slice(0, MOST_RUNS).flatMap((run: Partial<ScheduleRun> | null) => {
    const id = label(run?.taskId);
    const at = isoTime(run?.at);
    return id === null || at === null
      ? []
      : { task_id: id, state: label(run?.state), at, runtime: figure(run?.runtime) };
  });
}

const COMPONENT_STATUSES: readonly ComponentBody['status'][] = ['up', 'down', 'disabled', 'unknown'];

/** Serializes a component; `null` when it has no key, name or status. */
export function componentBody(component: Component, redactor: Redactor): ComponentBody | null {
  const name = label(component.name);
  const given: unknown = component.status;
  const status = COMPONENT_STATUSES.find((known) => known === given);
  if (label(component.key) === null || name === null || status === undefined) return null;
  const url: unknown = component.url;
  const { text, isSecretKey } = rulesFor(redactor, component.redacted === true);
  const show = (value: string): string => wellFormed(text(value, 'config'));
  return {
    name,
    enabled: component.enabled === true,
    status,
    pid: whole(component.pid),
    url: typeof url === 'string' && url !== '' ? text(displayUrl(url), 'config') : null,
    config: plainRecord(component.config, show, isSecretKey),
  };
}

/** Serializes a queue, without the answers about it; `null` when it has no name. */
export function queueBody(
  queue: Queue,
  source: string,
  now: Date,
): Omit<QueueBody, 'blocked_by' | 'drain'> | null {
  const name = label(queue.name);
  if (name === null) return null;
  return {
    name,
    waiting: whole(queue.waiting),
    reserved: whole(queue.reserved),
    consumers: whole(queue.consumers),
    oldest_due_seconds: secondsBetween(isoTime(queue.oldestDueAt), now),
    engine_states: countsOf(queue.engineStates),
    paused: typeof queue.isPaused === 'boolean' ? queue.isPaused : null,
    as_of: isoTime(queue.asOf),
    source,
  };
}

// Longer than the URL of any real component.
const LONGEST_URL = 2_048;

/** Separator between the URLs of a list, which Celery accepts as a broker URL. */
const NEXT_URL = /;(?=\s*[a-z][a-z0-9+.-]*:\/\/)/i;

/**
 * A URL without user, password, query and fragment. Does not use the `URL` class, because that rejects lists
 * of URLs (`redis://a;redis://b`), paths and some hosts that brokers accept.
 */
function displayUrl(url: string): string {
  return wellFormed(url.slice(0, LONGEST_URL).split(NEXT_URL).map(withoutSecrets).join(';'));
}

function withoutSecrets(url: string): string {
  const scheme = /^\s*[a-z][a-z0-9+.-]*:\/\//i.exec(url)?.[0] ?? '';
  const address = url.slice(scheme.length);
  const shown = address.slice(credentialsLength(address)).replace(/^@/, '');
  return scheme + shown.replace(/[?#].*$/s, '');
}

/** @param sentence redacts and truncates */
export function findingBody(
  finding: FoundProblem,
  redactor: Redactor,
  sentence: (text: string) => string,
): FindingBody {
  const { text, isSecretKey } = rulesFor(redactor, false);
  const show = (value: string): string => wellFormed(text(value, 'config'));
  const { code, severity, since, source, subject, summary, evidence, look } = finding;
  return {
    code,
    severity,
    since: new Date(since).toISOString(),
    source,
    subject: subject === null ? null : sentence(subject),
    summary: sentence(summary),
    evidence: plainRecord(evidence, show, isSecretKey) ?? {},
    look: wellFormed(look),
  };
}

/** @param sentence redacts and truncates */
export function waitBody(wait: Wait, redactor: Redactor, sentence: (text: string) => string): WaitBody {
  const { code, summary, until, since, evidence } = wait;
  const shown = Object.entries(evidence).map(([name, value]) => [
    name,
    typeof value === 'string' ? wellFormed(redactor.text(value, 'config')) : value,
  ]);
  const time = (at: number | null) => (at === null ? null : isoTime(new Date(Math.round(at))));
  return {
    code,
    summary: sentence(summary),
    until: time(until),
    since: time(since),
    evidence: Object.fromEntries(shown),
  };
}

/** @param sentence redacts and truncates */
export function ruleBody(outcome: RuleOutcome, sentence: (text: string) => string): RuleBody {
  const { code, source, status, reason, found } = outcome;
  return { code, source, status, reason: reason === null ? null : sentence(reason), found };
}
