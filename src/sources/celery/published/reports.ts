/**
 * The reports about a deployment from the instance that collects to those that only answer: its answers, one text for
 * each kind. The texts are redacted. A text of another version is not read.
 */

import type { SharedTexts } from '../../../history/stored-history.ts';
import type { HealthCheck, Schedule, WorkerHealthCheck } from '../../../model.ts';
import { isRecord } from '../../../values.ts';
import type { Sight } from '../answers.ts';
import type { WaitingMessage } from '../broker.ts';
import type { Freshness } from '../collector.ts';

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
  readonly tasks: Freshness;
  readonly workers: Freshness;
  readonly queues: Freshness;
  readonly schedules: Freshness;
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

const INTERVAL_MS = 1_000;
/** A report is written each second. An older one shows that no instance collects. */
const STALE_AFTER_MS = 5_000;

/** The last status, and how old it is. Clocks of other machines are not trusted. */
export type ReportClock = ReturnType<typeof createReportClock>;

interface State {
  readonly texts: SharedTexts;
  readonly onTakeover: () => void;
  text: string | null;
  status: StatusReport | null;
  /** When it was written, by the monotonic clock of this process; `-Infinity` without one. */
  writtenAt: number;
}

/**
 * Looks at once, and then once a second.
 *
 * @param onTakeover is called when another instance begins to report
 */
export function createReportClock(texts: SharedTexts, onTakeover: () => void) {
  const state: State = { texts, onTakeover, text: null, status: null, writtenAt: Number.NEGATIVE_INFINITY };
  const timer = setInterval(() => look(state), INTERVAL_MS).unref();
  return {
    /** `null`: there was no report, or this version cannot read it. */
    status() {
      look(state);
      return state.status;
    },
    /** A sentence if reports have stopped, or never began. `null`: reports arrive. */
    silence() {
      look(state);
      const old = performance.now() - state.writtenAt;
      if (state.status === null) return 'No instance that collects has reported anything yet.';
      if (old <= STALE_AFTER_MS) return null;
      const since = Number.isFinite(old) ? `for ${Math.round(old / 1000)} seconds` : 'lately';
      return `No instance that collects has reported anything ${since}.`;
    },
    close: () => clearInterval(timer),
  };
}

function look(state: State): void {
  const text = state.texts.read(KINDS.status);
  if (text === state.text) return;
  const isFirst = state.text === null;
  const before = state.status;
  state.text = text;
  state.status = text === null ? null : readReport<StatusReport>(text);
  const { status } = state;
  if (before !== null && status !== null && before.since !== status.since) state.onTakeover();
  // A change was written within the last two seconds. The first text may have been there for long.
  state.writtenAt = isFirst ? firstWrite(state.status) : performance.now();
}

function firstWrite(status: StatusReport | null): number {
  const age = status === null ? Number.POSITIVE_INFINITY : Math.abs(Date.now() - status.at);
  return age <= STALE_AFTER_MS ? performance.now() - age : Number.NEGATIVE_INFINITY;
}
