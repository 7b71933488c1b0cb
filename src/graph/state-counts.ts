import type { TaskState } from '../model.ts';

/** Tasks per bucket of states; `total` is their sum. */
export interface StateCounts {
  readonly total: number;
  /** PENDING and RECEIVED. */
  readonly pending: number;
  /** STARTED, and every state that is in no other bucket. */
  readonly running: number;
  readonly retry: number;
  readonly success: number;
  readonly failure: number;
  /** REVOKED and REJECTED. */
  readonly revoked: number;
}

const BUCKETS: Readonly<Record<string, keyof StateCounts>> = {
  PENDING: 'pending',
  RECEIVED: 'pending',
  RETRY: 'retry',
  SUCCESS: 'success',
  FAILURE: 'failure',
  REVOKED: 'revoked',
  REJECTED: 'revoked',
};

/** Counts states by bucket. */
export function countStates(states: Iterable<TaskState>): StateCounts {
  const counts = { total: 0, pending: 0, running: 0, retry: 0, success: 0, failure: 0, revoked: 0 };
  for (const state of states) {
    const bucket = Object.hasOwn(BUCKETS, state) ? (BUCKETS[state] as keyof StateCounts) : 'running';
    counts[bucket]++;
    counts.total++;
  }
  return counts;
}
