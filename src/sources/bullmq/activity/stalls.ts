/**
 * Jobs that stalled: their worker died, or was too busy to keep its lock, so that another worker took them and ran them
 * again. Told by the events of their queue.
 */
import type { RepeatedRun, RepeatedTask, WorkerDeath } from '../../../source.ts';
import type { JobStep } from '../events/job-machine.ts';
import type { StreamEntry } from '../events/stream-entry.ts';
import { STALLED_TOO_OFTEN } from '../jobs/job-facts.ts';

const REPEATED_MS = 60 * 60_000;
const DEATHS_MS = 24 * 60 * 60_000;
/** Most stalled jobs of a queue that are remembered. */
const MOST = 1_000;
/** One script puts back all jobs that a worker has lost. Milliseconds. */
const SAME_MOMENT_MS = 50;

/** The runs of a job that has stalled, the earliest first. */
interface StalledJob {
  readonly name: string | null;
  runs: readonly RepeatedRun[];
  /** It has not started again yet. */
  isWaiting: boolean;
}

/** The stalled jobs of a queue. */
export interface Stalls {
  readonly jobs: Map<string, StalledJob>;
  deaths: readonly WorkerDeath[];
}

export function createStalls(): Stalls {
  return { jobs: new Map(), deaths: [] };
}

/** Processes a step of a job. @param worker of the run that it is about; `null`: not known */
export function noteStep(
  stalls: Stalls,
  taskId: string,
  { type, job: { name, startedAt } }: JobStep,
  entry: StreamEntry,
  worker: string | null,
): void {
  const { time } = entry;
  const job = stalls.jobs.get(taskId);
  if (type === 'stalled' && startedAt !== null) {
    noteDeath(stalls, { id: taskId, name, worker: null, startedAt }, time);
    const runs = job?.runs ?? [{ worker: null, startedAt, endedAt: null }];
    keep(stalls.jobs, taskId, { name, runs, isWaiting: true });
  } else if (job === undefined || type === null) return;
  else if (type === 'task-started' && job.isWaiting) {
    job.runs = [...job.runs, { worker: null, startedAt: time, endedAt: null }];
    job.isWaiting = false;
  } else if (type === 'task-failed' && entry.fields.get('failedReason') === STALLED_TOO_OFTEN) {
    job.runs = job.runs.slice(0, -1);
  } else if (ENDS.has(type)) {
    const last = job.runs.at(-1);
    if (last?.endedAt === null) job.runs = [...job.runs.slice(0, -1), { ...last, worker, endedAt: time }];
  }
}

const ENDS: ReadonlySet<string> = new Set(['task-succeeded', 'task-failed', 'task-retried']);

function keep(jobs: Stalls['jobs'], taskId: string, job: StalledJob): void {
  jobs.delete(taskId);
  jobs.set(taskId, job);
  const [oldest] = jobs.keys();
  if (jobs.size > MOST && oldest !== undefined) jobs.delete(oldest);
}

function noteDeath(stalls: Stalls, job: WorkerDeath['running'][number], at: number): void {
  const last = stalls.deaths.at(-1);
  const isSame = last !== undefined && at - last.at < SAME_MOMENT_MS;
  const before = isSame ? stalls.deaths.slice(0, -1) : stalls.deaths;
  const running = isSame ? [...last.running, job] : [job];
  stalls.deaths = [...before, { at: isSame ? last.at : at, worker: job.worker, running }].slice(-MOST);
}

/** What the rules judge. */
export function judgedStalls(
  all: readonly Stalls[],
  now: number,
): { readonly repeated: readonly RepeatedTask[]; readonly deaths: readonly WorkerDeath[] } {
  const deaths = all.flatMap((stalls) => stalls.deaths).filter(({ at }) => now - at < DEATHS_MS);
  const isRecent = ({ startedAt }: RepeatedRun): boolean => now - startedAt < REPEATED_MS;
  const repeated = all.flatMap(({ jobs }) =>
    [...jobs].flatMap(([id, { name, runs }]) =>
      runs.length > 1 && runs.some(isRecent) ? { id, name, runs } : [],
    ),
  );
  return { repeated, deaths: deaths.sort((a, b) => a.at - b.at) };
}
