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

/** Traces of the jobs that were last told of, by queue and id. */
export interface JobMemory {
  get(key: string): JobTrace | undefined;
  set(key: string, trace: JobTrace): void;
}

const MOST = 20_000;

/** @param later for entries from before: of what came later, names alone hold for them */
export function createJobMemory(later?: JobMemory): JobMemory {
  const traces = new Map<string, JobTrace>();
  function nameLater(key: string): JobTrace | undefined {
    const name = later?.get(key)?.name ?? null;
    return name === null ? undefined : { name, last: null, state: null, hasFailed: null };
  }
  return {
    get: (key) => traces.get(key) ?? nameLater(key),
    set(key, trace) {
      traces.delete(key);
      traces.set(key, trace);
      if (traces.size <= MOST) return;
      const [oldest] = traces.keys();
      if (oldest !== undefined) traces.delete(oldest);
    },
  };
}
