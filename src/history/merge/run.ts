/** The runs of a task. */
import type { TaskEntry } from './record.ts';

/** One run of an attempt, from the moment a worker received it. */
export interface Run {
  /** The message that opened it; `null` where that was missed, or where no worker sends events. */
  readonly received: TaskEntry | null;
  /** The number of its attempt, 0 for the first. */
  readonly attempt: number;
  /** All messages about it, except `sent` messages, which cause it. */
  readonly entries: readonly TaskEntry[];
}

/** A run whose entries are being attributed. */
export interface OpenRun extends Run {
  readonly entries: TaskEntry[];
}

/** All runs of a task. */
export interface TaskRuns {
  /** By attempt, then by time. */
  readonly runs: readonly Run[];
  /** The highest number of an attempt that is known, whether it has run or not. */
  readonly attempt: number;
}
