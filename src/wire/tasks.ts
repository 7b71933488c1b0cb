/** Bodies that describe tasks: the list, its statistics, one task. */
import type { Integer, SourceBody, Timestamp, WaitBody } from './common.ts';

/** One row of the task list. */
export interface TaskBody {
  task_id: string;
  name: string | null;
  /**
   * `PENDING RECEIVED STARTED RETRY SUCCESS FAILURE REVOKED REJECTED`, or a custom state that a worker sets.
   */
  state: string;
  /** The engine's own state, such as BullMQ's `delayed`; `null` if the engine has no states of its own. */
  engine_state: string | null;
  /** Hostname of the worker that runs or ran the task. */
  worker: string | null;
  queue: string | null;
  sent: Timestamp | null;
  /** When the worker received the last attempt. */
  received: Timestamp | null;
  /** When the last attempt that was received started; `null` while a retry waits on its worker. */
  started: Timestamp | null;
  /** When the task ended. */
  finished: Timestamp | null;
  /** When the task last changed, by the sender's clock. */
  timestamp: Timestamp | null;
  /** True when the task has ended: SUCCESS, FAILURE, REVOKED or REJECTED. */
  done: boolean;
  /** Run time in seconds, as the engine reports it, otherwise from `started` to `finished`. */
  runtime: number | null;
  /** Whether the engine reported `runtime` or it was derived; `null` when there is none. */
  runtime_source: 'engine' | 'derived' | null;
  /**
   * How long the last attempt waited for its start, in seconds: since it was sent, or since its eta if that was
   * later. If the time of sending is unknown, since it was received. `null` until it has started.
   */
  wait_seconds: number | null;
  /** Text as the engine writes it, with secrets replaced by `***`, like the next four fields. */
  args: string | null;
  kwargs: string | null;
  result: string | null;
  exception: string | null;
  traceback: string | null;
  retries: Integer | null;
  /** Its progress, as it last reported it; `null` if it has reported none. */
  progress: TaskProgressBody | null;
  eta: Timestamp | null;
  expires: Timestamp | null;
  parent_id: string | null;
  root_id: string | null;
  group_id: string | null;
  /** Task id of the chord body that waits for this task. */
  chord_id: string | null;
  /** Name of the source that reports the task. */
  source: string;
  /** Known problems that the state does not show. */
  flags: ('worker_lost' | 'overdue' | 'never_received' | 'end_unseen' | 'consequence' | 'ran_twice')[];
  /**
   * Groups failures: the same for all with the same exception, message (except for numbers, ids, addresses and quoted
   * values) and code location. `null` unless the task itself failed, and if its texts name no cause.
   */
  cause: string | null;
  /** Names of the fields that were truncated. */
  truncated: string[];
  /** The field that matches the search. Only in lists with `q`. */
  match?: TaskMatchBody | null;
}

/** The progress that a task reports. */
export interface TaskProgressBody {
  /** Steps that are done. */
  current: number | null;
  /** Steps in all. */
  total: number | null;
  /** 0 to 100. */
  percent: number | null;
  /** Text from the task, at most 200 characters. */
  text: string | null;
}

/** The field of a task that matches the search. */
export interface TaskMatchBody {
  field: 'name' | 'task_id' | 'worker' | 'args' | 'kwargs' | 'exception' | 'result';
  /** The match with some text around it, at most about 300 characters; `…` marks where it is cut. */
  text: string;
}

/** One step of `stats.series`. */
export interface StatsStepBody {
  t: Timestamp;
  /** Tasks received in this step; `null`, like the next three, if unknown. */
  received: Integer | null;
  /** Tasks that ended in this step. */
  succeeded: Integer | null;
  failed: Integer | null;
  /** Attempts that ended with a retry in this step. */
  retried: Integer | null;
  /** This one and the next five, with `stats_percentiles`: of the runs that ended in this step, in seconds. */
  runtime_p50?: number | null;
  runtime_p95?: number | null;
  runtime_p99?: number | null;
  /** Of the waits that ended in this step. */
  wait_p50?: number | null;
  wait_p95?: number | null;
  wait_p99?: number | null;
}

