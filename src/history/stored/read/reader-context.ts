/** What reads over memory and a store have in common. */
import type { StoredView } from '../stored-view.ts';
import type { StoreReads } from './store-reads.ts';

/** What every read gets. */
export interface ReaderContext extends StoredView {
  readonly reads: StoreReads;
  readonly known: KnownIds;
  /** Takes in what others have counted since the last time. Rejects with what the store throws. */
  readonly readCounts: () => Promise<void>;
}

/** Which tasks the store has been found to know, or not to know. */
export interface KnownIds {
  /** `null`: it is not known, or was found too long ago. */
  get(id: string): boolean | null;
  set(id: string, isKnown: boolean): void;
}
