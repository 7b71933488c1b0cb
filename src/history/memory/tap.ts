/** What a history in memory tells the code that stores it. */
import type { TaskCause, TaskRelation, TaskTextField } from '../../model.ts';
import type { FeedItem } from '../feed/feed-ring.ts';
import type { RecordStep } from '../merge/merge.ts';
import type { TaskRecord } from '../merge/record.ts';

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
   * @param item its detail may have secrets; `MemoryAccess.readEvents` reads it without
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
