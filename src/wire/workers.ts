/** Bodies that describe workers and what runs on them. */
import type { Integer, SourceBody, Timestamp } from './common.ts';

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
