/** What reads over memory and a store have in common. */
import type { MemoryView } from '../../memory/memory-view.ts';
import type { KeptTask } from '../../memory/tap.ts';
import type { StoreSession } from '../../store.ts';
import type { StoreReads } from './store-reads.ts';

/** What a reader is made of. Functions are called with every read, so they must be cheap. */
export interface StoredReaderOptions {
  readonly memory: MemoryView;
  /** `null`: the store has not been opened yet. Calls of a session reject while the database is away. */
  session(): StoreSession | null;
  /**
   * Memory knows all tasks that changed later than this, in milliseconds since 1970. `Infinity`: it may lack any, for
   * example while it is being loaded; `-Infinity`: it knows all that the store does.
   */
  droppedThrough(): number;
  /** Ids of tasks that differ from what is stored, or may. */
  changedIds(): Iterable<string>;
  /** Tasks that memory has dropped before they were written. The store does not know them yet. */
  droppedTasks(): Iterable<KeptTask>;
  /** Grows when others may have written what changes an answer, or when the store can be read again. */
  revision(): number;
  /** Notes the outcome of a read, for the status of the store. @param error `null`: it succeeded */
  noteRead(error: unknown): void;
}

/** What every read gets. */
export interface ReaderContext extends StoredReaderOptions {
  readonly reads: StoreReads;
  readonly known: KnownIds;
}

/** Which tasks the store has been found to know, or not to know. */
export interface KnownIds {
  /** `null`: it is not known, or was found too long ago. */
  get(id: string): boolean | null;
  set(id: string, isKnown: boolean): void;
}
