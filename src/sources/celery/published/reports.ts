/**
 * The reports about a deployment from the instance that collects to those that only answer: JSON, one text for each
 * kind. The texts are redacted. Readers check everything: another version of this library may have written a text.
 */
import type {
  Component,
  HealthCheck,
  Queue,
  Schedule,
  ScheduleRun,
  WorkerHealthCheck,
} from '../../../model.ts';
import { isRecord } from '../../../values.ts';
import type { WaitingMessage } from '../broker.ts';
import type { DeploymentStatus, Sight } from '../deployment.ts';

/** Kinds of texts. */
export const KINDS = {
  status: 'celery-status',
  queues: 'celery-queues',
  waiting: 'celery-waiting',
  schedules: 'celery-schedules',
  components: 'celery-components',
  health: 'celery-health',
} as const;

/** The version of the format of all reports. Other versions are not read. */
const VERSION = 1;

/** Written about once a second, so that readers see whether an instance collects. */
export interface StatusReport {
  /** When it was written, milliseconds since 1970, by the clock of its writer. */
  readonly at: number;
  /** The instance that wrote it. */
  readonly leader: string;
  /** Since when it collects, milliseconds since 1970. */
  readonly since: number;
  readonly tasks: DeploymentStatus;
  readonly workers: DeploymentStatus;
  readonly queues: DeploymentStatus;
  readonly schedules: DeploymentStatus;
  readonly sight: Sight;
  /** When the last health checks ended, by the same clock; `null`: none has. */
  readonly checkedAt: number | null;
}

/** Tasks that wait, next to run first. */
export interface WaitingReport {
  readonly messages: readonly WaitingMessage[];
  /** Whether those are all that wait. */
  readonly isComplete: boolean;
  /** Whether their texts are redacted. */
  readonly isRedacted: boolean;
}

/** `list` is `null` where there is no beat, `error` where schedules could not be read. */
export interface SchedulesReport {
  readonly list: readonly Schedule[] | null;
  readonly error: string | null;
}

/** `ok` is `null` where there is nothing to check. */
export interface HealthReport {
  readonly broker: HealthCheck;
  readonly backend: HealthCheck;
  readonly workers: WorkerHealthCheck;
}

/** A report as text. */
export function writeReport(value: unknown): string {
  return JSON.stringify({ version: VERSION, value });
}

type Fields = Readonly<Record<string, unknown>>;

const STATUSES = ['up', 'down', 'disabled', 'unknown'] as const;

/** @returns `null` for a text that this version cannot read */
function reader<Report>(read: (value: unknown) => Report): (text: string) => Report | null {
  return (text) => {
    try {
      const { version, value } = fields(JSON.parse(text));
      return version === VERSION ? read(value) : null;
    } catch {
      return null;
    }
  };
}

export const readStatusReport = reader((value): StatusReport => {
  const { at, leader, since, tasks, workers, queues, schedules, sight, checkedAt } = fields(value);
  const { blind, waiting } = fields(sight);
  return {
    at: number(at),
    leader: text(leader),
    since: number(since),
    tasks: status(tasks),
    workers: status(workers),
    queues: status(queues),
    schedules: status(schedules),
    sight: { blind: orNull(text)(blind), waiting: orNull(listOf(waitingGroup))(waiting) },
    checkedAt: orNull(number)(checkedAt),
  };
});

export const readQueuesReport = reader(
  listOf((value): Omit<Queue, 'asOf'> => {
    const { name, waiting, reserved, consumers } = fields(value);
    const count = orNull(number);
    return {
      name: text(name),
      waiting: count(waiting),
      reserved: count(reserved),
      consumers: count(consumers),
      oldestDueAt: null,
    };
  }),
);

export const readWaitingReport = reader((value): WaitingReport => {
  const { messages, isComplete, isRedacted } = fields(value);
  return {
    messages: listOf(waitingMessage)(messages),
    isComplete: isComplete === true,
    isRedacted: isRedacted === true,
  };
});

export const readSchedulesReport = reader((value): SchedulesReport => {
  const { list, error } = fields(value);
  if (list === undefined) throw new TypeError('Not a list.');
  return { list: orNull(listOf(schedule))(list), error: orNull(text)(error) };
});

export const readComponentsReport = reader(
  listOf((value): Component => {
    const component = fields(value);
    const { key, name, enabled, status: state, url, config, redacted } = component;
    return {
      key: text(key),
      name: text(name),
      enabled: enabled === true,
      status: STATUSES.find((known) => known === state) ?? 'unknown',
      ...(url !== undefined && { url: orNull(text)(url) }),
      ...(config !== undefined && { config: orNull(fields)(config) }),
      ...(redacted === true && { redacted: true }),
    };
  }),
);

export const readHealthReport = reader((value): HealthReport => {
  const { broker, backend, workers } = fields(value);
  const { responding, missing } = fields(workers);
  return {
    broker: check(broker),
    backend: check(backend),
    workers: { ...check(workers), responding: listOf(text)(responding), missing: listOf(text)(missing) },
  };
});

function fields(value: unknown): Fields {
  if (!isRecord(value)) throw new TypeError('Not an object.');
  return value;
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('Not a text.');
  return value;
}

function number(value: unknown): number {
  if (typeof value !== 'number') throw new TypeError('Not a number.');
  return value;
}

function date(value: unknown): Date {
  const time = Date.parse(text(value));
  if (Number.isNaN(time)) throw new TypeError('Not a time.');
  return new Date(time);
}

function orNull<Value>(read: (value: unknown) => Value): (value: unknown) => Value | null {
  return (value) => (value === null || value === undefined ? null : read(value));
}

function listOf<Value>(read: (value: unknown) => Value): (value: unknown) => Value[] {
  return (value) => {
    if (!Array.isArray(value)) throw new TypeError('Not a list.');
    return value.map(read);
  };
}

function status(value: unknown): DeploymentStatus {
  const { ok, asOf, reason } = fields(value);
  return {
    ok: ok === true,
    asOf: orNull(date)(asOf),
    error: ok === true ? null : 'source_unavailable',
    reason: orNull(text)(reason),
  };
}

function check(value: unknown): HealthCheck {
  const { ok, error } = fields(value);
  return { ok: typeof ok === 'boolean' ? ok : null, error: orNull(text)(error) };
}

function waitingGroup(value: unknown): NonNullable<Sight['waiting']>[number] {
  const { queue, count, since, states, examples } = fields(value);
  return {
    queue: text(queue),
    count: number(count),
    since: orNull(number)(since),
    states: listOf(text)(states),
    examples: listOf(text)(examples),
  };
}

function schedule(value: unknown): Schedule {
  const row = fields(value) as unknown as Schedule;
  return {
    ...row,
    id: text(row.id),
    name: text(row.name),
    lastRunAt: orNull(date)(row.lastRunAt),
    nextRunAt: orNull(date)(row.nextRunAt),
    ...(row.lastRuns !== undefined && { lastRuns: orNull(listOf(scheduleRun))(row.lastRuns) }),
  };
}

function scheduleRun(value: unknown): ScheduleRun {
  const { taskId, state, at, runtime } = fields(value);
  return {
    taskId: text(taskId),
    state: orNull(text)(state),
    at: date(at),
    runtime: orNull(number)(runtime),
  };
}

function waitingMessage(value: unknown): WaitingMessage {
  const message = fields(value) as unknown as WaitingMessage;
  const facts = fields(message.facts);
  text(facts.id);
  listOf(fields)(message.relations);
  return { ...message, tag: text(message.tag), part: text(message.part), seenAt: number(message.seenAt) };
}
