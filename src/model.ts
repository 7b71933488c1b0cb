/**
 * The domain as sources speak of it: camelCase names, `Date` for moments, Celery's words.
 * `null` (or leaving a field out) means "cannot tell", an empty array means "none".
 */

/** States that Celery itself knows, and `REJECTED`: dropped by the worker and not requeued. */
export const TASK_STATES = [
  'PENDING',
  'RECEIVED',
  'STARTED',
  'RETRY',
  'SUCCESS',
  'FAILURE',
  'REVOKED',
  'REJECTED',
] as const;

/** One of {@link TASK_STATES}, or any state that a worker invents (`PROGRESS`), verbatim. */
export type TaskState = (typeof TASK_STATES)[number] | (string & {});

const DONE: ReadonlySet<string> = new Set(['SUCCESS', 'FAILURE', 'REVOKED', 'REJECTED']);

/** Whether a task in this state has ended: SUCCESS, FAILURE, REVOKED or REJECTED. */
export function isDone(state: TaskState): boolean {
  return DONE.has(state);
}

/**
 * What is wrong with a task beyond its state, set only when known.
 * - `worker_lost`: received or started on a worker whose heartbeat stopped
 * - `overdue`: its eta has passed and it has not started
 * - `never_received`: sent, yet in no queue and on no worker
 */
export type TaskFlag = 'worker_lost' | 'overdue' | 'never_received';

/** Text fields of a task that may be cut. */
export type TaskTextField = 'args' | 'kwargs' | 'result' | 'exception' | 'traceback';

/** A task, or a job: one unit of work that a worker runs. Only `id` and `state` are required. */
export interface Task {
  /** Opaque; any non-empty string of at most 512 characters. */
  readonly id: string;
  readonly state: TaskState;
  readonly name?: string | null;
  /** Hostname of the worker that has or had it, as `celery@host`. */
  readonly worker?: string | null;
  readonly queue?: string | null;
  readonly sent?: Date | null;
  /** When the worker of the last run took it. */
  readonly received?: Date | null;
  /** When the last run started. */
  readonly started?: Date | null;
  /** When it ended; `null` while it has not. */
  readonly finished?: Date | null;
  /** Last change by the sender's clock; what the list is sorted by. `null`: known only from its queue. */
  readonly timestamp?: Date | null;
  /** Seconds, the engine's own figure. */
  readonly runtime?: number | null;
  /** As the engine shows it (Celery: a Python repr). A value that is no string is shown as JSON. */
  readonly args?: unknown;
  readonly kwargs?: unknown;
  readonly result?: unknown;
  readonly exception?: unknown;
  readonly traceback?: unknown;
  readonly retries?: number | null;
  readonly eta?: Date | null;
  readonly expires?: Date | null;
  /** Its own id counts as none. */
  readonly parentId?: string | null;
  readonly rootId?: string | null;
  readonly groupId?: string | null;
  /** Task id of the chord's body that waits for this task. */
  readonly chordId?: string | null;
  readonly flags?: readonly TaskFlag[];
  /** Fields that the engine or the source is known to have cut. */
  readonly truncated?: readonly TaskTextField[];
  /** For workflow graphs: `map`, `starmap` or `chunks` where the engine says that it is one. */
  readonly kind?: 'map' | 'starmap' | 'chunks' | null;
  /** For workflow graphs: Celery's stamps. */
  readonly stamps?: unknown;
}

/** One change in the life of a task. */
export interface TaskChangeEntry {
  readonly state: TaskState;
  readonly timestamp: Date | null;
  readonly worker: string | null;
  /** What is worth saying of it, such as the exception of a retry. */
  readonly detail: string | null;
}

/** A task with what only its own page shows. */
export interface TaskDetail extends Task {
  /** Ids of the tasks that it sent. */
  readonly children?: readonly string[];
  /** Every change seen, oldest first. */
  readonly timeline?: readonly TaskChangeEntry[];
}

/** How two tasks belong together: Celery's words, or verbatim what the engine calls it. */
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
  | (string & {});

/** One relation: `parent` is a task id, or the group's id for `group`, or `null` where it is not known. */
export interface TaskRelation {
  readonly parent: string | null;
  readonly child: string;
  readonly relation: TaskRelationKind;
}

/**
 * The workflow of a task: every task reachable from it over any relation in either direction.
 * Relations that follow from the tasks' own `parentId`, `groupId` and `chordId` need not be repeated.
 */
