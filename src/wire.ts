/**
 * Every JSON body of the API, types only: the single input of `openapi.json`.
 * Every field is always present; `null` means "cannot tell".
 */
import type { MonitorErrorCode, ParameterFault } from './errors.ts';

/**
 * A moment in ISO 8601, UTC, with milliseconds: `2026-11-21T02:00:00.000Z`.
 * @format date-time
 */
export type Timestamp = string;

/**
 * A whole number.
 * @asType integer
 */
export type Integer = number;

/** Why a source is not ok: one of our stable error codes. */
export type SourceErrorCode = 'source_unavailable' | 'source_timeout' | 'source_invalid' | 'overloaded';

/** How current one source is. */
export interface SourceBody {
  /** Name of the source, as in `source` of each row. */
  name: string;
  /** False while what it reads from cannot be reached: what is shown is then as old as `as_of`. */
  ok: boolean;
  /** When it was last known to be current; `null` if it never was. */
  as_of: Timestamp | null;
  error: SourceErrorCode | null;
}

/** `application/problem+json` (RFC 9457). */
export interface ProblemBody {
  /** Names the kind of problem; it need not lead anywhere. */
  type: string;
  /** What this kind of problem is called. */
  title: string;
  /** The HTTP status. */
  status: Integer;
  /** A sentence of ours about this occurrence. */
  detail: string;
  /** Stable: clients may branch on it. */
  code: MonitorErrorCode;
  /** Every fault of the query, for `invalid_parameter`. */
  errors?: ParameterFault[];
}

/** Result of one check. */
export interface HealthCheckBody {
  /** `null`: not configured. */
  ok: boolean | null;
  /** Why it is not ok, in a sentence. */
  error: string | null;
  /** How long the check took, in milliseconds. */
  latency_ms: number | null;
}

/** Result of the workers' check. */
export interface WorkerHealthCheckBody extends HealthCheckBody {
  /** Hostnames that answer. */
  responding: string[];
  /** Hostnames that are known, silent, and said no goodbye, for less than five minutes. */
  missing: string[];
}

/** `GET /healthcheck` */
export interface HealthBody {
  /** True when no check that ran failed. */
  ok: boolean;
  status: 'pass' | 'fail';
  checked_at: Timestamp;
  /** Checks that were left out by `checks` are absent. */
  checks: {
    broker?: HealthCheckBody;
    backend?: HealthCheckBody;
    workers?: WorkerHealthCheckBody;
  };
}

/** Waiting work of one queue. */
export interface QueueBody {
  name: string;
  /** Messages that no worker has taken. */
  waiting: Integer | null;
  /** Messages that workers have taken and not acknowledged. */
  reserved: Integer | null;
  /** Workers that read it. */
  consumers: Integer | null;
}

/** One component. */
export interface ComponentBody {
  name: string;
  enabled: boolean;
  status: 'up' | 'down' | 'disabled' | 'unknown';
  /** Process id. */
  pid: Integer | null;
  /** Without user, password and query. */
  url: string | null;
  /** What it is set to. `hints: string[]` says which setting hides data, with the line to change. */
  config: { [key: string]: unknown } | null;
  /** Waiting work, of a broker. */
  queues?: QueueBody[];
}

/** `GET /api/components/`, keyed by component: `web`, `metrics`, `beat`, `history`, and `<source>.<component>`. */
export interface ComponentsBody {
  [key: string]: ComponentBody;
}

/** One row of the task list. */
export interface TaskBody {
  task_id: string;
  name: string | null;
  /** `PENDING RECEIVED STARTED RETRY SUCCESS FAILURE REVOKED REJECTED`, or any that a worker invents. */
  state: string;
  /** Hostname of the worker that has or had it. */
  worker: string | null;
  queue: string | null;
  sent: Timestamp | null;
  /** When the worker of the last run took it. */
  received: Timestamp | null;
  /** When the last run started. */
  started: Timestamp | null;
  /** When it ended. */
  finished: Timestamp | null;
  /** Last change, by the sender's clock. */
  timestamp: Timestamp | null;
  /** Whether it has ended: SUCCESS, FAILURE, REVOKED or REJECTED. */
  done: boolean;
  /** Seconds, the engine's own figure. */
  runtime: number | null;
  /** As the engine shows it; secrets are `***`. So are the next four. */
  args: string | null;
  kwargs: string | null;
  result: string | null;
  exception: string | null;
  traceback: string | null;
  retries: Integer | null;
  eta: Timestamp | null;
  expires: Timestamp | null;
  parent_id: string | null;
  root_id: string | null;
  group_id: string | null;
  /** Task id of the chord's body that waits for this task. */
  chord_id: string | null;
  /** Name of the source that told us. */
  source: string;
  /** What is wrong beyond the state, set only when known. */
  flags: ('worker_lost' | 'overdue' | 'never_received')[];
  /** Names of the fields that were cut. */
  truncated: string[];
}

