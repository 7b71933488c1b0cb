/** Histories that several instances share, in a store made of arrays. */

import { createStoredHistory } from '../../src/history/stored/create-stored-history.ts';
import type { StoredHistory } from '../../src/history/stored-history.ts';
import type { Redactor } from '../../src/redact.ts';
import { type ArrayStore, createArrayStore } from '../helpers/array-store.ts';

/** More happens than for hosts in the same time, and a busy machine renews a lease in time nevertheless. */
const PACE = { intervalMs: 75, leaseMs: 2_000, renewalMs: 100 };

/** What instances share. */
export interface SharedHistories {
  /** The history of another instance, which hears nothing yet. */
  open(redactor: Redactor | null, isReadOnly: boolean): StoredHistory;
  /** Whether the store can be reached. */
  reach(isReachable: boolean): void;
  /** Whether the lease of the instance that had it has ended, by the clock of the store. */
  isLeaseOver(): boolean;
}

export function createSharedHistories(): SharedHistories {
  const store: ArrayStore = createArrayStore();
  return {
    open: (redactor, isReadOnly) =>
      createStoredHistory(
        { redactor },
        { store, source: 'celery', deployment: null, hearing: 'nothing', isReadOnly },
        PACE,
      ),
    isLeaseOver: () => (store.rows('celery').lease?.expiresAt ?? 0) < store.now(),
    reach(isReachable) {
      store.before = isReachable
        ? null
        : () => {
            throw new Error('The database is away.');
          };
    },
  };
}
