import type { WorkerChange } from '../../../history/history.ts';
import { newWorker, type WorkerFacts } from './facts.ts';

/** Most workers to remember. If there are more, the oldest is forgotten. */
const MOST_WORKERS = 1000;
/** A sender's clock that differs from ours by more than this is wrong. Milliseconds. */
const SKEW = 60_000;

/** The facts of a worker that has sent a message; adds a new worker. */
export function workerOf(workers: Map<string, WorkerFacts>, hostname: string, now: number): WorkerFacts {
  let facts = workers.get(hostname);
  if (facts === undefined) {
    const first = workers.size < MOST_WORKERS ? undefined : workers.keys().next().value;
    if (first !== undefined) workers.delete(first);
    facts = newWorker(now);
    workers.set(hostname, facts);
  }
  facts.lastHeard = now;
  return facts;
}

/** A heartbeat counts the tasks that the worker began; events should have reported each of them. */
export function takeHeartbeat(facts: WorkerFacts, { time, processed }: WorkerChange, now: number): void {
  facts.skew = time - now;
  facts.skewed = Math.abs(facts.skew) > SKEW ? facts.skewed + 1 : 0;
  if (typeof processed !== 'number') return;
  const begun = facts.processed === null ? 0 : processed - facts.processed;
  const hadEvents = facts.eventsSinceBeat > 0;
  facts.processed = processed;
  facts.lastBeat = now;
  facts.eventsSinceBeat = 0;
  if (begun <= 0 || hadEvents) return;
  facts.silentRuns += begun;
  facts.silentSince ??= now;
}
