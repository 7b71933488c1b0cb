/**
 * The domain model that sources use: camelCase names, `Date` for times, Celery's terms. `null` or a missing
 * field means "unknown", an empty array means "none".
 */
import type { TaskProgress } from './model/task-progress.ts';

export {
  LONGEST_PROGRESS,
  percentOf,
  progressOf,
  shareOf,
  type TaskProgress,
} from './model/task-progress.ts';

/**
 * Celery's own states and `REJECTED`, which means that the worker dropped the task and did not requeue it.
 */
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

/** One of {@link TASK_STATES}, or a custom state that a worker sets (`PROGRESS`), verbatim. */
export type TaskState = (typeof TASK_STATES)[number] | (string & {});

const DONE: ReadonlySet<string> = new Set(['SUCCESS', 'FAILURE', 'REVOKED', 'REJECTED']);

/** Whether a task in this state has ended: SUCCESS, FAILURE, REVOKED or REJECTED. */
export function isDone(state: TaskState): boolean {
  return DONE.has(state);
}

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

/** What a task was sent with and only its own page shows. */
export interface SentWith {
  /**
   * Id of the OpenTelemetry trace in which it was sent: 32 lowercase hexadecimal digits. `null`: unknown. Default:
   * `null`.
   */
  readonly traceId?: string | null;
  /** `null`: it has none of its own, or they are unknown. Default: `null`. */
  readonly timeLimits?: TimeLimits | null;
}

/** A task with the fields that only its own page shows. */
export interface TaskDetail extends Task, SentWith {
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
  /** Number of waiting tasks that its queue hands out before it. Default: unknown. */
  readonly ahead?: number | null;
  /** The tasks that have to end before it can start. Default: it waits for none, or they are unknown. */
  readonly waitsFor?: AwaitedTasks | null;
}

