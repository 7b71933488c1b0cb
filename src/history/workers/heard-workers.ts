import type { HeardWorker } from '../history.ts';
import type { WorkerRecord } from './worker-record.ts';

/** Workers that send messages; the others are named by stored messages alone. @param now milliseconds */
export function heardWorkers(workers: Iterable<WorkerRecord>, now: number): HeardWorker[] {
  return [...workers]
    .filter(({ isHeard }) => isHeard)
    .map(({ hostname, heardAt, saidGoodbye, facts }) => ({
      hostname,
      silentMs: now - heardAt,
      saidGoodbye,
      active: facts.active ?? null,
      queues: facts.queues ?? null,
      poolSize: facts.poolSize ?? null,
    }));
}
