/**
 * The history: folds what task queues tell (events, results) into tasks, workers and a feed, and
 * answers every read from it. This file is its interface; one in memory stands beside it.
 */
import type { TaskDetail, TaskRelation, TaskState, TaskTextField, TaskTree, Worker } from '../model.ts';
import type {
  Awaitable,
  HistoryStats,
  ReadContext,
  TaskEventPage,
  TaskEventQuery,
  TaskPage,
  TaskQuery,
  TaskStats,
  TaskStatsQuery,
} from '../source.ts';

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
 * One message about one task. Messages may come late, out of order and twice: the result does not
 * depend on it. A field that is `undefined` says nothing; `null` says "there is none".
 */
export interface TaskChange {
  readonly id: string;
  readonly type: TaskChangeType;
  /** For `custom`: the state, verbatim. */
  readonly state?: TaskState;
  /** What the feed calls it. Default `task-<type>`. */
  readonly eventType?: string;
  /** By the sender's clock, milliseconds since 1970 (fractions allowed). `null`: the sender did not say. */
  readonly time: number | null;
  /**
   * Who says so. `event`: the client or worker itself. `result`: the result backend, which tells the
   * same changes a second time, without a time unless the task has ended.
   */
  readonly origin: 'event' | 'result';
  /**
   * It was read where it is kept, not heard when it happened: no sign of life of its worker, and
   * nothing for the feed.
   */
  readonly stored?: boolean;
  /** Without `time`: when it happened at the latest, as far as is known. Default: now. */
  readonly heardAt?: number | null;
  /** Hostname of the worker; `null` or absent for clients. */
  readonly worker?: string | null;
  /** Number of this attempt, 0 for the first. */
  readonly retries?: number | null;
  /**
   * For `revoked` by `result`: written by the command that revokes, not by a worker that dropped or
   * ended the task, so a run that has started goes on until it says otherwise.
   */
  readonly tentative?: boolean;

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
  /** The engine says that this task is one of these. */
  readonly kind?: 'map' | 'starmap' | 'chunks' | null;
  /** Celery's stamps. */
  readonly stamps?: unknown;
  /** Text fields of this message that its sender has cut. */
  readonly truncated?: readonly TaskTextField[];
  /** For the feed and the timeline. Default: the exception, if there is one. */
  readonly detail?: string | null;
}

/** What is known of a task beside the changes in its life, as the header of its message tells it. */
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
>;

/** A task that has not ended. */
export interface OpenTask {
  readonly id: string;
  readonly state: TaskState;
  readonly worker: string | null;
  /** When it was last heard of, by our clock, milliseconds since 1970. */
  readonly heardAt: number;
}

/** What a worker says of itself. Any message about a task counts as a sign of life of its worker, too. */
export interface WorkerChange {
  readonly hostname: string;
  /** `reply`: it answered a question; a sign of life like a heartbeat, yet none. */
  readonly type: 'online' | 'heartbeat' | 'offline' | 'reply';
  /** By the sender's clock, milliseconds since 1970; of a reply by ours. */
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
}

/** Bounds of what a history holds; whichever is reached first drops the oldest tasks. */
export interface RetentionOptions {
  /** Most tasks held. 1 to 10,000,000. Default 100,000. */
  readonly maxTasks?: number;
  /**
   * Longest time since a task's last change came in, in milliseconds, by this process's clock. A task that is
   * read where it is kept, and is older than that, is not taken in. Default 7 days.
   */
  readonly maxAgeMs?: number;
  /** Most memory of the tasks and their values, estimated, in bytes. At least 1 MiB. Default 256 MiB. */
  readonly maxBytes?: number;
  /** Values longer than 1 KiB live in a store of their own; its most bytes. Default a quarter of `maxBytes`. */
  readonly maxValueBytes?: number;
  /** Longest single value kept, in characters. Default 65,536. */
  readonly maxValueLength?: number;
  /** Most items of the feed. Default 10,000. */
  readonly maxEvents?: number;
  /** Most workers. Default 5,000. */
  readonly maxWorkers?: number;
  /** How long an offline worker stays listed, in milliseconds. Default 24 hours. */
  readonly workerExpiryMs?: number;
}

/** Reads that change apart from each other. */
export type HistoryPart = 'tasks' | 'workers' | 'events';

/** A history. One on Redis, for many instances, may answer its reads asynchronously. */
export interface TaskHistory {
  /** Takes in one message about a task. Never throws; unreadable parts are left out. */
  recordTask(change: TaskChange): void;
  /**
   * Takes in what is known of a task without anything having happened to it. A weaker word than any
   * message about the task itself; of one that is not known nothing is kept. It says that the task is
   * somewhere, and that it was looked at: of the open ones it becomes the last.
   *
   * @returns whether the task is known
   */
  recordFacts(facts: TaskFacts): boolean;
  /**
   * Takes in how two tasks belong together, whether they are known yet or not; each relation is kept
   * once. `group`: `parent` is the id of the group, which becomes the `groupId` of the child; `chord`:
   * `parent` is a header task, whose `chordId` becomes the child.
   */
  recordRelation(relation: TaskRelation): void;
  /** Whether a task that was sent is in no queue and on no worker; any later message of it says that it is not so. */
  recordMissing(id: string, missing: boolean): void;
  /** Tasks that have not ended, the one not heard of for longest first; any word of a task counts. */
  listOpen(limit: number): OpenTask[];
  /** The state of a task, `null` when it is not known; cheaper than reading it. */
  stateOf(id: string): TaskState | null;
  /** Whether a task whose last change was at that moment (milliseconds) would be kept, by the retention. */
  wouldKeep(time: number): boolean;
  /** Takes in one message of a worker. */
  recordWorker(change: WorkerChange): void;
  /** Counts messages that could not be read. */
  recordDropped(count: number): void;
  /** Something may have been missed between the last message and now; the feed then says `gap`. */
  recordGap(): void;
  /**
   * While the source is cut off, the clock of the workers' statuses and of the flags stands still at
   * the moment given; `null` lets it go on, and the time in between counts as silence of no worker.
   */
  freezeAt(moment: Date | null): void;

  listTasks(query: TaskQuery, context: ReadContext): Awaitable<TaskPage>;
  getTask(id: string, context: ReadContext): Awaitable<TaskDetail | null>;
  getTaskTree(id: string, context: ReadContext): Awaitable<TaskTree | null>;
  getTaskStats(query: TaskStatsQuery, context: ReadContext): Awaitable<TaskStats>;
  listWorkers(context: ReadContext): Awaitable<readonly Worker[]>;
  listEvents(query: TaskEventQuery, context: ReadContext): Awaitable<TaskEventPage>;
  getStats(): Awaitable<HistoryStats>;
  /** Hostnames that are online now, and those silent without a goodbye for less than five minutes. */
  checkWorkers(): { responding: string[]; missing: string[] };
  /** Changes whenever an answer of that part could have changed other than by the clock. */
  revision(part: HistoryPart): number;
  /** The next moment at which the clock alone changes an answer of that part; `null`: never. */
  changesAt(part: HistoryPart): Date | null;
  /** Frees what is held. Later messages are ignored, later reads find nothing. */
  close(): void;
}
