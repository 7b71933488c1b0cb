/** What the rules about running tasks share. */
import type { Activity, MinuteCounts, RunningTask } from '../../source.ts';

const DAY_MS = 24 * 60 * 60_000;
/** Of fewer runs, a percentile says nothing. */
const LEAST_RUNS = 20;

/** The 99th percentile of the run times of a name in the last day, in milliseconds; `null`: too few runs. */
export function p99Of(counts: MinuteCounts, name: string, now: number): number | null {
  const { succeeded, failed } = counts.counts(name, now - DAY_MS, now);
  if (succeeded + failed < LEAST_RUNS) return null;
  return counts.quantile('run', name, now - DAY_MS, now, 0.99);
}

/** @returns a test for tasks of workers that are gone: the rule `tasks_lost` is about them */
export function isHeldByLostWorker({ open }: Activity): (task: RunningTask) => boolean {
  const gone = new Set(open.lost.flatMap(({ worker, isWorkerOnline }) => (isWorkerOnline ? [] : worker)));
  return ({ worker }) => worker !== null && gone.has(worker);
}
