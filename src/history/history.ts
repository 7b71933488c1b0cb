/**
 * The history merges what a task queue reports (events, results, messages in queues) into tasks, workers and
 * a feed, and answers every read from them. These are its interfaces; `memory-history.ts` implements them.
 */
import type { TaskDetail, TaskRelation, TaskState, TaskTree, Worker } from '../model.ts';
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
import type { EventListener, HeardWorker, TaskChange, TaskFacts, WorkerChange } from './changes.ts';

export type {
  HeardEvent,
  HeardWorker,
  TaskChange,
  TaskChangeType,
  TaskFacts,
  WorkerChange,
} from './changes.ts';

/** A task that has not ended. */
export interface OpenTask {
  readonly id: string;
  readonly state: TaskState;
  readonly worker: string | null;
  /** When it last changed, by the sender's clock, milliseconds since 1970; `null`: unknown. */
  readonly timestamp: number | null;
  /** When any message last mentioned it, by this process's clock, milliseconds since 1970. */
  readonly heardAt: number;
  /** When it expires, milliseconds since 1970; `null`: never, or unknown. */
  readonly expires: number | null;
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
 * Records what collectors find out. Nothing here throws or waits: unreadable parts of a message are left out, and calls
 * after `close()` are ignored.
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
   * Records whether a task that a worker had taken, or that waits for a retry, no longer runs although its end was
   * not seen. Ignored for a task that no worker took or that has ended. Any later message about the task clears this,
   * except one that was stored before.
   */
  recordEndUnseen(id: string, unseen: boolean): void;
  /** Records one message of a worker. */
  recordWorker(change: WorkerChange): void;
  /**
   * Records how many messages wait in a queue, each time it is read.
   *
   * @param oldestDueAt when the oldest due message started to wait, milliseconds since 1970; `null`: none is due, or
   *   the time is unknown
   * @param isAtLeast whether it may have waited for longer. Default: false
   */
  recordQueue(queue: string, waiting: number, oldestDueAt: number | null, isAtLeast?: boolean): void;
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

/** Synchronous look-ups with which collectors decide what to read next. Answers use the reader. */
export interface HistoryIndex {
  /** The state of a task; `null` when it is unknown. Cheaper than reading the task. */
  stateOf(id: string): TaskState | null;
  /** Whether a worker has reported this task, but its name is unknown. */
  lacksName(id: string): boolean;
  /** The number of a task's current attempt, 0 for the first; `null` when it is unknown. */
  retriesOf(id: string): number | null;
  /**
   * When a task that waits was sent, milliseconds since 1970; `null`: it does not wait, or the time was not reported.
   */
  sentAt(id: string): number | null;
  /**
   * Tasks that have not ended, sorted by the time of their last message of any kind, oldest first. Those that no longer
   * run ({@link HistoryWriter.recordEndUnseen}) are left out.
   */
  listOpen(limit: number): OpenTask[];
  /** A task that {@link listOpen} lists; `null` for any other. */
  openTask(id: string): OpenTask | null;
  /** Whether the worker of an open task is gone, or its process is another one than that which took the task. */
  isLost(task: OpenTask): boolean;
  /** Whether a task that last changed at that time (milliseconds since 1970) would be kept. */
  wouldKeep(time: number): boolean;
  checkWorkers(): WorkerCheck;
  /** Workers that send messages and have not been silent for too long to be listed. */
  heardWorkers(): HeardWorker[];
}

/**
 * Everything that answers read. A history over a store may have to wait for the store, and stops waiting
 * when the `signal` of the context aborts; one in memory answers at once.
 */
export interface HistoryReader {
  /**
   * Identifies this history in cursors, at most 32 characters. Histories that always list the same rows in the
   * same order share it; one that was created anew has another.
   */
  readonly instance: string;
  listTasks(query: TaskQuery, context: ReadContext): Awaitable<TaskPage>;
  getTask(id: string, context: ReadContext): Awaitable<TaskDetail | null>;
  getTaskTree(id: string, context: ReadContext): Awaitable<TaskTree | null>;
  getTaskStats(query: TaskStatsQuery, context: ReadContext): Awaitable<TaskStats>;
  listWorkers(context: ReadContext): Awaitable<readonly Worker[]>;
  listEvents(query: TaskEventQuery, context: ReadContext): Awaitable<TaskEventPage>;
  getStats(context: ReadContext): Awaitable<HistoryStats>;
  /** The data for the rules that find problems: the counts by minute, and the tasks that have not ended. */
  getActivity(context: ReadContext): Awaitable<Activity>;
  checkWorkers(context: ReadContext): Awaitable<WorkerCheck>;
  /** Which of these tasks the history knows. */
  listKnown(ids: Iterable<string>, context: ReadContext): Awaitable<ReadonlySet<string>>;
  /** Called for every request, so it never waits. */
  freshness(part: HistoryPart): Freshness;
  /** Whether the history was closed. It is then empty, which does not mean that there are no tasks. */
  isClosed(): boolean;
}

/** A history: collectors get its writer and index, answers get its reader. */
export interface History {
  readonly writer: HistoryWriter;
  readonly index: HistoryIndex;
  readonly reader: HistoryReader;
  /** Calls a listener for each event about a task that is recorded from now on. @returns ends the calls */
  onEvent(listener: EventListener): () => void;
  /** Frees the memory. Later messages are ignored, later reads find nothing. */
  close(): void;
}

/** What a collector that both records and looks up gets of a history. */
export type CollectedHistory = Pick<History, 'writer' | 'index'>;
