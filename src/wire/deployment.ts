/** Bodies that tell of the deployment: health, components, workers, the feed, schedules. */
import type { Integer, SourceBody, Timestamp } from './common.ts';

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

/** One queue. */
export interface QueueBody {
  name: string;
  /** Messages that no worker has taken. */
  waiting: Integer | null;
  /** Messages that workers have taken and not acknowledged. */
  reserved: Integer | null;
  /** Workers that read it. */
  consumers: Integer | null;
  /** Whole seconds for which the oldest message that is due has waited; `null` when none is due or that is unknown. */
  oldest_due_seconds: Integer | null;
  /** When these figures were read. */
  as_of: Timestamp | null;
  /** Name of the source that listed it. */
  source: string;
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
  /** Of the component `queues` alone, by source and name. */
  queues?: QueueBody[];
}

/** `GET /api/components/`, keyed by component: `web`, `metrics`, `beat`, `history`, `queues`, and `<source>.<component>`. */
export interface ComponentsBody {
  [key: string]: ComponentBody;
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
  /** False when there is no source of schedules, or it says that no beat is used. */
  enabled: boolean;
  schedules: ScheduleBody[];
  sources: SourceBody[];
}
