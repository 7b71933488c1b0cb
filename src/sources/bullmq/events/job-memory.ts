import type { JobRuns } from './job-runs.ts';

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
