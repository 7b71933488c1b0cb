/** The query for statistics of tasks, and its result. */
import type { CauseGroup } from '../causes/cause-groups.ts';
import type { TaskQuery } from './task-query.ts';

/** Which tasks to sum up: the filters of a {@link TaskQuery}, over the last `minutes`. */
export interface TaskStatsQuery {
  /** 1 to 129,600: 90 days. */
  readonly minutes: number;
  /** End of the window: now, or an earlier time. */
  readonly now: Date;
  /**
   * Length of one step in seconds, a multiple of 60; `null` or absent: a suitable length. Windows that are known only
   * as counts may get a longer one.
   */
  readonly stepSeconds?: number | null;
  /** Whether to compute percentiles for each step of `series`. Default: only for the window. */
  readonly percentiles?: boolean;
  /**
   * Whether to list which tasks sent these, and which tasks these sent. Default: `callers` and `callees` are omitted.
   */
  readonly callers?: boolean;
  /** How many causes of failures to list, 1,000 at most. Default 0: `causes` is omitted. */
  readonly causes?: number;
  /** `limit`, `after`, `sort` and `order` are ignored. */
  readonly filter: TaskQuery;
}

/** Figures over the tasks whose last change lies in the window. */
export interface TaskStats {
  readonly stepSeconds: number;
  /** Percentiles of a step are those of the runs and waits that ended in it. Absent: not requested. */
  readonly series: readonly ({
    readonly t: Date;
    /** `null`, like the next three: unknown for this step. */
    readonly received: number | null;
    readonly succeeded: number | null;
    readonly failed: number | null;
    /** Attempts that ended with a retry in this step. */
    readonly retried: number | null;
  } & Partial<DurationFigures>)[];
  /** Absent: counts are added up from `series`, and percentiles are unknown. */
  readonly totals?: StatsTotals;
  /**
   * Run times, and waits, in buckets: two for each doubling, from the shortest to the longest bucket that is not
   * empty. Default: unknown.
   */
  readonly runtimeHistogram?: readonly HistogramBucket[];
  readonly waitHistogram?: readonly HistogramBucket[];
  readonly states: Readonly<Record<string, number>>;
  /** The 50 most frequent names. Run time and wait in seconds; `null` if none is known. */
  readonly names: readonly {
    readonly name: string;
    /** `null`: unknown, because the engine has removed tasks of the window. */
    readonly count: number | null;
    readonly failed: number;
    /** The last of these failures; `null` or absent: there is none, or it is unknown. */
    readonly lastFailedAt?: Date | null;
    readonly runtimeP50: number | null;
    readonly runtimeP95: number | null;
    readonly waitP50: number | null;
    readonly waitP95: number | null;
  }[];
  readonly workers: readonly string[];
  readonly queues: readonly string[];
  /** Failures by cause, the most frequent first, as many as the query requests. Absent: unknown, or not requested. */
  readonly causes?: readonly CauseGroup[];
  /** Whether there are more causes. */
  readonly causesTruncated?: boolean;
  /**
   * The names of the tasks that sent the counted tasks, and how many each sent: at most 50, the most frequent first.
   * Parents that are no longer known do not count. `null` or absent: unknown, or not requested.
   */
  readonly callers?: readonly TaskCaller[] | null;
  /** The names of the tasks that the counted tasks sent, in this window or not, in the same form. */
  readonly callees?: readonly TaskCaller[] | null;
  /**
   * What the figures were computed from: the tasks themselves, or the counts by minute, hour and day of a store.
   * Absent: there is no store.
   */
  readonly computedFrom?: 'tasks' | 'rollups';
  /** Since when there are counts; `null`: there are none yet, or it is unknown. Absent: there is no store. */
  readonly countedSince?: Date | null;
  /** Queues that had the most waiting messages, by step of `series`. Absent: the source does not know them over time. */
  readonly queueDepths?: readonly QueueDepths[];
}

/** The depth of a queue over time. */
export interface QueueDepths {
  readonly queue: string;
  /** For each step of `series`: the most waiting messages; `null`: unknown. */
  readonly waiting: readonly (number | null)[];
  /**
   * For each step of `series`: the greatest age of the oldest due message, in seconds; `null`: unknown, or none was
   * due.
   */
  readonly oldestSeconds: readonly (number | null)[];
  /** For each step: how many messages entered; `null`: unknown. Default: unknown. */
  readonly sent?: readonly (number | null)[];
  /** For each step: how many messages workers have taken out; `null`: unknown. Default: unknown. */
  readonly received?: readonly (number | null)[];
  /**
   * Since when it has been growing, at the end of the window; `null`: it is not growing. Default: not growing, or
   * unknown.
   */
  readonly growingSince?: Date | null;
  /** Whether messages may be older than `oldestSeconds`. Default: false. */
  readonly oldestAtLeast?: boolean;
}

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
