/** What a source is asked for when tasks are listed and summed up, and what it answers. */
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
  /** The source's own addition, for rows that key and id do not place. */
  readonly mark?: string;
}

/** Which tasks to list. Every filter has been validated; an empty array or `null` filters nothing. */
export interface TaskQuery {
  /** 0 to 1000; 0 asks for counts alone. */
  readonly limit: number;
  /** The position after which to list; `null`: from the start. */
  readonly after: TaskPosition | null;
  /** Any of them matches. */
  readonly states: readonly string[];
  /** On `engineState`. A source whose tasks have none answers with no task. */
  readonly engineStates: readonly string[];
  readonly names: readonly string[];
  readonly workers: readonly string[];
  readonly queues: readonly string[];
  /** Ids of {@link TaskCause}; decide with {@link TaskQuery.causeOf}. */
  readonly causes: readonly string[];
  readonly rootId: string | null;
  readonly parentId: string | null;
  readonly groupId: string | null;
  /** All of them must be met; decide with `passesConditions`. Every task meets an empty list. */
  readonly conditions: readonly TaskCondition[];
  /**
   * A text searched for, lower case: of several the longest. Empty: `search` decides without one, such as what must not
   * be in a task. `null`: `search` need not be called. Decide with {@link TaskQuery.search}.
   */
  readonly q: string | null;
  /**
   * Whether a task contains all texts searched for and none of the others, in the text that a list row shows (redacted
   * and cut). Only this function may decide: matching raw values would let a search find secrets.
   */
  search(task: Task): boolean;
  /**
   * The cause of a task that failed, from its texts without secrets; `null`: it has none. Only this function may
   * decide: the causes of raw values would tell secrets apart.
   */
  causeOf(task: Task): TaskCause | null;
  /** On `timestamp`, inclusive. */
  readonly since: Date | null;
  /** On `timestamp`, exclusive. */
  readonly until: Date | null;
  readonly sort: TaskSort;
  readonly order: 'asc' | 'desc';
  /** Look at no more than this many rows for one answer where no index helps. */
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

/** A page of tasks, in the order asked for, ties by id ascending, rows without a sort value last. */
export interface TaskPage {
  readonly tasks: readonly Task[];
  /** Where the next page begins; `null` when this was the last. */
  readonly next: TaskPosition | null;
  /** How many tasks match; `null` when that is not known cheaply. */
  readonly total: number | null;
  /**
   * False when a walk to this page, or from it to the last one, may miss rows that do not change. Default: true.
   */
  readonly cursorExact?: boolean;
  /**
   * `next` and `cursorExact` of the page with only the first `count` of these rows: at least 1, fewer than all.
   * `null`: not known. Default: a list of several sources asks for that page, where positions have marks.
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
   * Length of one step in seconds, a multiple of 60; `null` or absent: a readable one. Tasks that are known only as counts may get a
   * longer one.
   */
  readonly stepSeconds?: number | null;
  /** Whether to give percentiles for each step of `series`. Default: only those of the window. */
  readonly percentiles?: boolean;
  /** Whether to say which tasks sent these, and which ones these sent. Default: `callers` and `callees` are left out. */
  readonly callers?: boolean;
  /** How many causes of failures to list, 1,000 at most. Default 0: `causes` is left out. */
  readonly causes?: number;
  /** `limit`, `after`, `sort` and `order` do not matter here. */
  readonly filter: TaskQuery;
}

/** Figures over the tasks whose last change lies in the window. */
export interface TaskStats {
  readonly stepSeconds: number;
  /** Percentiles of a step are those of runs that ended, and of waits that were over in it. Absent: nobody asked. */
  readonly series: readonly ({
    readonly t: Date;
    /** `null`, like the next three: not known for this step. */
    readonly received: number | null;
    readonly succeeded: number | null;
    readonly failed: number | null;
    /** Attempts that ended with a retry in this step. */
    readonly retried: number | null;
  } & Partial<DurationFigures>)[];
  /** Absent: counts are added up from `series`, and percentiles are not known. */
  readonly totals?: StatsTotals;
  /**
   * Run times, and waits, in buckets: two for each doubling, from the shortest to the longest that anything is in.
   * Default: not known.
   */
  readonly runtimeHistogram?: readonly HistogramBucket[];
  readonly waitHistogram?: readonly HistogramBucket[];
  readonly states: Readonly<Record<string, number>>;
  /** The 50 most frequent names. Run time and wait in seconds; `null` where none is known. */
  readonly names: readonly {
    readonly name: string;
    readonly count: number;
    readonly failed: number;
    readonly runtimeP50: number | null;
    readonly runtimeP95: number | null;
    readonly waitP50: number | null;
    readonly waitP95: number | null;
  }[];
  readonly workers: readonly string[];
  readonly queues: readonly string[];
  /** Failures by cause, the most frequent first, as many as the query asks for. Absent: not known, or not asked for. */
  readonly causes?: readonly CauseGroup[];
  /** Whether there are more causes. */
  readonly causesTruncated?: boolean;
  /**
   * The names of the tasks that sent those that are summed up, and how many each sent: the 50 most frequent, these first.
   * Parents that are not known any more do not count. `null` or absent: not known, or not asked for.
   */
  readonly callers?: readonly TaskCaller[] | null;
  /** The names of the tasks that were sent by those that are summed up, in this window or not, in the same way. */
  readonly callees?: readonly TaskCaller[] | null;
  /**
   * From what the figures were computed: from the tasks themselves, or from counts by minute, hour and day that a store
   * keeps. Absent: there is no store.
   */
  readonly computedFrom?: 'tasks' | 'rollups';
  /** Since when there are counts; `null`: there are none yet, or it is not known. Absent: there is no store. */
  readonly countedSince?: Date | null;
  /** Queues that had the most waiting messages, by step of `series`. Absent: the source does not know them over time. */
  readonly queueDepths?: readonly QueueDepths[];
}

/** How much waited in a queue. */
export interface QueueDepths {
  readonly queue: string;
  /** For each step of `series`: the most waiting messages; `null`: not known. */
  readonly waiting: readonly (number | null)[];
  /** For each step of `series`: the greatest age of the oldest due message, in seconds; `null`: not known, or none was due. */
  readonly oldestSeconds: readonly (number | null)[];
  /** For each step: how many messages entered; `null`: not known. Default: not known. */
  readonly sent?: readonly (number | null)[];
  /** For each step: how many messages workers have taken out; `null`: not known. Default: not known. */
  readonly received?: readonly (number | null)[];
  /** Since when it grows, at the end of the window; `null`: it does not. Default: it does not, or it is not known. */
  readonly growingSince?: Date | null;
  /** Whether messages may be older than `oldestSeconds`. Default: false. */
  readonly oldestAtLeast?: boolean;
}
