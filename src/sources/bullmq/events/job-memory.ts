import type { JobRuns } from './job-runs.ts';

/** What earlier entries have told of a job, so that later ones can be told better. */
export interface JobTrace {
  /** Its name; a job that was removed has it nowhere else. */
  readonly name: string | null;
  /** BullMQ's name of its latest entry; `null`: not known. */
  readonly last: string | null;
  /** Where it stands after that entry; `null`: not known. */
  readonly state: string | null;
  /** Whether a run of it has failed before; `null`: not known. */
  readonly hasFailed: boolean | null;
}

/** What is known of jobs by queue and id, of those that were last told of. */
export interface JobMemory {
  get(key: string): JobTrace | undefined;
  set(key: string, trace: JobTrace): void;
  /** What was read of its hash after the entries that are told now; `undefined`: it is to be read. */
  runsOf(key: string): JobRuns | undefined;
  setRuns(key: string, runs: JobRuns): void;
}

/** The memory of the newest entries. */
export interface LatestMemory extends JobMemory {
  /** One for entries from before: of what came later, names alone hold for them. */
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
    // It may have run again since.
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
