import type { Activity, RunningTask } from '../../source.ts';
import type { WorkerBody } from '../../wire.ts';
import { activityOf, clear, type Finding, inWords, listed, lookAtTasks, type Rule } from '../finding.ts';
import { p99Of } from './running.ts';

const MINUTE_MS = 60_000;
/** Shorter than this, a full worker is a busy one. */
const LEAST_MS = 5 * MINUTE_MS;
/** As in `task_overrun`. */
const FACTOR = 3;
/** Where the usual run times are not known: longer than most tasks of web apps. */
const UNUSUAL_MS = 15 * MINUTE_MS;
const MOST_EXAMPLES = 5;

/**
 * `worker_stuck`: every slot of an online worker has held the same task for more than 5 minutes and more than three
 * times the 99th percentile of that task's name, so the worker takes nothing else. Where one of the names has fewer
 * than 20 runs in the last day: for more than 15 minutes, as a warning.
 *
 * Unknown where the slots of an online worker are not known.
 */
export const workerStuck: Rule = {
  code: 'worker_stuck',
  *judge(source, now) {
    if (!source.hasTasks && source.workers === undefined) return null;
    if (source.workers === undefined) return clear('The source lists no workers.');
    if (source.workers === null) return clear('The workers could not be read.');
    const { activity, unknown } = activityOf(source);
    if (activity === null) return clear(unknown);
    const byWorker = tasksByWorker(activity);
    const findings: Finding[] = [];
    const unjudged: string[] = [];
    for (const worker of source.workers) {
      if (worker.status !== 'online') continue;
      if (worker.concurrency === null) unjudged.push(worker.hostname);
      else findings.push(...findingOf(worker, byWorker.get(worker.hostname) ?? [], activity, now));
      yield;
    }
    findings.sort((a, b) => (a.since ?? 0) - (b.since ?? 0));
    return {
      findings,
      unknown: unjudged.length === 0 ? null : `The slots of ${listed(unjudged)} are not known.`,
    };
  },
};

function tasksByWorker({ open }: Activity): Map<string, RunningTask[]> {
  const workers = new Map<string, RunningTask[]>();
  for (const task of open.running) {
    if (task.worker === null) continue;
    const tasks = workers.get(task.worker);
    if (tasks === undefined) workers.set(task.worker, [task]);
    else tasks.push(task);
  }
  return workers;
}

function findingOf(
  { hostname, concurrency, active }: WorkerBody,
  running: readonly RunningTask[],
  activity: Activity,
  now: number,
): Finding[] {
  const slots = concurrency ?? 0;
  // One that says that it runs fewer has ended some of these tasks unseen.
  if (slots < 1 || running.length < slots || (active !== null && active < slots)) return [];
  const tasks = running.slice(0, slots);
  const since = (tasks.at(-1) as RunningTask).startedAt;
  const limit = limitOf(tasks, activity, now);
  if (now - since <= (limit ?? UNUSUAL_MS)) return [];
  const names = [...new Set(tasks.flatMap(({ name }) => name ?? []))];
  return [
    {
      severity: limit === null ? 'warning' : 'critical',
      since,
      subject: hostname,
      summary: `${hostname}: ${slots} of ${slots} slots hold the same tasks, ${inWords(now - since)}`,
      evidence: {
        slots,
        names: names.slice(0, MOST_EXAMPLES),
        task_ids: tasks.slice(0, MOST_EXAMPLES).map(({ id }) => id),
      },
      look: lookAtTasks({ worker: hostname, state: 'STARTED', sort: 'started', order: 'asc' }),
    },
  ];
}

/** How long tasks of these names may run, in milliseconds; `null`: not known. */
function limitOf(tasks: readonly RunningTask[], { counts }: Activity, now: number): number | null {
  let limit = LEAST_MS;
  for (const name of new Set(tasks.map((task) => task.name))) {
    const p99 = name === null ? null : p99Of(counts, name, now);
    if (p99 === null) return null;
    limit = Math.max(limit, FACTOR * p99);
  }
  return limit;
}
