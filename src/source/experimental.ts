/**
 * What the part `experimental` of a source supplies. For the rules that find problems: what it has observed, minute by
 * minute, and the tasks that have not ended; times are milliseconds since 1970. For metrics: what it counts, in
 * Prometheus' data model; the router writes the text format.
 */
import type { TaskState } from '../model.ts';
import type { Awaitable, ReadContext } from '../source.ts';

/** Counts of the tasks of one name over some minutes. */
export interface TaskCounts {
  readonly sent: number;
  readonly received: number;
  readonly started: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Attempts that ended with a retry, counted at the time of the retry. */
  readonly retried: number;
  readonly revoked: number;
  readonly rejected: number;
}

/** Which durations: run times, or waits from when a task could start until it started. */
export type DurationKind = 'run' | 'wait';

/** Counts by name and minute. A minute belongs to a span if it begins in it. */
export interface MinuteCounts {
  /** Start of the counts: anything earlier was evicted, or is older than a day. */
  readonly since: number;
  /** Names with counts. Beyond a limit, further names are counted together as {@link MinuteCounts.others}. */
  names(): readonly string[];
  /** The name under which names beyond the limit are counted; never the name of a task. */
  readonly others: string;
  /** Counts of the tasks of this name from `from` (inclusive) to `to` (exclusive). */
  counts(name: string, from: number, to: number): TaskCounts;
  /**
   * The duration that a share of the tasks that ended (or started, for `wait`) did not exceed, in milliseconds;
   * `null` if none did. At most half above the true value, or a third below it.
   */
  quantile(kind: DurationKind, name: string, from: number, to: number, share: number): number | null;
  /** For how long the tasks of this name that ended have run in all, in milliseconds, about. Default: unknown. */
  ran?(name: string, from: number, to: number): number;
}

/** A task that a worker runs. */
export interface RunningTask {
  readonly id: string;
  readonly name: string | null;
  readonly worker: string | null;
  readonly startedAt: number;
  /** Default: `STARTED`. */
  readonly state?: TaskState;
  /** The queue that it was taken from. Needed only where {@link Activity.workersPull}. */
  readonly queue?: string | null;
}

/** A growing queue. */
export interface GrowingQueue {
  readonly queue: string;
  /** When it began to grow. */
  readonly since: number;
  /** Number of waiting messages then, and now. */
  readonly from: number;
  readonly waiting: number;
}

/** What happened to the messages of a queue in a minute. */
export interface RecentMinute {
  /** Start of the minute. */
  readonly at: number;
  /** Number of waiting messages at its end; `null`: not read. */
  readonly waiting: number | null;
  /** Messages that workers took; `null`: unknown. */
  readonly taken: number | null;
}

/** Some tasks with the same problem. */
export interface TaskGroup {
  readonly count: number;
  /** When the first task got the problem; `null` if unknown. */
  readonly since: number | null;
  /** States of these tasks. */
  readonly states: readonly string[];
  /** Ids of some of these tasks, oldest first. */
  readonly examples: readonly string[];
}

/** Tasks of a worker that is gone. */
export interface LostTasks extends TaskGroup {
  /** `null`: its name is unknown. */
  readonly worker: string | null;
  /** Whether a worker of that name is online again. */
  readonly isWorkerOnline: boolean;
  /** Whether another worker is online that takes over these tasks. Default: false. */
  readonly isTakenOver?: boolean;
}

/** All tasks that have not ended, summed up. */
export interface OpenTaskSummary {
  /** The longest-running first, at most 2,000. */
  readonly running: readonly RunningTask[];
  /** Whether `running` is complete. */
  readonly isWhole: boolean;
  /** By worker: tasks that it had when its heartbeats stopped, or when its process was replaced by another. */
  readonly lost: readonly LostTasks[];
  /** Tasks whose eta has passed and that have not started; `null`: none. */
  readonly overdue: TaskGroup | null;
  /** Tasks that were sent and are in no queue and on no worker; `null`: none. Absent: the engine cannot lose one. */
  readonly missing?: TaskGroup | null;
  /** By queue: waiting tasks that could start. `since`: when the first began to wait, at the latest. */
  readonly waiting: readonly (TaskGroup & { readonly queue: string })[];
}

