/** The queries for lists and statistics of tasks, and their results. */
import type { CauseGroup } from '../causes/cause-groups.ts';
import { causeOfTask, createCauseFinder } from '../causes/find-cause.ts';
import type { Task, TaskCause } from '../model.ts';
import type { DurationFigures, HistogramBucket, StatsTotals, TaskCaller } from './stats-figures.ts';
import type { TaskCondition } from './task-condition.ts';

/** Fields that the task list can be sorted by. */
export type TaskSort = 'timestamp' | 'received' | 'started' | 'finished' | 'runtime' | 'name' | 'state';

/** A position in a sorted list: the sort value and id of a row. The page begins after it. */
export interface TaskPosition {
  /** Milliseconds for times, seconds for `runtime`, text for `name` and `state`; `null` when the row has none. */
  readonly key: number | string | null;
  readonly id: string;
  /**
   * The source's own addition, for rows whose position key and id do not determine: any text, at most 5,000 bytes as
   * JSON, which combined sources share.
   */
  readonly mark?: string;
}

/** Which tasks to list. Every filter has been validated; an empty array or `null` filters nothing. */
export interface TaskQuery {
  /** 0 to 1000; 0 requests only counts. */
  readonly limit: number;
  /** The position after which to list; `null`: from the start. */
  readonly after: TaskPosition | null;
  /** Any of them matches. */
  readonly states: readonly string[];
  /** On `engineState`. A source whose tasks have none returns no tasks. */
  readonly engineStates: readonly string[];
  readonly names: readonly string[];
  readonly workers: readonly string[];
  readonly queues: readonly string[];
  /** Ids of {@link TaskCause}; check them with {@link TaskQuery.causeOf}. */
  readonly causes: readonly string[];
  readonly rootId: string | null;
  readonly parentId: string | null;
  readonly groupId: string | null;
  /** All of them must be met; check them with `passesConditions`. Every task meets an empty list. */
  readonly conditions: readonly TaskCondition[];
  /**
   * A searched text in lower case, the longest of several. Empty: there is none, but `search` must still be called,
   * for example for excluded texts. `null`: `search` need not be called. Check it with {@link TaskQuery.search}.
   */
  readonly q: string | null;
  /**
   * Whether a task contains all searched texts and none of the excluded ones, in the text that a list row shows
   * (redacted and cut). Only this function may decide: matching raw values would let a search find secrets.
   */
  search(task: Task): boolean;
  /**
   * The cause of a task that failed, from its texts without secrets; `null`: it has none. Only this function may
   * decide: the causes of raw values would distinguish secrets.
   */
  causeOf(task: Task): TaskCause | null;
  /** On `timestamp`, inclusive. */
  readonly since: Date | null;
  /** On `timestamp`, exclusive. */
  readonly until: Date | null;
  readonly sort: TaskSort;
  readonly order: 'asc' | 'desc';
  /** Examine at most this many rows for one answer where no index helps. */
  readonly scan: number;
}

const FIND = createCauseFinder(null);

/** The parts of a {@link TaskQuery} that select every task, in the default order. Shared: must not be changed. */
export const ALL_TASKS: Omit<TaskQuery, 'limit' | 'scan'> = {
  after: null,
  states: [],
  engineStates: [],
  names: [],
  workers: [],
  queues: [],
  causes: [],
  rootId: null,
  parentId: null,
  groupId: null,
  conditions: [],
  q: null,
  search: () => true,
  causeOf: (task) => causeOfTask(task, FIND),
  since: null,
  until: null,
  sort: 'timestamp',
  order: 'desc',
};

/** A page of tasks, in the requested order, ties by id ascending, rows without a sort value last. */
export interface TaskPage {
  readonly tasks: readonly Task[];
  /** Where the next page begins; `null` when this was the last. */
  readonly next: TaskPosition | null;
  /** How many tasks match; `null` if counting them would cost too much. */
  readonly total: number | null;
  /**
   * False when a walk to this page, or from it to the last one, may miss rows that do not change. Default: true.
   */
  readonly cursorExact?: boolean;
  /**
   * `next` and `cursorExact` of the page with only the first `count` of these rows: at least 1, fewer than all.
   * `null`: unknown. Without it, a list of several sources is not exact if positions have marks.
   */
  endAt?(count: number): PageEnd | null;
}

/** How a page of tasks ends. */
export type PageEnd = Pick<TaskPage, 'next' | 'cursorExact'>;

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
