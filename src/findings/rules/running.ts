/** Shared by the rules about running tasks. */
import type { Activity, MinuteCounts, RunningTask } from '../../source.ts';

const DAY_MS = 24 * 60 * 60_000;
/** With fewer runs, a percentile is not meaningful. */
const LEAST_RUNS = 20;

/** Percentiles of the run times of a name in the last day, in milliseconds. */
export interface UsualRuns {
  readonly p95: number;
  readonly p99: number;
}

/** Returns the usual run times, computed once for each name. `null`: too few runs. */
export type FindUsual = (name: string | null) => UsualRuns | null;

export function createFindUsual(counts: MinuteCounts, now: number): FindUsual {
  const known = new Map<string, UsualRuns | null>();
  return (name) => {
    if (name === null) return null;
    const usual = known.get(name);
    if (usual !== undefined) return usual;
    const found = usualOf(counts, name, now);
    known.set(name, found);
    return found;
  };
}

function usualOf(counts: MinuteCounts, name: string, now: number): UsualRuns | null {
  const from = now - DAY_MS;
  const { succeeded, failed } = counts.counts(name, from, now);
  if (succeeded + failed < LEAST_RUNS) return null;
  const p95 = counts.quantile('run', name, from, now, 0.95);
  const p99 = counts.quantile('run', name, from, now, 0.99);
  return p95 === null || p99 === null ? null : { p95, p99 };
}

/** @returns a test for tasks of lost workers, which the rule `tasks_lost` covers */
export function isHeldByLostWorker({ open }: Activity): (task: RunningTask) => boolean {
  const gone = new Set(open.lost.flatMap(({ worker, isWorkerOnline }) => (isWorkerOnline ? [] : worker)));
  return ({ worker }) => worker !== null && gone.has(worker);
}
