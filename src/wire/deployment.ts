/** Bodies that describe the deployment: health, components, queues, the feed, schedules. */
import type { DrainBody, Integer, ProblemBody, SourceBody, Timestamp, WaitBody } from './common.ts';
import type { MarkerBody, StatsTotalsBody } from './tasks.ts';

/** Result of one health check. */
export interface HealthCheckBody {
  /** `null` when this part is not configured. */
  ok: boolean | null;
  /** A sentence that says why the check failed; `null` when it did not fail. */
  error: string | null;
  /** Duration of the check in milliseconds. */
  latency_ms: number | null;
}

/** Result of the worker check. */
export interface WorkerHealthCheckBody extends HealthCheckBody {
  /** Hostnames of the workers that respond. */
  responding: string[];
  /**
   * Hostnames of known workers that do not respond, were last seen less than five minutes ago and did not report a
   * shutdown.
   */
  missing: string[];
}

/** `GET /healthcheck` */
export interface HealthBody {
  /** True when no check that ran has failed. */
  ok: boolean;
  status: 'pass' | 'fail';
  checked_at: Timestamp;
  /** One member per check. Checks that the parameter `checks` omits are absent. */
  checks: {
    broker?: HealthCheckBody;
    backend?: HealthCheckBody;
    workers?: WorkerHealthCheckBody;
    /** Only if the request names it. `ok: null`: nothing was found, but not every rule had enough data. */
    findings?: HealthCheckBody;
  };
}

/** One queue. */
export interface QueueBody {
  name: string;
  /** Messages that no worker has taken yet. */
  waiting: Integer | null;
  /** Messages that workers have taken but not acknowledged. */
  reserved: Integer | null;
  /** Number of workers that consume from the queue. */
  consumers: Integer | null;
  /** Age of the oldest due message, in whole seconds; `null` when no message is due or the age is unknown. */
  oldest_due_seconds: Integer | null;
  /**
   * Number of tasks in each of the engine's own states, which are those of the filter `engine_state`; `null` when the
   * engine has none or they are unknown.
   */
  engine_states: { [state: string]: Integer } | null;
  /** Whether the queue is paused; `null` when the engine cannot pause queues or it is unknown. */
  paused: boolean | null;
  /** Why its tasks wait; `null`: none does. */
  blocked_by: WaitBody | null;
  /** When it will be empty; `null`: no task waits. */
  drain: DrainBody | null;
  /** When these figures were read. */
  as_of: Timestamp | null;
  /** Name of the source that lists the queue. */
  source: string;
}

/** A problem that a rule has found. */
export interface FindingBody {
  /** Name of the rule. Stable. */
  code: string;
  severity: 'critical' | 'warning';
  /** Start of the problem if known, otherwise the time at which it was first found. */
  since: Timestamp;
  /** Name of the source; `null` if the finding concerns several, or the monitor itself. */
  source: string | null;
  /** The affected task name, queue, worker, schedule or server; `null`: the whole source. */
  subject: string | null;
  /** One sentence for people. Its wording may change. */
  summary: string;
  /** Figures and names behind the finding; they depend on the rule. */
  evidence: { [key: string]: unknown };
  /** Path and query of this API that list the affected items. */
  look: string;
}

/** The result of one rule for one source. */
export interface RuleBody {
  code: string;
  /** `null`: the rule covers all sources together. */
  source: string | null;
  /** `unknown`: the rule found nothing, but lacked some data. */
  status: 'found' | 'clear' | 'unknown';
  /** What data was missing; `null`: none. */
  reason: string | null;
  /** Number of problems found; `findings` lists at most 20 of them. */
  found: Integer;
}

/** One component of the deployment. */
export interface ComponentBody {
  name: string;
  enabled: boolean;
  status: 'up' | 'down' | 'disabled' | 'unknown';
  /** Process id. */
  pid: Integer | null;
  /** Address without user, password and query. */
  url: string | null;
  /**
   * Settings of the component. `hints: string[]` names each setting that hides data, with the line to change;
   * `hint_codes: string[]`, if present, has the stable code of each.
   */
  config: { [key: string]: unknown } | null;
  /** Present on the component `queues` only. Sorted by source and name. */
  queues?: QueueBody[];
  /** Present on the component `findings` only, like the next two. The worst first. */
  findings?: FindingBody[];
  /**
   * One for each rule and source to which it applies. The deployment is known to be healthy only if every one is
   * `clear`.
   */
  rules?: RuleBody[];
  /** When the rules last ran. */
  checked_at?: Timestamp;
  /** Present on the component `checks` only: the checks of `/healthcheck`. */
  checks?: { broker: HealthCheckBody; backend: HealthCheckBody; workers: HealthCheckBody };
  /** Present on the component `workers` only: one for each source that has any. */
  workers?: WorkerCountsBody[];
  /** Present on the component `tasks` only; `null` if the source cannot compute statistics. */
  stats?: StatsColumnsBody | null;
  /** Present on the components `workers` and `tasks` only. */
  sources?: SourceBody[];
  /** In place of these members: what the route of the component answers now. */
  problem?: ProblemBody;
}

/**
 * `GET /api/components/`, keyed by component: `web`, `metrics`, `beat`, `history`, `queues`, `findings`, and
 * `<source>.<component>`; with `stats` also `checks`, `workers` and `tasks`.
 */
export interface ComponentsBody {
  [key: string]: ComponentBody;
}