/** Tasks for which another one waits: the children of a flow, or the header of a chord. */
export interface AwaitedTasks {
  readonly relation: 'children' | 'chord';
  readonly done: number;
  readonly total: number;
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
  /** Rate limits of tasks on this worker as it reports them, such as `10/m`, by name. Default: unknown. */
  readonly rateLimits?: Readonly<Record<string, string>> | null;
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

/** One queue, as listed by a `QueueSource`. */
export interface Queue {
  readonly name: string;
  /** Messages that no worker has taken yet; `null` when unknown. */
  readonly waiting: number | null;
  /** Messages that workers have taken but not acknowledged. Default `null`: unknown. */
  readonly reserved?: number | null;
  /** Number of workers that consume from the queue; `null` when unknown. */
  readonly consumers: number | null;
  /** When the oldest due message started to wait; `null` when no message is due or the time is unknown. */
  readonly oldestDueAt: Date | null;
  /**
   * Number of tasks in each of the engine's own states, those of `Task.engineState`. Default `null`: the engine has
   * no such states, or they are unknown.
   */
  readonly engineStates?: Readonly<Record<string, number>> | null;
  /** Whether the engine hands out nothing from this queue because somebody paused it. Default `null`: unknown. */
  readonly isPaused?: boolean | null;
  /** Most tasks of the queue that may run at a time, however many workers there are. Default: no limit, or unknown. */
  readonly concurrencyLimit?: number | null;
  /** The rate limit of the queue that counts now. Default: none, or unknown. */
  readonly limiter?: QueueLimiter | null;
  /** When these figures were read; `null` when they never were. */
  readonly asOf: Date | null;
}

/** How many tasks a queue with a rate limit has handed out in the current period. */
export interface QueueLimiter {
  readonly taken: number;
  /** Most tasks of a period; `null`: unknown. */
  readonly most: number | null;
  /** When the period ends; `null`: unknown. */
  readonly until: Date | null;
}

/** A task that an entry of a schedule caused. */
export interface ScheduleRun {
  readonly taskId: string;
  /** `null`: nothing is known of the task any more. */
  readonly state: TaskState | null;
  /** When the entry ran: when the task was sent, or was to start. */
  readonly at: Date;
  /** Run time of the task in seconds. */
  readonly runtime?: number | null;
}

/** One entry of a periodic schedule. */
export interface Schedule {
  readonly id: string;
  readonly app?: string | null;
  readonly name: string;
  readonly task?: string | null;
  /** The schedule as readable text: `every 30 s`, `0 7 * * 1 (m/h/dM/MY/d)`. */
  readonly schedule?: string | null;
  readonly enabled?: boolean | null;
  readonly args?: unknown;
  readonly kwargs?: unknown;
  readonly queue?: string | null;
  /** IANA name of the time zone in which the schedule is evaluated. */
  readonly timezone?: string | null;
  readonly lastRunAt?: Date | null;
  readonly nextRunAt?: Date | null;
  readonly totalRunCount?: number | null;
  /** What it ran lately, newest first: up to 20 are shown. Runs may be missing where nothing tells that it ran. */
  readonly lastRuns?: readonly ScheduleRun[] | null;
  /** Whether the source has removed the secrets from its texts, as `redacted` of a task. Default: false. */
  readonly redacted?: boolean;
}

/** Why a task failed, as far as other failures share it. Only text without secrets is in it. */
export interface TaskCause {
  /** Short and stable: the same for equal causes in every process, and after a restart. */
  readonly id: string;
  /** Name of the exception's class, without its module; `null`: not known. */
  readonly exception: string | null;
  /** The message with placeholders for what differs between failures, such as numbers; `null`: there is none. */
  readonly message: string | null;
  /** Where it was raised, such as `charge.py in capture`; `null`: not known. */
  readonly frame: string | null;
}

/** One state change of a task. */
export interface TaskChangeEntry {
  readonly state: TaskState;
  readonly timestamp: Date | null;
  readonly worker: string | null;
  /** Further information about the change, such as the exception of a retry. */
  readonly detail: string | null;
  /** Number of the attempt to which it belongs, 0 for the first. */
  readonly retries?: number | null;
}

/** One attempt of a task. */
export interface TaskAttempt {
  /** 1 for the first. */
  readonly number: number;
  readonly started: Date | null;
  /** `null` also while it runs. */
  readonly finished: Date | null;
  /** Why it failed. */
  readonly error: string | null;
}

/** The end of what a task has logged. */
export interface TaskLog {
  /** The last lines, oldest first. At most 100 are shown, each with at most 2,000 characters. */
  readonly lines: readonly string[];
  /** How many lines there are in all. */
  readonly total: number;
}

/**
 * Known problems of a task that its state does not show.
 * - `worker_lost`: received or started on a worker whose heartbeat stopped
 * - `overdue`: its eta has passed and it has not started
 * - `never_received`: sent, but found in no queue and on no worker
 * - `end_unseen`: it no longer runs, and its end was not seen; it does not count as running
 * - `consequence`: it never ran, and failed because another task did; it does not count as a failure of its own
 * - `ran_twice`: one of its attempts ran more than once, since it was delivered again while a worker had it
 */
export type TaskFlag =
  | 'worker_lost'
  | 'overdue'
  | 'never_received'
  | 'end_unseen'
  | 'consequence'
  | 'ran_twice';

const FLAGS: readonly TaskFlag[] = [
  ...(['worker_lost', 'overdue', 'never_received', 'end_unseen', 'consequence', 'ran_twice'] as const),
];

/** The known flags of a task, each once. None where `flags` is no array, which a source in JavaScript may return. */
export function flagsOf(flags: unknown): TaskFlag[] {
  return Array.isArray(flags) && flags.length > 0 ? FLAGS.filter((flag) => flags.includes(flag)) : [];
}

/** Whether a task has this flag. */
export function hasFlag({ flags }: { readonly flags?: unknown }, flag: TaskFlag): boolean {
  return Array.isArray(flags) && flags.includes(flag);
}

/** `traceparent` of W3C Trace Context: version, trace id, span id and flags. Later versions may have more behind a hyphen. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/s;
const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/;
const NO_SPAN = '0'.repeat(16);
const LONGEST = 512;

/** Whether a value is a trace id: 32 lowercase hexadecimal digits that are not all 0. */
export function isTraceId(value: unknown): value is string {
  return typeof value === 'string' && TRACE_ID.test(value);
}

/** @returns the trace id in the value of `traceparent`; `null` if the value is not valid */
export function traceIdOf(traceparent: unknown): string | null {
  if (typeof traceparent !== 'string' || traceparent.length > LONGEST) return null;
  const match = TRACEPARENT.exec(traceparent);
  if (match === null) return null;
  const [, version, traceId, spanId, rest] = match;
  if (spanId === NO_SPAN || (version === '00' && rest !== undefined)) return null;
  return isTraceId(traceId) ? traceId : null;
}
