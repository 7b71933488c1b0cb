import type { TaskState } from '../model.ts';
import type { StateCounts } from './graph-types.ts';

const BUCKETS: Readonly<Record<string, keyof StateCounts>> = {
  PENDING: 'pending',
  RECEIVED: 'pending',
  RETRY: 'retry',
  SUCCESS: 'success',
  FAILURE: 'failure',
  REVOKED: 'revoked',
  REJECTED: 'revoked',
};

/** Counts states per bucket. */
export function countStates(states: Iterable<TaskState>): StateCounts {
  const counts = { total: 0, pending: 0, running: 0, retry: 0, success: 0, failure: 0, revoked: 0 };
  for (const state of states) {
    const bucket = Object.hasOwn(BUCKETS, state) ? (BUCKETS[state] as keyof StateCounts) : 'running';
    counts[bucket]++;
    counts.total++;
  }
  return counts;
}
