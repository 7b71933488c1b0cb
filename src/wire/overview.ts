/** What the parameter `stats` of the components adds: the figures of an overview, in columns. */
import type { Integer, Timestamp } from './common.ts';
import type { MarkerBody, StatsTotalsBody } from './tasks.ts';

/** Number of workers of one source, and what the online ones report. */
export interface WorkerCountsBody {
  source: string;
  total: Integer;
  online: Integer;
  /** The sum over the online workers that report it; `null`: none does. */
  concurrency: Integer | null;
  /** Number of tasks that are running on the online workers; `null` if one of them does not report it. */
  active: Integer | null;
}

/** Counts of a window. */
export type StatsCountsBody = Pick<
  StatsTotalsBody,
  'since' | 'received' | 'succeeded' | 'failed' | 'retried'
>;

/**
 * Statistics in columns, each with one value for each step, name, cause or queue. Values are those of the same name in
 * `stats` of `GET /api/tasks/`.
 */
export interface StatsColumnsBody {
  step_seconds: number;
  /** When the first step begins; `null` if there is none. */
  start: Timestamp | null;
  series: {
    /** When each step begins, in seconds after `start`. */
    offset: number[];
    received: (Integer | null)[];
    succeeded: (Integer | null)[];
    failed: (Integer | null)[];
    retried: (Integer | null)[];
  };
  totals: StatsCountsBody;
  markers: MarkerBody[];
  states: { [state: string]: number };
  /** The 50 most frequent names. */
  names: {
    name: string[];
    count: (Integer | null)[];
    failed: Integer[];
    runtime_p50: (number | null)[];
    runtime_p95: (number | null)[];
    wait_p50: (number | null)[];
    wait_p95: (number | null)[];
  };
  /** The five most frequent causes of failures. Absent if the source does not know them. */
  causes?: {
    cause: string[];
    exception: (string | null)[];
    message: (string | null)[];
    frame: (string | null)[];
    count: Integer[];
    is_new: (boolean | null)[];
    /** For each cause: the failures in each step. */
    activity: Integer[][];
  };
  computed_from?: 'tasks' | 'rollups';
  /** The queues with the most waiting messages. Absent if a source does not know queues over time. */
  queue_depths?: {
    queue: string[];
    /** The last known number of waiting messages. */
    waiting: (Integer | null)[];
    oldest_seconds: (number | null)[];
    oldest_at_least: boolean[];
  };
  /** The window of the same length before this one; `null` if less than half of it is known. */
  before: StatsBeforeBody | null;
}

/** What the previous window had of the same names, causes and queues, in the same order; `null`: unknown. */
export interface StatsBeforeBody {
  totals: StatsCountsBody;
  states: { [state: string]: number };
  names: {
    count: (Integer | null)[];
    failed: (Integer | null)[];
    runtime_p95: (number | null)[];
    wait_p95: (number | null)[];
  };
  causes?: { count: (Integer | null)[] };
  queue_depths?: { waiting: (Integer | null)[] };
}