/** One step of `stats.series`. */
export interface StatsStepBody {
  t: Timestamp;
  received: Integer;
  succeeded: Integer;
  failed: Integer;
  retried: Integer;
}

/** Figures of one task name. Seconds. */
export interface StatsNameBody {
  name: string;
  count: Integer;
  failed: Integer;
  runtime_p50: number | null;
  runtime_p95: number | null;
  wait_p50: number | null;
  wait_p95: number | null;
}

/** Figures over the filtered tasks of the last minutes. */
export interface TaskStatsBody {
  /** Length of one step of `series`. */
  step_seconds: number;
  /** Oldest first. */
  series: StatsStepBody[];
  /** Tasks per state. */
  states: { [state: string]: number };
  /** The 50 most frequent. */
  names: StatsNameBody[];
  workers: string[];
  queues: string[];
}

/** `GET /api/tasks/` */
export interface TasksBody {
  tasks: TaskBody[];
  /** Give it as `cursor` for the next page; `null` on the last one. */
  next_cursor: string | null;
  /** How many tasks match; `null` where counting would cost too much. */
  total: Integer | null;
  /** When this answer was made or last found unchanged. */
  generated_at: Timestamp;
  sources: SourceBody[];
  /** Only when asked for; `null` when the source cannot tell. */
  stats?: TaskStatsBody | null;
}

/** One change in the life of a task. */
export interface TimelineEntryBody {
  state: string;
  timestamp: Timestamp | null;
  worker: string | null;
  /** What is worth saying of it, such as the exception of a retry. */
  detail: string | null;
}

/** `GET /api/tasks/{task_id}/` */
export interface TaskDetailBody extends TaskBody {
  /** Ids of the tasks that it sent. */
  children: string[];
  /** Every change seen, oldest first. */
  timeline: TimelineEntryBody[];
  sources: SourceBody[];
}

/** One relation. */
export interface RelationBody {
  /** A task id, or for `group` the group's id. */
  parent: string | null;
  child: string;
  /** `chain group chord map starmap chunks link link_error child`, or verbatim what the engine calls it. */
  relation: string;
}

/** `GET /api/tasks/{task_id}/relations/` */
export interface RelationsBody {
  task_id: string;
  /** The asked task's own root id, or its id. */
  root_id: string;
  /** Every relation in the workflow of that task, each once. */
  relations: RelationBody[];
  sources: SourceBody[];
}

/** Tasks per bucket of states. */
export interface StateCountsBody {
  /** Sum of the others. */
  total: Integer;
  /** PENDING and RECEIVED. */
  pending: Integer;
  /** STARTED and every state not named here. */
  running: Integer;
  retry: Integer;
  success: Integer;
  failure: Integer;
  /** REVOKED and REJECTED. */
  revoked: Integer;
}

/** One node of the graph. */
export interface GraphNodeBody {
  /** Task id, or group id. */
  id: string;
  task_name: string | null;
  /** `null`: a virtual node, or a task known only by reference. */
  state: string | null;
  started_at: Timestamp | null;
  finished_at: Timestamp | null;
  /** The engine's run time, else `finished_at` less `started_at`. */
  duration_ms: number | null;
  retries: Integer | null;
  queue: string | null;
  worker: string | null;
  args_preview: string | null;
  kwargs_preview: string | null;
  result_preview: string | null;
  /** The end of the traceback: the exception's line. */
  traceback_preview: string | null;
  stamps_preview: string | null;
  parent_id: string | null;
  root_id: string | null;
  /** `group` and `chord`: virtual nodes; `map`, `starmap`, `chunks`: real tasks of that sort. */
  kind: 'group' | 'chord' | 'map' | 'starmap' | 'chunks' | null;
  /** Of virtual nodes; `null` on real tasks. */
  members: StateCountsBody | null;
}

/** One edge of the graph. */
export interface GraphEdgeBody {
  /** `source->target:kind` */
  id: string;
  source: string;
  target: string;
  kind: string;
}

