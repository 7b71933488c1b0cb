/**
 * The reports about a deployment from the instance that collects to those that only answer: its answers, one text for
 * each kind. The texts are redacted. A text of another version is not read.
 */
import type { HealthCheck, Schedule, WorkerHealthCheck } from '../../../model.ts';
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
const VERSION = 2;

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

/** Marks a date in a report. */
const DATE = '$date';

/** A report as text: JSON in which dates stay dates. */
export function writeReport(value: unknown): string {
  return JSON.stringify({ version: VERSION, value }, function replace(this: unknown, key, given) {
    const own: unknown = (this as Readonly<Record<string, unknown>>)[key];
    return own instanceof Date ? { [DATE]: own.getTime() } : given;
  });
}

/** @returns `null` for a text that this version cannot read */
export function readReport<Report>(text: string): Report | null {
  try {
    const read: unknown = JSON.parse(text, (_, value) =>
      isRecord(value) && typeof value[DATE] === 'number' ? new Date(value[DATE]) : value,
    );
    const isOurs = isRecord(read) && read.version === VERSION && typeof read.value === 'object';
    return isOurs ? (read.value as Report) : null;
  } catch {
    return null;
  }
}
