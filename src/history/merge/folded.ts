/** Entries kept of one task; of more, the oldest but the first are forgotten. */
export const MAX_ENTRIES = 64;

/** What is true of a task. Times in milliseconds, NaN where unknown; labels 0 where unknown. */
export interface Folded {
  kind: number;
  /** Label of the state, for custom ones. */
  state: number;
  timestamp: number;
  worker: number;
  sent: number;
  received: number;
  started: number;
  finished: number;
  /** Seconds; of a last run that succeeded. */
  runtime: number;
  /** −1 when not told. */
  retries: number;
  /** Number of entries, and per entry (in the order of arrival) its place among the task's runs. */
  count: number;
  readonly entries: Int32Array;
  readonly runs: Int32Array;
}
