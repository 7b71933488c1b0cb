/** Tasks that a store keeps, which need not be read again from a result backend. */
import type { StoredHistory } from '../../../history/stored-history.ts';
import { pause } from '../../../waiting.ts';

/** Longest wait for the store, and the interval between two checks, in milliseconds. */
const LONGEST_WAIT_MS = 30_000;
const LOOK_MS = 100;

/** The tasks of a store. Nothing here rejects. */
export interface KeptTasks {
  /** Resolves once all tasks that have not ended are in memory, or after half a minute. */
  loaded(signal: AbortSignal): Promise<void>;
  /** Which of these tasks are kept; none while the store cannot be read. */
  known(ids: readonly string[]): Promise<ReadonlySet<string>>;
}

/** @param history a history in a store */
export function keptTasks({ reader, status }: Pick<StoredHistory, 'reader' | 'status'>): KeptTasks {
  return {
    async loaded(signal) {
      const end = performance.now() + LONGEST_WAIT_MS;
      while (status().phase !== 'ready' && performance.now() < end && !signal.aborted)
        await pause(LOOK_MS, signal);
    },
    async known(ids) {
      if (ids.length === 0) return new Set();
      try {
        return await reader.listKnown(ids, { signal: AbortSignal.timeout(LONGEST_WAIT_MS) });
      } catch {
        return new Set();
      }
    },
  };
}
