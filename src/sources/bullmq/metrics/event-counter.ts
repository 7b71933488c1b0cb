/**
 * Counts from the events of all queues how long jobs wait and run. Only jobs whose names no event has reported are read.
 * Times are milliseconds since 1970, by the clock of Redis.
 */
import type { JobStep } from '../events/job-machine.ts';
import { countSteps } from '../events/job-steps.ts';
import type { StreamEntry } from '../events/stream-entry.ts';
import type { StreamFollower } from '../events/stream-follower.ts';

/** Counts for how many milliseconds a worker had a job (`run`), or could have taken it before one did (`wait`). */
export type CountDuration = (kind: 'run' | 'wait', queue: string, name: string | null, ms: number) => void;

/** A queue whose events are counted. */
interface MeteredQueue {
  readonly name: string;
  /** Jobs that ended since counting began. */
  completed: number;
  failed: number;
  /** The job that its worker gave back with the last entry: the next one shows whether it stalled. */
  returned: { readonly jobId: string; readonly name: string | null; readonly ms: number } | null;
}

/** The counts of the events. */
export interface EventCounter {
  /** Jobs of a queue that ended since counting began; `null`: its events have not been read. */
  ended(queue: string): Pick<MeteredQueue, 'completed' | 'failed'> | null;
  /** How often events were removed from a stream before they were read. */
  gaps(): number;
  close(): void;
}

/** A thousand queues are read no more often than each two seconds. */
const PER_QUEUE_MS = 2;
/** Events of this time before are read for the names of jobs, and for when they began to wait or run. */
const BEFORE_MS = 60_000;

/** Entries that are counted by the name of their job. */
const NAMED: ReadonlySet<string> = new Set(['active', 'completed', 'failed']);

/** Counts from now on. */
export function createEventCounter(follower: StreamFollower, add: CountDuration): EventCounter {
  const since = Date.now();
  let gaps = 0;
  const queues = countSteps<MeteredQueue>({
    work: 'meter',
    from: since - BEFORE_MS,
    begin: ({ name }) => ({ name, completed: 0, failed: 0, returned: null }),
    needsRuns: ({ event }, isNamed) => NAMED.has(event) && !isNamed,
    gap(queue, next) {
      queue.returned = null;
      if (next === undefined || next.time > since) gaps += 1;
    },
    count(queue, entry, step) {
      const isCounted = entry.time >= since;
      // A worker that is gone did not run its job during the time until this was noticed.
      if (entry.event === 'stalled' && entry.jobId === queue.returned?.jobId) queue.returned = null;
      countReturned(queue);
      if (step !== null && isCounted) countStep(queue, entry, step);
    },
    reachEnd: countReturned,
  });

  /** Counts the run of a job that was given back: it has not stalled. */
  function countReturned(queue: MeteredQueue): void {
    const { returned, name } = queue;
    if (returned !== null) add('run', name, returned.name, returned.ms);
    queue.returned = null;
  }

  function countStep(queue: MeteredQueue, { event, jobId }: StreamEntry, step: JobStep): void {
    const { job, ranMs, waitedMs } = step;
    if (event === 'completed' || event === 'failed') queue[event] += 1;
    if (waitedMs !== null) add('wait', queue.name, job.name, waitedMs);
    if (ranMs === null) return;
    if (event === 'completed' || event === 'failed') add('run', queue.name, job.name, ranMs);
    else queue.returned = { jobId: jobId ?? '', name: job.name, ms: ranMs };
  }

  const leave = follower.follow({
    ...queues,
    msPerQueue: PER_QUEUE_MS,
    isOn: () => true,
  });
  return {
    ended: queues.get,
    gaps: () => gaps,
    close() {
      void leave();
      queues.clear();
    },
  };
}
