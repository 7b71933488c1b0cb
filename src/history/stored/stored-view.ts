/**
 * The interface of a stored history for its reads. `read/` answers from this; `create-stored-history.ts` provides it.
 */
import type { MemoryView } from '../memory/memory-access.ts';
import type { KeptTask } from '../memory/tap.ts';
import type { RecordStep } from '../merge/merge.ts';
import type { StoreRetention, StoreSession } from '../store.ts';
import type { Hearing } from '../stored-history.ts';

/**
 * The view of a history in memory and its store for its reader. Functions are called with every read: they are cheap.
 */
export interface StoredView {
  /** Answers from memory alone. */
  readonly memory: MemoryView;
  /** `null`: the store has not been opened yet. Calls of a session reject while the database is unreachable. */
  session(): StoreSession | null;
  hearing(): Hearing;
  /** For how long the store keeps what is written. */
  readonly retention: StoreRetention;
  /** Milliseconds since 1970, by the clock of this instance. */
  now(): number;
  /**
   * Tasks that changed later are all in memory. `Infinity` while memory is being filled, while other instances write
   * changes that this one does not receive, and if it receives nothing. `-Infinity`: memory knows all that the store
   * does.
   */
  droppedThrough(): number;
  /** Ids of the tasks that wait to be written. */
  unwritten(): Iterable<string>;
  /** `null`: the task is not in memory. */
  readTask(id: string): KeptTask | null;
  /** What this process was told of a task that no stored version is known to have. */
  stepsOf(id: string): readonly RecordStep[];
  /**
   * Increases when others may have written something that changes an answer of this history, and when the store answers
   * again.
   */
  revision(): number;
  /** Since when there are counts over time in the store; `null`: there are none, or the store was not asked yet. */
  countedSince(): Date | null;
  /** Notes the outcome of a read, for the status of the store. @param error `null`: it succeeded */
  noteRead(error: unknown): void;
}
