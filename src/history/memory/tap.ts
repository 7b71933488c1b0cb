/** The interface between a history in memory and the code that stores it. */
import type { TaskCause, TaskRelation, TaskTextField } from '../../model.ts';
import type { Steps } from '../../scheduler.ts';
import type { MinuteAggregate } from '../aggregate/minute-aggregate.ts';
import type { FeedItem, HeardItem } from '../feed/feed-ring.ts';
import type { RecordStep } from '../merge/merge.ts';
import type { TaskRecord } from '../merge/record.ts';
import type { StoredWorker } from '../workers/worker-record.ts';

export type { HeardItem } from '../feed/feed-ring.ts';

/** Is called when something changes. Calls must be cheap and must not throw. */
export interface HistoryTap {
  /** A task, or the root that follows from its parents, has changed; called once its indexes have caught up. */
  taskChanged(id: string): void;
  /** A task was told something that has changed it; {@link HistoryTap.taskChanged} follows. */
  stepTaken(id: string, step: RecordStep): void;
  /** Whether a change of a task waits to be written: it stays in memory for a while. */
  isUnwritten(id: string): boolean;
  /** A task is about to be dropped from memory because of a bound. Not called when the history is closed. */
  taskDropping(id: string): void;
  relationAdded(relation: TaskRelation): void;
  /** A message of a worker, or about one of its tasks, has arrived. */
  workerChanged(hostname: string): void;
  /**
   * @param number grows by 1 with each item
   * @param item its detail may have secrets; {@link MemoryAccess.readEvents} reads it without
   */
  eventAdded(number: number, item: FeedItem, arrivedAt: number): void;
  /** Messages may have been missed before now. */
  gapFound(): void;
}

/** A task as it is kept: without secrets. */
export interface KeptTask {
  readonly record: TaskRecord;
  /** The reported root, or the one that follows from its parents. */
  readonly rootId: string | null;
  /**
   * Texts that arrived whole and of which memory keeps only the beginning; they are in `record.truncated`, too. They
   * must not replace whole texts that are stored.
   */
  readonly shortened: readonly TaskTextField[];
  /** Why it failed, found in its whole texts. Default: derived from the record. */
  readonly cause?: TaskCause | null;
}

/** A task that is taken in. */
export type AbsorbedTask = Omit<KeptTask, 'shortened'> & Partial<KeptTask>;

/** The interface of a history in memory for the code that stores it. Nothing here calls the tap unless stated. */
export interface MemoryAccess {
  /** Identifies this process in the feed, at most 32 characters. */
  readonly instance: string;
  /** What is counted by minute, which a store keeps as rollups. */
  readonly counts: MinuteAggregate;
  /** Whether everything that happened between these times was seen here. */
  isWatched(from: number, to: number): boolean;
  /** Brings the indexes up to date, which reports the tasks that have changed. */
  catchUp(): void;
  /** `null`: the task is not in memory. Its texts are redacted. */
  readTask(id: string): KeptTask | null;
  /** Whether a task is in memory. */
  has(id: string): boolean;
  readWorker(hostname: string): StoredWorker | null;
  /**
   * @returns the items that this instance has received after a number, oldest first, `most` at most, without secrets
   */
  readEvents(after: number, most: number): readonly HeardItem[];
  /**
   * Absorbs a stored task. Not a message: it is neither counted nor listed in the feed. Its age is that of `heardAt`. The
   * tap hears of other tasks whose root follows from this one.
   *
   * @param task without secrets; without `shortened`, all texts are as they arrived
   * @param heardAt when its last message arrived
   * @param steps what this process was told of the task since. Default: a task in memory stays as it is
   * @returns `'same'`: memory now has the given task; `'merged'`: memory knew more, which must be stored, too;
   *   `'refused'`: it does not fit into memory, and counts as dropped
   */
  absorbTask(
    task: AbsorbedTask,
    heardAt: number,
    steps?: readonly RecordStep[],
  ): 'same' | 'merged' | 'refused';
  absorbRelation(relation: TaskRelation): void;
  /** The later of the known and the given data is used. */
  absorbWorker(worker: StoredWorker): void;
  /**
   * Adds items of other instances, or of earlier processes, to the feed: the first ones before those of this process,
   * all others behind the newest. Known items are left out. One call at a time.
   *
   * @param heard items whose details have no secrets, by the instance that received them
   */
  absorbEvents(heard: ReadonlyMap<string, readonly HeardItem[]>): Steps<void>;
  /** Records that everything between these times was seen by the instance that stored it. */
  absorbCoverage(from: number, to: number): void;
  /** Drops all tasks that are written, and all relations, without calling the tap, as if there had been none. */
  forgetTasks(): Steps<void>;
  /**
   * The latest change among the tasks that were dropped from memory or refused; `-Infinity`: none was. All tasks that
   * changed later and were received or absorbed are in memory. Valid until the next change.
   */
  droppedThrough(): number;
}