export interface TaskTree {
  /** The asked task's own root id, or its id. */
  readonly rootId: string;
  /** Nearest relatives of the asked task first. */
  readonly tasks: readonly Task[];
  /** What the tasks' own fields do not tell: chain, link, link_error, map … */
  readonly relations?: readonly TaskRelation[];
  /** True when the workflow is larger than what is listed. */
  readonly truncated?: boolean;
}

/** Whether a worker is there. */
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
  /** Tasks that it runs now. */
  readonly active?: number | null;
  /** Tasks that it has run since it started. */
  readonly processed?: number | null;
  readonly registeredTasks?: readonly string[] | null;
  readonly queues?: readonly string[] | null;
  /** Name and version, such as `py-celery 5.6.3`. */
  readonly software?: string | null;
  /** Load over 1, 5 and 15 minutes. */
  readonly loadAverage?: readonly number[] | null;
  readonly uptimeSeconds?: number | null;
}

/** One item of the activity feed. Heartbeats are none. */
export interface TaskEvent {
  /** Opaque, unique within its source. */
  readonly id: string;
  /** Celery's: `task-sent`, `task-received`, …, `worker-online`, `worker-offline`, or verbatim. */
  readonly type: string;
  /** Name of the task; `null` for worker items. */
  readonly task?: string | null;
  readonly taskId?: string | null;
  readonly state?: TaskState | null;
  readonly worker?: string | null;
  readonly timestamp?: Date | null;
  /** When the source heard of it; what the feeds of several sources are merged by. Default: `timestamp`. */
  readonly arrived?: Date | null;
  readonly detail?: string | null;
}

/** One entry of a periodic schedule. */
export interface Schedule {
  readonly id: string;
  readonly app?: string | null;
  readonly name: string;
  readonly task?: string | null;
  /** Text that a person reads: `every 30 s`, `0 7 * * 1 (m/h/dM/MY/d)`. */
  readonly schedule?: string | null;
  readonly enabled?: boolean | null;
  readonly args?: unknown;
  readonly kwargs?: unknown;
  readonly queue?: string | null;
  /** IANA name of the zone that the schedule is read in. */
  readonly timezone?: string | null;
  readonly lastRunAt?: Date | null;
  readonly nextRunAt?: Date | null;
  readonly totalRunCount?: number | null;
}

/** One queue, as a `QueueSource` lists it. */
export interface Queue {
  readonly name: string;
  /** Messages that wait to be taken; `null` when that cannot be told. */
  readonly waiting: number | null;
  /** Messages that workers have taken and not acknowledged. Default `null`: unknown. */
  readonly reserved?: number | null;
  /** Workers that read it; `null` when that cannot be told. */
  readonly consumers: number | null;
  /** Since when the oldest message that is due has waited; `null` when none is due or that is unknown. */
  readonly oldestDueAt: Date | null;
  /** When these figures were read; `null` when they never were. */
  readonly asOf: Date | null;
}

/** Waiting work of one queue, inside a component. To be replaced by {@link Queue}. */
export interface QueueDepth {
  readonly name: string;
  readonly waiting: number | null;
  readonly reserved: number | null;
  readonly consumers: number | null;
}

/** A part of the deployment: broker, backend, scheduler, collector … */
export interface Component {
  /** Unique within its source; answered as `<source>.<key>`. */
  readonly key: string;
  readonly name: string;
  readonly enabled: boolean;
  readonly status: 'up' | 'down' | 'disabled' | 'unknown';
  readonly pid?: number | null;
  /** Shown without user, password and query. */
  readonly url?: string | null;
  /** Plain data; `hints: string[]` says which setting hides data, with the line to change. */
  readonly config?: Readonly<Record<string, unknown>> | null;
  readonly queues?: readonly QueueDepth[];
}

/** What a check of the broker or backend found. */
export interface HealthCheck {
  /** `null` where that part is not configured. */
  readonly ok: boolean | null;
  /** A sentence without secrets; it is sent to clients. */
  readonly error?: string | null;
}

/** What a check of the workers found. */
export interface WorkerHealthCheck extends HealthCheck {
  /** Hostnames that answer. */
  readonly responding: readonly string[];
  /** Hostnames that are known, silent, and said no goodbye, for less than five minutes. */
  readonly missing: readonly string[];
}
