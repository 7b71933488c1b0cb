import type { TaskState } from './task-state.ts';

/** One state change of a task. */
export interface TaskChangeEntry {
  readonly state: TaskState;
  readonly timestamp: Date | null;
  readonly worker: string | null;
  /** Further information about the change, such as the exception of a retry. */
  readonly detail: string | null;
  /** Number of the attempt to which it belongs, 0 for the first. */
  readonly retries?: number | null;
}

/** One attempt of a task. */
export interface TaskAttempt {
  /** 1 for the first. */
  readonly number: number;
  readonly started: Date | null;
  /** `null` also while it runs. */
  readonly finished: Date | null;
  /** Why it failed. */
  readonly error: string | null;
}

/** The end of what a task has logged. */
export interface TaskLog {
  /** The last lines, oldest first. At most 100 are shown, each with at most 2,000 characters. */
  readonly lines: readonly string[];
  /** How many lines there are in all. */
  readonly total: number;
}