/** One item of the event feed. */
export interface EventBody {
  id: string;
  /**
   * Celery's event type (`task-sent`, `task-received`, …, `worker-online`, `worker-offline`), or the engine's
   * own, verbatim.
   */
  type: string;
  /** Task name; `null` for worker events. */
  task: string | null;
  task_id: string | null;
  state: string | null;
  worker: string | null;
  timestamp: Timestamp | null;
  /** Further information about the event, such as the exception. */
  detail: string | null;
}

/** `GET /api/events/latest/` */
export interface EventsBody {
  /** Newest first. */
  events: EventBody[];
  /** Send it as `since` in the next request. */
  cursor: string;
  /** True when events after `since` were missed or are no longer kept. */
  gap: boolean;
  /** Number of items after `since` that `newest` has omitted. 0 without `newest`. */
  skipped: Integer;
  generated_at: Timestamp;
  sources: SourceBody[];
}

/** A task that a schedule entry has sent. */
export interface ScheduleRunBody {
  task_id: string;
  /** `null`: the task is no longer known. */
  state: string | null;
  /** When the entry ran. */
  at: Timestamp;
  /** Run time of the task in seconds. */
  runtime: number | null;
}

/** One entry of a periodic schedule. */
export interface ScheduleBody {
  id: string;
  app: string | null;
  name: string;
  /** Name of the task that the entry sends. */
  task: string | null;
  /** The schedule as readable text: `every 30 s`, `0 7 * * 1 (m/h/dM/MY/d)`. */
  schedule: string | null;
  enabled: boolean | null;
  args: string | null;
  kwargs: string | null;
  queue: string | null;
  /** IANA name of the time zone in which the schedule is evaluated. */
  timezone: string | null;
  last_run_at: Timestamp | null;
  next_run_at: Timestamp | null;
  total_run_count: Integer | null;
  /** The known runs, newest first, at most 20; `null`: it is unknown which tasks were runs. */
  last_runs: ScheduleRunBody[] | null;
  source: string;
}

/** `GET /api/beat/schedules/` */
export interface SchedulesBody {
  /** False when no source provides schedules, or the source reports that beat is not used. */
  enabled: boolean;
  schedules: ScheduleBody[];
  sources: SourceBody[];
}

/** A task that is running now. */
export interface RunningTaskBody {
  task_id: string;
  name: string | null;
  queue: string | null;
  /** As in a row of the task list, like the next one; `null` if unknown. */
  args: string | null;
  kwargs: string | null;
  /** Subtract it from the time of the answer to get how long the task had run; it may have ended since. */
  started: Timestamp;
  /**
   * The 95th percentile of the run times of tasks of this name in the last day, in seconds: at most a half above the
   * true value, or a third below it; `null` for fewer than 20 runs.
   */
  runtime_p95: number | null;
  /**
   * Whether it should have ended, according to the rules `task_overrun` and `worker_stuck`; `null`: too few tasks of
   * its name have run.
   */
  stuck: boolean | null;
}

/** Running tasks of a source that belong to none of its listed workers. */
export interface UnassignedTasksBody {
  source: string;
  /** The longest-running first, at most `running`. */
  running: RunningTaskBody[];
  running_total: Integer | null;
}

/** One worker. */
export interface WorkerBody {
  /** Node name, such as `celery@host`. */
  hostname: string;
  /**
   * `online`: heartbeats arrive on time; `stale`: no heartbeat for up to 60 s; `offline`: no heartbeat for longer, or
   * shut down.
   */
  status: 'online' | 'stale' | 'offline';
  last_heartbeat: Timestamp | null;
  /** Age of the last heartbeat in whole seconds, at `generated_at`. */
  last_seen_seconds: Integer | null;
  pid: Integer | null;
  /** Celery's pool: prefork, threads, solo, gevent, eventlet. */
  pool: string | null;
  pool_size: Integer | null;
  concurrency: Integer | null;
  /** Number of tasks that are running on it now. */
  active: Integer | null;
  /** Number of tasks it has run since it started. */
  processed: Integer | null;
  /** Number of registered task names. */
  registered: Integer | null;
  registered_tasks: string[] | null;
  queues: string[] | null;
  /** Name and version of the worker software, such as `py-celery 5.6.3`. */
  software: string | null;
  /** Load average over 1, 5 and 15 minutes. */
  load_average: number[] | null;
  uptime_seconds: number | null;
  /** Name of the source that reports the worker. */
  source: string;
  /**
   * Present with `running` only, like the next two: the tasks that run on it, the longest-running first. `null`:
   * unknown.
   */
  running?: RunningTaskBody[] | null;
  /** How many tasks run on it; `null`: unknown, so there may be more than are listed. */
  running_total?: Integer | null;
  /** Whether the rule `worker_stuck` finds it: tasks that should have ended hold all its slots; `null`: unknown. */
  stuck?: boolean | null;
}

/** `GET /api/workers/` */
export interface WorkersBody {
  workers: WorkerBody[];
  /**
   * Present with `running` only: by source, running tasks whose worker is unknown or not listed. BullMQ's jobs do not
   * name a worker that has no name.
   */
  unassigned?: UnassignedTasksBody[];
  generated_at: Timestamp;
  sources: SourceBody[];
}

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
    /** The step of `series` with this age, from 0 on. */
    oldest_step: (Integer | null)[];
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
