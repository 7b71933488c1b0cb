/** What a history in memory passes on to whoever keeps it, and takes back from there. */
import type { TaskCause, TaskRelation, TaskTextField } from '../../model.ts';
import type { Steps } from '../../scheduler.ts';
import type { MinuteAggregate } from '../aggregate/minute-aggregate.ts';
import type { HeardItem } from '../feed/feed-absorb.ts';
import type { FeedItem } from '../feed/feed-ring.ts';
import type { TaskRecord } from '../merge/record.ts';
import type { StoredWorker } from '../workers/worker-record.ts';

export type { HeardItem } from '../feed/feed-absorb.ts';

/** Is called when something changes. Calls must be cheap and must not throw. */
export interface HistoryTap {
  /** A task, or the root that follows from its parents, has changed; called once its indexes have caught up. */
  taskChanged(id: string): void;
  /** A task is about to be dropped from memory; it can still be read. Not called when the history is closed. */
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
   * Texts that arrived whole and of which memory holds only the beginning; they are among `record.truncated`, too.
   * What is kept of them elsewhere must not be replaced by these.
   */
  readonly shortened: readonly TaskTextField[];
  /** Why it failed, found in its whole texts. Default: what the record shows. */
  readonly cause?: TaskCause | null;
}

/** A task that memory has dropped, with all that is known of it. */
export interface DroppedTask {
  readonly parentId: string | null;
  readonly groupId: string | null;
  readonly chordId: string | null;
  /** Characters of its texts. */
  readonly textLength: number;
  /** The task without secrets. These are removed the first time, which takes long where texts are long. */
  read(): KeptTask;
}

/** A task that is taken in. */
export type AbsorbedTask = Omit<KeptTask, 'shortened'> & Partial<KeptTask>;

/** What a history in memory offers to whoever keeps it. Nothing here calls the tap, except where it says so. */
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
  /** The same as it is now, to be read once memory has dropped it: whoever drops tasks cannot wait for redaction. */
  detachTask(id: string): DroppedTask | null;
  readWorker(hostname: string): StoredWorker | null;
  /** @returns the items that this instance has heard behind a number, oldest first, `most` at most, without secrets */
  readEvents(after: number, most: number): readonly HeardItem[];
  /**
   * Takes in a task that was kept, possibly by another instance, and merges it with what is known. Not a message: it is
   * neither counted nor listed in the feed. Its age is that of `heardAt`. The tap hears of a change of this task that
   * was not reported yet, and of other tasks whose root follows from this one.
   *
   * @param task without secrets; where `shortened` is left out, all texts are as they arrived
   * @param heardAt when the task was last heard of
   * @returns `'same'`: memory now holds what was given; `'merged'`: memory knew more, which is to be kept, too;
   *   `'refused'`: it does not fit into memory, and counts as dropped
   */
  absorbTask(task: AbsorbedTask, heardAt: number): 'same' | 'merged' | 'refused';
  absorbRelation(relation: TaskRelation): void;
  /** The later of what is known and what is given holds. */
  absorbWorker(worker: StoredWorker): void;
  /**
   * Adds items of other instances, or of earlier processes, to the feed. Those that are held already are left out.
   * What is more than 10 s older than the newest item is put where it belongs; call it with many of them at once.
   *
   * @param heard items whose details have no secrets, by the instance that heard them
   */
  absorbEvents(heard: ReadonlyMap<string, readonly HeardItem[]>): Steps<void>;
  /** Everything was seen between these times, by whoever kept it. */
  absorbCoverage(from: number, to: number): void;
  /** Drops all tasks and relations without calling the tap, as if there had been none. */
  forgetTasks(): Steps<void>;
  /**
   * The latest change among the tasks that were dropped from memory or refused; `-Infinity`: none was. Tasks that
   * changed later are all in memory, as far as they were heard or absorbed. Valid until the next change.
   */
  droppedThrough(): number;
}
