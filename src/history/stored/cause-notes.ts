/** Causes that were found while tasks were written; new ones are stored. */
import { createLruCache } from '../../lru-cache.ts';
import type { TaskCause } from '../../model.ts';
import type { CauseStore, StoredCause } from '../store.ts';

/** Maximum number of causes that are remembered as stored. */
const MOST_KNOWN = 5_000;
/** How far the stored time of the last failure may lag behind, in milliseconds. */
const LATE_MS = 60 * 60_000;

/** The causes to be stored. */
export interface CauseNotes {
  /** A task failed at this time, milliseconds since 1970. */
  add(cause: TaskCause, time: number): void;
  /** Writes new causes. Rejects with the store's error; the next call tries again. */
  write(store: CauseStore): Promise<void>;
}

export function createCauseNotes(): CauseNotes {
  const known = createLruCache<Pick<StoredCause, 'firstSeen' | 'lastSeen'>>({ entries: MOST_KNOWN });
  const fresh = new Map<string, StoredCause>();
  return {
    add(cause, time) {
      const { firstSeen, lastSeen } = fresh.get(cause.id) ?? known.get(cause.id) ?? NEVER;
      if (time >= firstSeen && time <= lastSeen + (fresh.has(cause.id) ? 0 : LATE_MS)) return;
      if (fresh.size >= MOST_KNOWN && !fresh.has(cause.id)) return;
      const times = { firstSeen: Math.min(firstSeen, time), lastSeen: Math.max(lastSeen, time) };
      fresh.set(cause.id, { ...cause, ...times });
    },
    async write(store) {
      if (fresh.size === 0) return;
      const causes = [...fresh.values()];
      await store.note(causes);
      for (const cause of causes) {
        known.set(cause.id, cause);
        if (fresh.get(cause.id) === cause) fresh.delete(cause.id);
      }
    },
  };
}

const NEVER = { firstSeen: Number.POSITIVE_INFINITY, lastSeen: Number.NEGATIVE_INFINITY };
