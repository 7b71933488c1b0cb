import type { Steps } from '../scheduler.ts';
import type { StateCounts } from './graph-types.ts';
import { ITEMS_PER_STEP } from './readable-tree.ts';

const BUCKETS: Readonly<Record<string, keyof StateCounts>> = {
  PENDING: 'pending',
  RECEIVED: 'pending',
  RETRY: 'retry',
  SUCCESS: 'success',
  FAILURE: 'failure',
  REVOKED: 'revoked',
  REJECTED: 'revoked',
};

/** Counts states per bucket. @param states `undefined` for a task without a known state */
export function* countStates(states: Iterable<string | undefined>): Steps<StateCounts> {
  const counts = { total: 0, pending: 0, running: 0, retry: 0, success: 0, failure: 0, revoked: 0 };
  let count = 0;
  for (const state of states) {
    if (++count % ITEMS_PER_STEP === 0) yield;
    if (state === undefined) continue;
    const bucket = Object.hasOwn(BUCKETS, state) ? (BUCKETS[state] as keyof StateCounts) : 'running';
    counts[bucket]++;
    counts.total++;
  }
  return counts;
}
