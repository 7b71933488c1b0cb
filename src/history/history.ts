/**
 * The history merges what a task queue reports (events, results, messages in queues) into tasks, workers and
 * a feed, and answers every read from them. These are its interfaces; `memory-history.ts` implements them.
 */
import {
  isDone,
  type TaskDetail,
  type TaskRelation,
  type TaskState,
  type TaskTextField,
  type TaskTree,
  type Worker,
} from '../model.ts';
import type {
  Activity,
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
 * One message about one task. Messages may arrive late, out of order and twice without changing the result.
 * A field that is `undefined` was not reported; `null` means that there is none.
 */
export interface TaskChange {
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
  /** Without `time`: the latest time at which it can have happened, milliseconds since 1970. Default: now. */
  readonly heardAt?: number | null;
  /** Hostname of the worker; `null` or absent for clients. */
  readonly worker?: string | null;
  /** Number of this attempt, 0 for the first. */
  readonly retries?: number | null;
  /**
   * For `revoked` with origin `result`: written by the command that revokes, not by a worker that dropped or
   * ended the task. A task that has started counts as running until its worker reports otherwise.
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
  /** The task queue reports that the task is one of these. */
  readonly kind?: 'map' | 'starmap' | 'chunks' | null;
  /** Celery's stamps. */
  readonly stamps?: unknown;
  /** Text fields of this message that its sender cut. */
  readonly truncated?: readonly TaskTextField[];
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
>;

/** A task that has not ended. */
export interface OpenTask {
  readonly id: string;
  readonly state: TaskState;
  readonly worker: string | null;
  /** When it last changed, by the sender's clock, milliseconds since 1970; `null`: unknown. */
  readonly timestamp: number | null;
  /** When any message last mentioned it, by this process's clock, milliseconds since 1970. */
  readonly heardAt: number;
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
}

/** Parts of a history whose answers change independently of each other. */
export type HistoryPart = 'tasks' | 'workers' | 'events';

/** Hostnames of workers, by whether they are heard. */
export interface WorkerCheck {
  /** Online now. */
  readonly responding: readonly string[];
  /** Silent without a goodbye for less than five minutes. */
  readonly missing: readonly string[];
}

/** When the answers of one part change. */
export interface Freshness {
  /** Differs from before whenever an answer could have changed other than by the passage of time. */
  readonly revision: number;
  /** The next moment at which time alone changes an answer; `null`: never. */
  readonly changesAt: Date | null;
}

/**
 * Takes in what collectors find out. Nothing here throws or waits: unreadable parts of a message are left
 * out, and whatever comes after `close()` is ignored.
 */
export interface HistoryWriter {
  /** Records one message about a task. */
  recordTask(change: TaskChange): void;
  /**
   * Records facts about a task to which nothing has happened. Any message about the task itself outranks
   * them. Facts of an unknown task are dropped. A task with facts exists, so it no longer counts as
   * missing, and it moves to the end of {@link HistoryIndex.listOpen}.
   */
  recordFacts(facts: TaskFacts): void;
  /**
   * Records how two tasks are related, whether they are known yet or not; each relation is kept once.
   * `group`: `parent` is the id of the group, which becomes the `groupId` of the child; `chord`: `parent`
   * is a header task, and `child` becomes its `chordId`.
   */
  recordRelation(relation: TaskRelation): void;
  /** Records whether a sent task is in no queue and on no worker. Any later message about it clears this. */
  recordMissing(id: string, missing: boolean): void;
  /**
   * Records whether a task that a worker had taken no longer runs, although its end was not seen. Ignored for a task
   * that no worker took or that has ended. Any later message about the task clears this, but not one that was stored
   * before.
   */
  recordEndUnseen(id: string, unseen: boolean): void;
  /** Records one message of a worker. */
  recordWorker(change: WorkerChange): void;
  /** Counts messages that could not be read. */
  recordDropped(count: number): void;
  /** Records that messages may have been missed until now; the feed then reports `gap`. */
  recordGap(): void;
  /**
   * Stops the clock of worker statuses and task flags at a moment, while the source is disconnected.
   * `null` restarts it; no worker counts as silent for the time in between.
   */
  freezeAt(moment: Date | null): void;
}

/** Synchronous look-ups for collectors, which decide by them what to read next. Answers use the reader. */
export interface HistoryIndex {
  /** The state of a task; `null` when it is unknown. Cheaper than reading the task. */
  stateOf(id: string): TaskState | null;
  /** The number of a task's current attempt, 0 for the first; `null` when it is unknown. */
  retriesOf(id: string): number | null;
  /**
   * Tasks that have not ended, longest unheard of first; a message of any kind counts. Those that no longer run
   * ({@link HistoryWriter.recordEndUnseen}) are left out.
   */
  listOpen(limit: number): OpenTask[];
  /** A task that {@link listOpen} lists; `null` for any other. */
  openTask(id: string): OpenTask | null;
  /** Whether a task that last changed at that time (milliseconds since 1970) would be kept. */
  wouldKeep(time: number): boolean;
  checkWorkers(): WorkerCheck;
}

/**
 * Everything that answers read. A history over a store may have to wait for the store, and stops waiting
 * when the `signal` of the context aborts; one in memory answers at once.
 */
export interface HistoryReader {
  listTasks(query: TaskQuery, context: ReadContext): Awaitable<TaskPage>;
  getTask(id: string, context: ReadContext): Awaitable<TaskDetail | null>;
  getTaskTree(id: string, context: ReadContext): Awaitable<TaskTree | null>;
  getTaskStats(query: TaskStatsQuery, context: ReadContext): Awaitable<TaskStats>;
  listWorkers(context: ReadContext): Awaitable<readonly Worker[]>;
  listEvents(query: TaskEventQuery, context: ReadContext): Awaitable<TaskEventPage>;
  getStats(context: ReadContext): Awaitable<HistoryStats>;
  /** What the rules that find problems judge: the counts by minute, and the tasks that have not ended. */
  getActivity(context: ReadContext): Awaitable<Activity>;
  checkWorkers(context: ReadContext): Awaitable<WorkerCheck>;
  /** Which of these tasks the history knows. */
  listKnown(ids: Iterable<string>, context: ReadContext): Awaitable<ReadonlySet<string>>;
  /** Asked for with every request, so it never waits. */
  freshness(part: HistoryPart): Freshness;
  /** Whether the history was closed. It holds nothing then, which does not mean that there are no tasks. */
  isClosed(): boolean;
}

/** A history: collectors get its writer and index, answers get its reader. */
export interface History {
  readonly writer: HistoryWriter;
  readonly index: HistoryIndex;
  readonly reader: HistoryReader;
  /** Frees what is held. Later messages are ignored, later reads find nothing. */
  close(): void;
}

/** What a collector that both records and looks up gets of a history. */
export type CollectedHistory = Pick<History, 'writer' | 'index'>;
