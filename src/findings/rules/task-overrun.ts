/** The rule about tasks that run for too long, and what others about running tasks share with it. */

import type { Activity, MinuteCounts, RunningTask } from '../../source.ts';
import { addTo } from '../../values.ts';
import { activityRule, bySince, counted, type Finding, inWords, listed, lookAtTasks } from '../finding.ts';

const DAY_MS = 24 * 60 * 60_000;
/** With fewer runs, a percentile is not meaningful. */
const LEAST_RUNS = 20;

/** Percentiles of the run times of a name in the last day, in milliseconds. */
interface UsualRuns {
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

/** Shorter runs are not a problem yet. */
const LEAST_MS = 60_000;
/** Well above the normal range: nearly all tasks of the name took less than a third of this. */
const FACTOR = 3;
/** Maximum number of named tasks. */
const MOST_EXAMPLES = 3;

/**
 * `task_overrun`: a task has run for more than a minute and for more than three times the 99th percentile of the
 * run times of its name in the last day. Names with fewer than 20 runs are not judged: the rule is unknown while a
 * task of such a name runs for more than a minute.
 */
export const taskOverrun = activityRule('task_overrun', function* (activity, now) {
  const findings: Finding[] = [];
  const unjudged: string[] = [];
  const usualOf = createFindUsual(activity.counts, now);
  for (const [name, tasks] of byName(activity, now)) {
    const usual = usualOf(name);
    if (usual === null) unjudged.push(name ?? 'tasks of unknown names');
    else findings.push(...findingOf(name as string, tasks, usual, now));
    yield;
  }
  findings.sort(bySince);
  const isWhole = activity.open.isWhole;
  return { findings, unknown: unknownOf(activity, unjudged), ...(isWhole && { unjudged }) };
});

/**
 * Whether a task runs for too long; `null`: unknown, because too few tasks of its name have run.
 *
 * @param ran how long it has run so far, in milliseconds
 */
export function isOverrun(ran: number, usual: UsualRuns | null): boolean | null {
  if (ran < LEAST_MS) return false;
  return usual === null ? null : ran > limitOf(usual);
}

function limitOf({ p99 }: UsualRuns): number {
  return Math.max(LEAST_MS, FACTOR * p99);
}

/** Tasks that have run for a while, by name. The rule `tasks_lost` covers those of lost workers. */
function byName(activity: Activity, now: number): Map<string | null, RunningTask[]> {
  const names = new Map<string | null, RunningTask[]>();
  const isLost = isHeldByLostWorker(activity);
  for (const task of activity.open.running) {
    if (now - task.startedAt >= LEAST_MS && !isLost(task)) addTo(names, task.name, task);
  }
  return names;
}

function findingOf(name: string, tasks: readonly RunningTask[], usual: UsualRuns, now: number): Finding[] {
  const { p99 } = usual;
  const over = tasks.filter(({ startedAt }) => isOverrun(now - startedAt, usual));
  const [oldest] = over;
  if (oldest === undefined) return [];
  const workers = [...new Set(over.flatMap(({ worker }) => worker ?? []))];
  return [
    {
      severity: 'warning',
      since: oldest.startedAt + limitOf(usual),
      subject: name,
      summary: `${counted(over.length, `${name} task`)} ${over.length === 1 ? 'runs' : 'run'} for up to ${inWords(now - oldest.startedAt)}, p99 ${inWords(p99)}`,
      evidence: {
        tasks: over.length,
        started_at: new Date(oldest.startedAt).toISOString(),
        p99_seconds: Math.round(p99 / 10) / 100,
        workers: workers.slice(0, MOST_EXAMPLES),
        task_ids: over.slice(0, MOST_EXAMPLES).map(({ id }) => id),
      },
      look: lookAtTasks({ name, state: 'STARTED', sort: 'started', order: 'asc' }),
    },
  ];
}

function unknownOf({ open }: Activity, unjudged: readonly string[]): string | null {
  if (!open.isWhole) return `Too many tasks are running to examine all of them: ${open.running.length}.`;
  return unjudged.length === 0 ? null : `It needs 20 runs of ${listed(unjudged)} within a day.`;
}
