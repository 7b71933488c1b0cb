/**
 * The domain model that sources use: camelCase names, `Date` for times, Celery's terms. `null` or a missing
 * field means "unknown", an empty array means "none".
 */

import type { TaskCause } from './model/task-cause.ts';
import type { TaskAttempt, TaskChangeEntry, TaskLog } from './model/task-detail.ts';
import type { TaskFlag } from './model/task-flag.ts';
import type { TaskProgress } from './model/task-progress.ts';
import type { TaskState } from './model/task-state.ts';

export type { Queue } from './model/queue.ts';
export type { Schedule, ScheduleRun } from './model/schedule.ts';
export type { TaskCause } from './model/task-cause.ts';
export type { TaskAttempt, TaskChangeEntry, TaskLog } from './model/task-detail.ts';
export { flagsOf, hasFlag, type TaskFlag } from './model/task-flag.ts';
export {
  LONGEST_PROGRESS,
  percentOf,
  progressOf,
  shareOf,
  type TaskProgress,
} from './model/task-progress.ts';
export { isDone, TASK_STATES, type TaskState } from './model/task-state.ts';
export { isTraceId, traceIdOf } from './model/trace-id.ts';

/** Text fields of a task that may be truncated. */
export type TaskTextField = 'args' | 'kwargs' | 'result' | 'exception' | 'traceback';

/** A task or job: one unit of work that a worker runs. Only `id` and `state` are required. */
export interface Task {
  /** Opaque id: a non-empty string of at most 512 characters. */
  readonly id: string;
  readonly state: TaskState;
  /** The engine's own state, if it distinguishes more than {@link TASK_STATES}: BullMQ's `delayed`. Default: none. */
  readonly engineState?: string | null;
  readonly name?: string | null;
  /** Hostname of the worker that runs or ran the task, such as `celery@host`. */
  readonly worker?: string | null;
  readonly queue?: string | null;
  readonly sent?: Date | null;
  /** When the worker received the last attempt. */
  readonly received?: Date | null;
  /** When the last attempt that was received started. */
  readonly started?: Date | null;
  /** When the task ended; `null` while it has not ended. */
  readonly finished?: Date | null;
  /** Last change by the sender's clock; the list is sorted by it. `null`: the task is known only from its queue. */
  readonly timestamp?: Date | null;
  /** Run time in seconds, as the engine reports it, otherwise from `started` to `finished`. */
  readonly runtime?: number | null;
  /** Where `runtime` comes from. Default: `engine`. */
  readonly runtimeSource?: 'engine' | 'derived' | null;
  /**
   * How long the last attempt waited for its start, in seconds: since it was sent, or since its eta if that was
   * later. Default: for a task that was not retried, computed from `sent` (or `received`), `eta` and `started`.
   */
  readonly waitSeconds?: number | null;
  /** As the engine writes it (Celery: a Python repr). A value that is not a string is shown as JSON. */
  readonly args?: unknown;
  readonly kwargs?: unknown;
  readonly result?: unknown;
  readonly exception?: unknown;
  readonly traceback?: unknown;
  readonly retries?: number | null;
  /** Its progress, as it last reported it. Default: none reported. */
  readonly progress?: TaskProgress | null;
  readonly eta?: Date | null;
  readonly expires?: Date | null;
  /** Id of the task that sent this one. The task's own id means that it has no parent. */
  readonly parentId?: string | null;
  readonly rootId?: string | null;
  readonly groupId?: string | null;
  /** Task id of the chord body that waits for this task. */
  readonly chordId?: string | null;
  readonly flags?: readonly TaskFlag[];
  /** Why the task failed, computed from texts without secrets. Default: computed from `exception` and `traceback`. */
  readonly cause?: TaskCause | null;
  /** Fields that are known to have been truncated by the engine or the source. */
  readonly truncated?: readonly TaskTextField[];
  /** For workflow graphs: `map`, `starmap` or `chunks` if the engine marks the task as one. */
  readonly kind?: 'map' | 'starmap' | 'chunks' | null;
  /** For workflow graphs: Celery's stamps. */
  readonly stamps?: unknown;
  /** Whether the source has removed the secrets from all texts: then only the host's own rules apply. Default false. */
  readonly redacted?: boolean;
}

/** A task with the fields that only its own page shows. */
export interface TaskDetail extends Task {
  /** Ids of the tasks that this task sent. */
  readonly children?: readonly string[];
  /** Every observed change, oldest first. */
  readonly timeline?: readonly TaskChangeEntry[];
  /** Its attempts, oldest first. `null`: unknown. Default: `null`. */
  readonly attempts?: readonly TaskAttempt[] | null;
  /** Options of this task, if the engine has such: a BullMQ job's. A value that is not a string is shown as JSON. */
  readonly options?: unknown;
  /** `null`: the engine keeps no log. Default: `null`. */
  readonly log?: TaskLog | null;
  /**
   * Id of the OpenTelemetry trace in which it was sent: 32 lowercase hexadecimal digits. `null`: unknown. Default:
   * `null`.
   */
  readonly traceId?: string | null;
  /** `null`: it has none of its own, or they are unknown. Default: `null`. */
  readonly timeLimits?: TimeLimits | null;
}