/** A worker that stopped sending heartbeats without reporting its shutdown. */
export interface SilentWorker {
  readonly hostname: string;
  /** When it was last known to be alive. */
  readonly heardAt: number;
}

/** One of several runs of the same attempt of a task. */
export interface RepeatedRun {
  readonly worker: string | null;
  readonly startedAt: number;
  /** `null`: it has not ended, or that is unknown. */
  readonly endedAt: number | null;
}

/** A task of which an attempt ran more than once. */
export interface RepeatedTask {
  readonly id: string;
  readonly name: string | null;
  /** The earliest first. */
  readonly runs: readonly RepeatedRun[];
}

/** A worker, or one of its processes, that died without a goodbye while it ran tasks. */
export interface WorkerDeath {
  /** When it was noticed. */
  readonly at: number;
  /** `null`: its name is unknown. */
  readonly worker: string | null;
  /** What it ran then. */
  readonly running: readonly RunningTask[];
}

/** What rules need in addition to workers, queues, schedules and components. */
export interface Activity {
  /** Since when all events have been received, without a gap. */
  readonly since: number;
  /** Why tasks may be missed, such as workers that send no events; `null`: no reason is known. */
  readonly blind: string | null;
  readonly counts: MinuteCounts;
  readonly open: OpenTaskSummary;
  /**
   * Whether a worker takes a task only when it can run it immediately. Tasks that wait in a queue then show that the
   * workers of the queue are full, however many slots they have. Default: workers may reserve tasks.
   */
  readonly workersPull?: boolean;
  readonly silent: readonly SilentWorker[];
  /** Default: unknown. */
  readonly growing?: readonly GrowingQueue[];
  /**
   * Tasks that ran twice within the last hour; `null`: only another instance of the app knows. Default: the source cannot
   * tell.
   */
  readonly repeated?: readonly RepeatedTask[] | null;
  /** Deaths of the last day, the oldest first. Default: unknown. */
  readonly deaths?: readonly WorkerDeath[];
  /** The last ten minutes of a queue, oldest first; minutes in which nothing was seen are absent. Default: unknown. */
  readonly recent?: (queue: string) => readonly RecentMinute[];
}

/** A metric with all its series. */
export interface MetricFamily {
  /** Such as `celery_task_sent_total`; the name of a counter ends with `_total`. */
  readonly name: string;
  /** One sentence for people. */
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Upper bounds of a histogram's buckets, ascending, without infinity. Default: none. */
  readonly bounds?: readonly number[];
}

/** Names and values of the labels of a series. */
export type MetricLabels = Readonly<Record<string, string>>;

/** The value of one series of a counter or a gauge. */
export interface MetricValue {
  readonly labels: MetricLabels;
  readonly value: number;
}

/** One series of a histogram. */
export interface MetricHistogram {
  readonly labels: MetricLabels;
  /** How many observations do not exceed each of the family's bounds: they are cumulative. */
  readonly buckets: readonly number[];
  readonly sum: number;
  readonly count: number;
}

/** The series of one family at the time of a scrape. */
export interface MetricSeries {
  /** Name of one of the meter's families. */
  readonly name: string;
  /** Read once, in parts over several turns of the event loop. Each sample is written before the next is requested. */
  readonly samples: Iterable<MetricValue> | Iterable<MetricHistogram>;
}

/** How to count. */
export interface MeterOptions {
  /** Whether series of tasks have the label `hostname`. */
  readonly hostname: boolean;
  /** Maximum number of series; each bucket of a histogram, its sum and its count are one series each. */
  readonly mostSeries: number;
}

/** Counts from the time it is opened. */
export interface Meter {
  /** Every family that may ever have series. */
  readonly families: readonly MetricFamily[];
  /** Called for a scrape. Families without a series may be omitted. */
  collect(context: ReadContext): Awaitable<readonly MetricSeries[]>;
  /** Number of observations that were counted under `other` because there were too many series. Default: 0. */
  overflow?(): number;
  /** Stops counting. Called once. */
  close(): void;
}
