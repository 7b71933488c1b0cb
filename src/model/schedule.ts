/** Periodic schedules and their runs. */
import type { TaskState } from './task-state.ts';

/** A task that an entry of a schedule caused. */
export interface ScheduleRun {
  readonly taskId: string;
  /** `null`: nothing is known of the task any more. */
  readonly state: TaskState | null;
  /** When the entry ran: when the task was sent, or was to start. */
  readonly at: Date;
  /** Run time of the task in seconds. */
  readonly runtime?: number | null;
}

/** One entry of a periodic schedule. */
export interface Schedule {
  readonly id: string;
  readonly app?: string | null;
  readonly name: string;
  readonly task?: string | null;
  /** The schedule as readable text: `every 30 s`, `0 7 * * 1 (m/h/dM/MY/d)`. */
  readonly schedule?: string | null;
  readonly enabled?: boolean | null;
  readonly args?: unknown;
  readonly kwargs?: unknown;
  readonly queue?: string | null;
  /** IANA name of the time zone in which the schedule is evaluated. */
  readonly timezone?: string | null;
  readonly lastRunAt?: Date | null;
  readonly nextRunAt?: Date | null;
  readonly totalRunCount?: number | null;
  /** What it ran lately, newest first: up to 20 are shown. Runs may be missing where nothing tells that it ran. */
  readonly lastRuns?: readonly ScheduleRun[] | null;
  /** Whether the source has removed the secrets from its texts, as `redacted` of a task. Default: false. */
  readonly redacted?: boolean;
}