/** After how many seconds a running task is interrupted (soft), and its process killed (hard). */
export interface TimeLimits {
  readonly soft: number | null;
  readonly hard: number | null;
}

/** How two tasks are related: one of Celery's terms, or the engine's own name, verbatim. */
export type TaskRelationKind =
  | 'chain'
  | 'group'
  | 'chord'
  | 'map'
  | 'starmap'
  | 'chunks'
  | 'link'
  | 'link_error'
  | 'child'
  | 'flow'
  | (string & {});

/**
 * One relation. `parent` is a task id, for `group` the group id, and `null` when unknown. In a `flow`, `parent` is the
 * task that runs first, although the other one created it: a child of a BullMQ flow.
 */
export interface TaskRelation {
  readonly parent: string | null;
  readonly child: string;
  readonly relation: TaskRelationKind;
}

/**
 * The workflow of a task: every task that is reachable from it over relations in either direction. Relations
 * that follow from `parentId`, `groupId` and `chordId` of the tasks need not be repeated.
 */
export interface TaskTree {
  /** Root id of the requested task; its own id if it has none. */
  readonly rootId: string;
  /** Closest relatives of the requested task first. */
  readonly tasks: readonly Task[];
  /** Relations that the fields of the tasks do not show: chain, link, link_error, map … */
  readonly relations?: readonly TaskRelation[];
  /** True when the workflow is larger than the listed part. */
  readonly truncated?: boolean;
}

/** Whether a worker is alive, judged by its heartbeats. */
export type WorkerStatus = 'online' | 'stale' | 'offline';

/** A worker process. */
export interface Worker {
  /** Node name, such as `celery@host`. */
  readonly hostname: string;
  readonly status: WorkerStatus;
  readonly lastHeartbeat?: Date | null;
  readonly pid?: number | null;
  /** Celery's pool: prefork, threads, solo, gevent, eventlet. */
  readonly pool?: string | null;
  readonly poolSize?: number | null;
  readonly concurrency?: number | null;
  /** Number of tasks that are running on it now. */
  readonly active?: number | null;
  /** Number of tasks it has run since it started. */
  readonly processed?: number | null;
  readonly registeredTasks?: readonly string[] | null;
  readonly queues?: readonly string[] | null;
  /** Name and version of the worker software, such as `py-celery 5.6.3`. */
  readonly software?: string | null;
  /** Load average over 1, 5 and 15 minutes. */
  readonly loadAverage?: readonly number[] | null;
  readonly uptimeSeconds?: number | null;
}

/** One item of the event feed. Heartbeats are not part of the feed. */
export interface TaskEvent {
  /** Opaque, unique within its source. */
  readonly id: string;
  /**
   * Celery's event type (`task-sent`, `task-received`, …, `worker-online`, `worker-offline`), or the engine's
   * own, verbatim.
   */
  readonly type: string;
  /** Task name; `null` for worker events. */
  readonly task?: string | null;
  readonly taskId?: string | null;
  readonly state?: TaskState | null;
  readonly worker?: string | null;
  readonly timestamp?: Date | null;
  /** When the source received the event. The feeds of several sources are merged by it. Default: `timestamp`. */
  readonly arrived?: Date | null;
  readonly detail?: string | null;
  /** Whether the source has removed the secrets from `detail`, as in {@link Task.redacted}. Default: false. */
  readonly redacted?: boolean;
}

/** A part of the deployment: broker, backend, scheduler, collector … */
export interface Component {
  /** Unique within its source; the API shows it as `<source>.<key>`. */
  readonly key: string;
  readonly name: string;
  readonly enabled: boolean;
  readonly status: 'up' | 'down' | 'disabled' | 'unknown';
  readonly pid?: number | null;
  /** Shown without user, password and query. */
  readonly url?: string | null;
  /** Plain data. `hints: string[]` names each setting that hides data, with the line to change. */
  readonly config?: Readonly<Record<string, unknown>> | null;
  /** Whether the source has removed the secrets from `url` and `config`, as in {@link Task.redacted}. Default false. */
  readonly redacted?: boolean;
}

/** Result of checking the broker or the backend. */
export interface HealthCheck {
  /** `null` when this part is not configured. */
  readonly ok: boolean | null;
  /** A sentence without secrets. Clients see it. */
  readonly error?: string | null;
}

/** Result of checking the workers. */
export interface WorkerHealthCheck extends HealthCheck {
  /** Hostnames of the workers that respond. */
  readonly responding: readonly string[];
  /**
   * Hostnames of known workers that do not respond, were last seen less than five minutes ago and did not report a
   * shutdown.
   */
  readonly missing: readonly string[];
}
