/** Data about a job's runs from its hash, for entries without that data. */

import { asFields, asNumber } from '../../../redis/replies.ts';
import type { QueueCommand } from '../access/queue-reads.ts';
import type { QueueRef } from '../access/queue-ref.ts';

/** State of the hash when it was read, which may be long after the entry was written. */
export interface JobRuns {
  readonly name: string | null;
  /** Name of the worker of the last run; `null` when workers have no names. */
  readonly worker: string | null;
  /** The number of runs that ended and count as attempts; `null` if the job was removed. */
  readonly made: number | null;
  /** Runs that have begun; `null` when this version of BullMQ does not count them. */
  readonly begun: number | null;
  /** Whether the job is locked by a worker; `null`: not read. */
  readonly isHeld: boolean | null;
}

const LONGEST = 4_096;
const NOTHING: JobRuns = { name: null, worker: null, made: null, begun: null, isHeld: false };

export function runsCommand(queue: QueueRef, jobId: string): QueueCommand {
  return { queue, command: ['HMGET', queue.key(jobId), 'name', 'pb', 'atm', 'ats', 'timestamp'] };
}

/** Whether the job is locked by a worker. Only needed for jobs that a worker may have returned. */
export function lockCommand(queue: QueueRef, jobId: string): QueueCommand {
  return { queue, command: ['EXISTS', queue.key(`${jobId}:lock`)] };
}

export function jobRunsOf(fields: unknown, lock: unknown): JobRuns {
  const [name = null, worker = null, made, begun, timestamp = null] = asFields(fields);
  if (name === null && timestamp === null) return NOTHING;
  return {
    name: name === null ? null : name.slice(0, LONGEST),
    worker: worker === null ? null : worker.slice(0, LONGEST) || null,
    made: asNumber(made) ?? 0,
    begun: asNumber(begun),
    isHeld: lock === null ? null : lock === 1,
  };
}

/**
 * Whether every run that ended counts as an attempt. Then a job that went from a worker back to its queue has
 * failed; otherwise it may have stalled, been given back, or waited for its children.
 */
export function countsEveryRun({ made, begun, isHeld }: JobRuns): boolean {
  return made !== null && made > 0 && begun !== null && isHeld !== null && begun - made === (isHeld ? 1 : 0);
}
