/** Histories that several instances share, in a store made of arrays. */

import { createStoredHistory } from '../../src/history/stored/create-stored-history.ts';
import type { StoredHistory } from '../../src/history/stored-history.ts';
import type { Redactor } from '../../src/redact.ts';
import { type ArrayStore, createArrayStore } from '../helpers/array-store.ts';

/** Everything happens ten times as often as it does for hosts. */
const PACE = { intervalMs: 75, leaseMs: 600, renewalMs: 80 };

/** What instances share. */
export interface SharedHistories {
  /** The history of another instance, which hears nothing yet. */
  open(redactor: Redactor | null, isReadOnly: boolean): StoredHistory;
  /** Whether the store can be reached. */
  reach(isReachable: boolean): void;
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
    reach(isReachable) {
      store.before = isReachable
        ? null
        : () => {
            throw new Error('The database is away.');
          };
    },
  };
}
