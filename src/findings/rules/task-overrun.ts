import type { Activity, RunningTask } from '../../source.ts';
import { addTo } from '../../values.ts';
import { activityRule, counted, type Finding, inWords, listed, lookAtTasks } from '../finding.ts';
import { createFindUsual, isHeldByLostWorker, type UsualRuns } from './running.ts';

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
  findings.sort((a, b) => (a.since ?? 0) - (b.since ?? 0));
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
