/** What the reads of a stored history know of it. `read/` answers from this; `create-stored-history.ts` provides it. */
import type { HistoryReader } from '../history.ts';
import type { KeptTask, MemoryAccess } from '../memory/tap.ts';
import type { StoreSession } from '../store.ts';
import type { Hearing } from '../stored-history.ts';

/** A history in memory and its store, as its reader sees them. */
export interface StoredView {
  /** Answers from memory alone. */
  readonly memory: HistoryReader;
  readonly access: MemoryAccess;
  /** `null`: the store has not been opened yet. Calls of a session reject while the database is away. */
  session(): StoreSession | null;
  hearing(): Hearing;
  /**
   * Tasks that changed later are all in memory. `Infinity` while memory is being filled, while other instances write
   * what this one does not hear, and where it hears nothing.
   */
  droppedThrough(): number;
  /** A task that memory has dropped before it was written; `null`: there is none. The store does not know it yet. */
  unwritten(id: string): KeptTask | null;
  /** Grows when others may have written what changes an answer of this history. */
  revision(): number;
  /** Notes the outcome of a read, for the status of the store. @param error `null`: it succeeded */
  noteRead(error: unknown): void;
}
