/** Bodies that tell of tasks: the list and its figures, one task. */
import type { Integer, SourceBody, Timestamp } from './common.ts';

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
