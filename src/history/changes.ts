/** What collectors report to a history: one message about one task, or about one worker, as plain data. */
import { isDone, type SentWith, type TaskProgress, type TaskState, type TaskTextField } from '../model.ts';

/**
 * What happened to a task.
 * - `sent`: a client put it into a queue (PENDING)
 * - `received`, `started`: by a worker
 * - `retried`: the attempt ended and another will follow (RETRY)
 * - `rejected`: dropped by the worker (REJECTED); `requeued`: rejected, but put back (PENDING)
 * - `custom`: any other state, given in `state`
 */
export type TaskChangeType =
  | 'sent'
  | 'received'
  | 'started'
  | 'succeeded'
  | 'failed'
  | 'retried'
  | 'revoked'
  | 'rejected'
  | 'requeued'
  | 'custom';

/**
 * One message about one task. Messages may arrive late, out of order and twice without changing the result.
 * A field that is `undefined` was not reported; `null` means that there is none.
 */
export interface TaskChange extends SentWith {
  readonly id: string;
  readonly type: TaskChangeType;
  /** For `custom`: the state, verbatim. */
  readonly state?: TaskState;
  /** The type of the feed item. Default `task-<type>`; for `custom`, `state-changed`. */
  readonly eventType?: string;
  /** By the sender's clock, milliseconds since 1970 (fractions allowed). `null`: not reported. */
  readonly time: number | null;
  /**
   * Who reports the change. `event`: the client or worker itself. `result`: the result backend, which repeats
   * the changes, without a time unless the task has ended.
   */
  readonly origin: 'event' | 'result';
  /** Read from storage, not received when it happened: no sign of life of its worker, and no feed item. */
  readonly stored?: boolean;
  /** With `stored`: read from a log of everything that happens, so that it counts as if it had just been received. */
  readonly isLogged?: boolean;
  /** Without `time`: the latest time at which it can have happened, milliseconds since 1970. Default: now. */
  readonly heardAt?: number | null;
  /** Hostname of the worker; `null` or absent for clients. */
  readonly worker?: string | null;
  /** For `sent`: the name of the process that sent the task, such as `gen12@web-1`. */
  readonly sender?: string;
  /** Number of this attempt, 0 for the first. */
  readonly retries?: number | null;
  /**
   * For `revoked` with origin `result`: written by the command that revokes, not by a worker that dropped or
   * ended the task. A task that has started counts as running until its worker reports otherwise.
   */
  readonly tentative?: boolean;
  /** For `failed`: the task never ran. The failure is that of another task, on which it depended. */
  readonly isConsequence?: boolean;

  readonly name?: string | null;
  readonly queue?: string | null;
  readonly args?: string | null;
  readonly kwargs?: string | null;
  readonly result?: string | null;
  readonly exception?: string | null;
  readonly traceback?: string | null;
  /** Seconds. */
  readonly runtime?: number | null;
  /** Milliseconds since 1970. */
  readonly eta?: number | null;
  readonly expires?: number | null;
  readonly parentId?: string | null;
  readonly rootId?: string | null;
  readonly groupId?: string | null;
  readonly chordId?: string | null;
  /** The task queue reports that the task is one of these. */
  readonly kind?: 'map' | 'starmap' | 'chunks' | null;
  /** Celery's stamps. */
  readonly stamps?: unknown;
  /** Text fields of this message that its sender cut. */
  readonly truncated?: readonly TaskTextField[];
  /** How far the task has come. */
  readonly progress?: TaskProgress | null;
  /** For the feed and the timeline. Default: the exception, if there is one. */
  readonly detail?: string | null;
}

/** What the header of a task's message reports: everything but changes of its state. */
export type TaskFacts = Pick<
  TaskChange,
  | 'id'
  | 'name'
  | 'queue'
  | 'args'
  | 'kwargs'
  | 'retries'
  | 'eta'
  | 'expires'
  | 'parentId'
  | 'rootId'
  | 'groupId'
  | 'chordId'
  | 'kind'
  | 'stamps'
  | 'truncated'
  | keyof SentWith
>;

/** Whether a task in this state may have ended without a message that reports it. */
export function mayEndUnseen(state: TaskState): boolean {
  return isTaken(state) || state === 'RETRY';
}

/** Whether a worker has taken a task in this state and has not reported its end. */
export function isTaken(state: TaskState): boolean {
  return !isDone(state) && state !== 'PENDING' && state !== 'RETRY';
}

/** A message of a worker about itself. A message about a task is also a sign of life of its worker. */
export interface WorkerChange {
  readonly hostname: string;
  /** `reply`: an answer to a control command; a sign of life, but no heartbeat. */
  readonly type: 'online' | 'heartbeat' | 'offline' | 'reply';
  /** By the sender's clock, milliseconds since 1970; for a reply by this process's clock. */
  readonly time: number;
  /** Seconds between heartbeats. */
  readonly interval?: number | null;
  readonly pid?: number | null;
  readonly active?: number | null;
  readonly processed?: number | null;
  readonly loadAverage?: readonly number[] | null;
  readonly software?: string | null;
  readonly pool?: string | null;
  readonly poolSize?: number | null;
  readonly concurrency?: number | null;
  readonly registeredTasks?: readonly string[] | null;
  readonly queues?: readonly string[] | null;
  readonly uptimeSeconds?: number | null;
  /** Rate limits, such as `10/m`, by the name of the task. */
  readonly rateLimits?: Readonly<Record<string, string>> | null;
}

/** An event about a task, and what events have reported about the task so far. */
export interface HeardEvent {
  readonly change: TaskChange;
  readonly name: string | null;
  /** Where the task was sent to; `null`: no event has reported that it was sent. */
  readonly queue: string | null;
  /** When the task was last sent, milliseconds since 1970; `null`: no event has reported that. */
  readonly sentAt: number | null;
  /** Milliseconds since 1970. */
  readonly eta: number | null;
}

/** Must not throw. */
export type EventListener = (event: HeardEvent) => void;

/** A worker that sends messages. */
export interface HeardWorker {
  readonly hostname: string;
  /** For how long it has been silent, in milliseconds, without the time in which nothing could be received. */
  readonly silentMs: number;
  readonly saidGoodbye: boolean;
  /** Tasks that it runs, according to its last heartbeat; `null`: not reported. */
  readonly active: number | null;
  /** Queues that it consumes from; `null`: not reported. */
  readonly queues: readonly string[] | null;
  /** Processes or threads of its pool; `null`: not reported. */
  readonly poolSize: number | null;
}

/** Longest id that a client can request, in characters. Ids in messages can have any length. */
const MAX_LENGTH = 512;

/** Whether a value can be the id of a task or the hostname of a worker. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_LENGTH;
}
