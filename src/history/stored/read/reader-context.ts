/** The common context of reads over memory and a store. */
import type { StoredView } from '../stored-view.ts';
import type { StoreReads } from './store-reads.ts';

/** The context of every read. */
export interface ReaderContext extends StoredView {
  readonly reads: StoreReads;
  readonly known: KnownIds;
  /** Loads what others have counted since the last time. Rejects with what the store throws. */
  readonly readCounts: () => Promise<void>;
}

/** Which tasks the store has been found to know, or not to know. */
export interface KnownIds {
  /** `null`: it is not known, or was found too long ago. */
  get(id: string): boolean | null;
  set(id: string, isKnown: boolean): void;
}
