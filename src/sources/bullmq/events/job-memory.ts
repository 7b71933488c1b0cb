import { asFields, asNumber } from '../../../redis/replies.ts';
import type { QueueCommand, QueueRef } from '../access/queue-reads.ts';

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

/** Data about a job from earlier entries. It is needed to describe later ones. */
export interface JobTrace {
  /** Its name, which is stored nowhere else once the job is removed. */
  readonly name: string | null;
  /** BullMQ's name of the latest entry; `null`: not known. */
  readonly last: string | null;
  /** State of the job after that entry; `null`: not known. */
  readonly state: string | null;
  /** Whether one of its runs has failed; `null`: not known. */
  readonly hasFailed: boolean | null;
}

/** The data about the jobs that entries mentioned last, by task id. */
export interface JobMemory {
  get(key: string): JobTrace | undefined;
  set(key: string, trace: JobTrace): void;
  /** The content of its hash, read after the entries that are being described; `undefined`: to be read. */
  runsOf(key: string): JobRuns | undefined;
  setRuns(key: string, runs: JobRuns): void;
}

/** The memory of the newest entries. */
export interface LatestMemory extends JobMemory {
  /** A memory for older entries. Of the data from later entries, only names are valid for them. */
  before(): JobMemory;
}

const MOST = 20_000;

export function createJobMemory(): LatestMemory {
  const traces = new Map<string, JobTrace>();
  const runs = new Map<string, JobRuns>();

  function nameOnly(key: string): JobTrace | undefined {
    const name = traces.get(key)?.name ?? null;
    return name === null ? undefined : { name, last: null, state: null, hasFailed: null };
  }
  const setRuns = (key: string, read: JobRuns): void => keep(runs, key, read);

  return {
    get: (key) => traces.get(key),
    set: (key, trace) => keep(traces, key, trace),
    // The job may have run again since.
    runsOf: () => undefined,
    setRuns,
    before() {
      const own = new Map<string, JobTrace>();
      return {
        get: (key) => own.get(key) ?? nameOnly(key),
        set: (key, trace) => keep(own, key, trace),
        runsOf: (key) => runs.get(key),
        setRuns,
      };
    },
  };
}

function keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= MOST) return;
  const oldest = map.keys().next().value;
  if (oldest !== undefined) map.delete(oldest);
}