/** Totals of the window of `stats`. Times are in seconds. */
export interface StatsTotalsBody {
  /** When the first counted step begins: later ones are all known, an earlier one is not. `null`: nothing is counted. */
  since: Timestamp | null;
  /** The sum over the steps of `series` since then; `null`, like the next three, if it is unknown in one of them. */
  received: Integer | null;
  succeeded: Integer | null;
  failed: Integer | null;
  retried: Integer | null;
  runtime_p50: number | null;
  runtime_p95: number | null;
  runtime_p99: number | null;
  wait_p50: number | null;
  wait_p95: number | null;
  wait_p99: number | null;
}

/** One bucket of a histogram. */
export interface StatsBucketBody {
  /**
   * Durations in it are shorter than this, in seconds; `null`: all durations that are longer than the previous
   * bucket.
   */
  le: number | null;
  count: Integer;
}

/** A point in time that the host marks, such as a deploy. */
export interface MarkerBody {
  at: Timestamp;
  text: string;
  /** http, https or relative. */
  url: string | null;
}

/** Statistics of one task name. Times are in seconds. */
export interface StatsNameBody {
  name: string;
  /** `null`: unknown, because the engine has removed tasks of the window. */
  count: Integer | null;
  failed: Integer;
  /** The last of these failures; `null`: there is none, or it is unknown. */
  last_failed_at: Timestamp | null;
  runtime_p50: number | null;
  runtime_p95: number | null;
  wait_p50: number | null;
  wait_p95: number | null;
}

/** A task name that sends the tasks of the statistics, or is sent by them. */
export interface StatsCallerBody {
  name: string;
  /** How many tasks of this name have sent, or were sent. */
  count: Integer;
}

/** Statistics over the filtered tasks of some minutes. */
export interface TaskStatsBody {
  /** Length of one step of `series`, in seconds. */
  step_seconds: number;
  /** Oldest first. */
  series: StatsStepBody[];
  totals: StatsTotalsBody;
  /** Run times in buckets, from the shortest to the longest bucket that is not empty. With `stats_percentiles`. */
  runtime_histogram?: StatsBucketBody[];
  wait_histogram?: StatsBucketBody[];
  /** The host's markers, oldest first: those in the window, and the newest five. */
  markers: MarkerBody[];
  /** Number of tasks per state. */
  states: { [state: string]: number };
  /** The 50 most frequent task names. */
  names: StatsNameBody[];
  workers: string[];
  queues: string[];
  /**
   * The names of the tasks that sent these, the most frequent first, at most 50. `null` if unknown. With
   * `stats_callers`, like the next one.
   */
  callers?: StatsCallerBody[] | null;
  /** The names of the tasks that these sent. */
  callees?: StatsCallerBody[] | null;
  /** Failures by cause, the most frequent first. Only with `stats_causes`, and if the source knows them. */
  causes?: StatsCauseBody[];
  /** Whether there are more causes. Only with `causes`. */
  causes_truncated?: boolean;
  /**
   * What the figures were computed from: the tasks, or the counts by minute, hour and day of a store. Only if a
   * source keeps its history in a store, like the next one.
   */
  computed_from?: 'tasks' | 'rollups';
  /** Since when there are counts: how far back a window reaches. `null` if there are none, or if it is unknown. */
  counted_since?: Timestamp | null;
  /** The queues with the most waiting messages, at most 20. Absent if a source does not know queues over time. */
  queue_depths?: StatsQueueBody[];
}

/** The depth of one queue over time. */
export interface StatsQueueBody {
  queue: string;
  /** For each step of `series`: the most waiting messages; `null` if unknown. */
  waiting: (Integer | null)[];
  /** For each step of `series`: the greatest age of the oldest due message, in seconds. */
  oldest_seconds: (number | null)[];
  /** Whether messages may be older: Celery's messages do not contain the time at which they were sent. */
  oldest_at_least: boolean;
  /** For each step: how many messages entered; `null` if unknown. */
  sent: (Integer | null)[];
  /** For each step: how many messages workers have taken out; `null` if unknown. */
  received: (Integer | null)[];
  /**
   * Since when the queue has been growing, at the end of the window; `null`: it is not growing, or this is unknown.
   */
  growing_since: Timestamp | null;
}