/** `GET /api/tasks/{task_id}/graph/` */
export interface GraphBody {
  meta: {
    root_id: string;
    generated_at: Timestamp;
    /** Give it as `since` to `graph/updates/`. */
    cursor: string;
    /** Of all nodes with a state, also those that `limit` cut. */
    counts: StateCountsBody;
    /** Of what is listed. */
    node_count: Integer;
    edge_count: Integer;
    /** True when the workflow is larger than what is listed. */
    truncated: boolean;
  };
  nodes: GraphNodeBody[];
  edges: GraphEdgeBody[];
  sources: SourceBody[];
}

/** What may change of a node. */
export interface GraphNodeUpdateBody {
  id: string;
  state: string | null;
  duration_ms: number | null;
  retries: Integer | null;
  started_at: Timestamp | null;
  finished_at: Timestamp | null;
  worker: string | null;
  members: StateCountsBody | null;
}

/** `GET /api/tasks/{task_id}/graph/updates/` */
export interface GraphUpdatesBody {
  generated_at: Timestamp;
  /** Give it as the next `since`. */
  cursor: string;
  /** Nodes that changed after `since`; all of them without it. */
  node_updates: GraphNodeUpdateBody[];
  meta_counts: StateCountsBody;
  /** True when a node or an edge came, went or changed its kind: read the graph again. */
  topology_changed: boolean;
  node_count: Integer;
  edge_count: Integer;
  /** True once every task of the workflow has ended. */
  complete: boolean;
  sources: SourceBody[];
}

/** One worker. */
export interface WorkerBody {
  /** Node name, such as `celery@host`. */
  hostname: string;
  /** `online`: its heartbeats come; `stale`: late, for up to 60 s; `offline`: later, or it said goodbye. */
  status: 'online' | 'stale' | 'offline';
  last_heartbeat: Timestamp | null;
  /** Whole seconds at `generated_at`. */
  last_seen_seconds: Integer | null;
  pid: Integer | null;
  /** Celery's pool: prefork, threads, solo, gevent, eventlet. */
  pool: string | null;
  pool_size: Integer | null;
  concurrency: Integer | null;
  /** Tasks that it runs now. */
  active: Integer | null;
  /** Tasks that it has run since it started. */
  processed: Integer | null;
  /** How many task names it knows. */
  registered: Integer | null;
  registered_tasks: string[] | null;
  queues: string[] | null;
  /** Name and version, such as `py-celery 5.6.3`. */
  software: string | null;
  /** Load over 1, 5 and 15 minutes. */
  load_average: number[] | null;
  uptime_seconds: number | null;
  /** Name of the source that told us. */
  source: string;
}

/** `GET /api/workers/` */
export interface WorkersBody {
  workers: WorkerBody[];
  generated_at: Timestamp;
  sources: SourceBody[];
}

/** One item of the feed. */
export interface EventBody {
  id: string;
  /** Celery's (`task-sent`, `task-received`, …, `worker-online`, `worker-offline`), or verbatim. */
  type: string;
  /** Name of the task; `null` for worker items. */
  task: string | null;
  task_id: string | null;
  state: string | null;
  worker: string | null;
  timestamp: Timestamp | null;
  /** What is worth saying of it, such as the exception. */
  detail: string | null;
}

/** `GET /api/events/latest/` */
export interface EventsBody {
  /** Newest first. */
  events: EventBody[];
  /** Give it as the next `since`. */
  cursor: string;
  /** Something after `since` is no longer held or was missed. */
  gap: boolean;
  generated_at: Timestamp;
  sources: SourceBody[];
}

/** One entry of a periodic schedule. */
export interface ScheduleBody {
  id: string;
  app: string | null;
  name: string;
  /** Name of the task that it sends. */
  task: string | null;
  /** Text that a person reads: `every 30 s`, `0 7 * * 1 (m/h/dM/MY/d)`. */
  schedule: string | null;
  enabled: boolean | null;
  args: string | null;
  kwargs: string | null;
  queue: string | null;
  /** IANA name of the zone that the schedule is read in. */
  timezone: string | null;
  last_run_at: Timestamp | null;
  next_run_at: Timestamp | null;
  total_run_count: Integer | null;
  source: string;
}

/** `GET /api/beat/schedules/` */
export interface SchedulesBody {
  /** False when the host gave no source of schedules. */
  enabled: boolean;
  schedules: ScheduleBody[];
  sources: SourceBody[];
}
