/** Figures that statistics have in addition to their counts. */

/** Percentiles of run time and wait by nearest rank, in seconds; `null`: no duration is known. */
export interface DurationFigures {
  readonly runtimeP50: number | null;
  readonly runtimeP95: number | null;
  readonly runtimeP99: number | null;
  readonly waitP50: number | null;
  readonly waitP95: number | null;
  readonly waitP99: number | null;
}

/** Totals of the window. */
export interface StatsTotals extends DurationFigures {
  /**
   * When the first counted step begins: later ones are all known, an earlier one is not. `null`: nothing is counted.
   * Default: as `series` shows.
   */
  readonly since?: Date | null;
  /** Like the next three, the sum over the steps of `series` since then; `null`: it is unknown in one of them. */
  readonly received: number | null;
  readonly succeeded: number | null;
  readonly failed: number | null;
  readonly retried: number | null;
}

/** A task name, and how many tasks of this name were senders, or were sent. */
export interface TaskCaller {
  readonly name: string;
  readonly count: number;
}

/** One bucket of a histogram. */
export interface HistogramBucket {
  /**
   * Durations in it are shorter than this, in seconds; `null`: all durations that are longer than the previous
   * bucket.
   */
  readonly le: number | null;
  readonly count: number;
}