/** What all sources of a list support. */
export interface TaskCapabilitiesBody {
  /** Values of `sort`. */
  sorts: string[];
  /** Parameters that filter. */
  filters: string[];
  /** Whether `q` and `not_q` are supported. */
  search: boolean;
  /** Whether matching tasks are counted; if not, `total` is `null`. */
  total: boolean;
}

/** `GET /api/tasks/` */
export interface TasksBody {
  tasks: TaskBody[];
  /** Send it as `cursor` to get the next page; `null` on the last page. */
  next_cursor: string | null;
  /**
   * False when a walk to this page, or from it to the last one, may miss tasks that do not change, because too many
   * instances of the monitor have answered it.
   */
  cursor_exact: boolean;
  /** Number of matching tasks; `null` when counting them would cost too much. */
  total: Integer | null;
  /** What lists of these sources support; `null`: everything. A request that needs more answers 400. */
  capabilities: TaskCapabilitiesBody | null;
  /** When this answer was made, or last found unchanged. */
  generated_at: Timestamp;
  sources: SourceBody[];
  /** Present only when requested; `null` when the source cannot compute statistics. */
  stats?: TaskStatsBody | null;
}

/** Failures with one cause. */
export interface StatsCauseBody {
  /** As in `cause` of a task. It is the same on every instance, and after a restart. */
  cause: string;
  /** Name of the exception's class. */
  exception: string | null;
  /** The message, with `<number>`, `<id>`, `<address>` and `<value>` in place of the parts that differ. */
  message: string | null;
  /** The innermost frame of the traceback, such as `charge.py in capture`. */
  frame: string | null;
  count: Integer;
  /** The first failure with this cause that is known at all. */
  first_seen: Timestamp | null;
  /** The last failure in the window. */
  last_seen: Timestamp | null;
  /** The most frequent task names, at most 20. */
  names: string[];
  /** The most frequent workers, at most 20. */
  workers: string[];
  /** `task_id` of the last failure; `null` if no task is known any more. */
  sample: string | null;
  /** Whether `first_seen` is in the window; `null` if the history does not reach back far enough before it. */
  is_new: boolean | null;
  /** Failures in each step of `series`. */
  activity: Integer[];
}

/** One attempt of a task. */
export interface TaskAttemptBody {
  /** 1 for the first. */
  number: Integer;
  started: Timestamp | null;
  /** `null` also while it runs. */
  finished: Timestamp | null;
  /** Why it failed, at most 1,024 characters; `null` if it did not fail, or if this is unknown. */
  error: string | null;
}

/** The end of a job's log. */
export interface TaskLogBody {
  /** The last lines, oldest first, 100 at most, each of at most 2,000 characters. */
  lines: string[];
  /** How many lines there are in all. */
  total: Integer;
}

/** A link on a task's page. */
export interface TaskLinkBody {
  /** 1 to 200 characters. */
  text: string;
  /** An http(s) URL, or a path, which the browser reads against the page's address. */
  url: string;
}

/** `GET /api/tasks/{task_id}/` */
export interface TaskDetailBody extends TaskBody {
  /** Ids of the tasks that this task sent. */
  children: string[];
  /** Every observed change, oldest first. */
  timeline: TimelineEntryBody[];
  /** Its attempts, oldest first, the last 100 at most; `null` if unknown. */
  attempts: TaskAttemptBody[] | null;
  /** Options of the job as JSON; `null` if the engine has none. */
  options: string | null;
  /** The log of the job; `null` if the engine keeps no log. */
  log: TaskLogBody | null;
  /**
   * Id of the OpenTelemetry trace in which it was sent: 32 lowercase hexadecimal digits. `null` if its message was
   * not seen or contains none.
   */
  trace_id: string | null;
  /** Seconds after which it is interrupted, and its process killed. */
  time_limits: { soft: number | null; hard: number | null } | null;
  /** Why it waits; `null`: it does not wait. */
  waiting_for: WaitBody | null;
  /** Links to other tools, from the host's option `taskLinks`. */
  links: TaskLinkBody[];
  sources: SourceBody[];
}

/** One state change of a task. */
export interface TimelineEntryBody {
  state: string;
  timestamp: Timestamp | null;
  worker: string | null;
  /** Further information about the change, such as the exception of a retry. */
  detail: string | null;
  /** Number of the attempt to which the change belongs, 0 for the first. */
  retries: Integer | null;
}
