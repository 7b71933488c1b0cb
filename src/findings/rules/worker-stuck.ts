import type { Steps } from '../../scheduler.ts';
import type { Activity, RunningTask } from '../../source.ts';
import type { QueueBody, WorkerBody } from '../../wire.ts';
import {
  activityOf,
  clear,
  counted,
  type Finding,
  inWords,
  type Judgement,
  listed,
  lookAtTasks,
  type Rule,
  type SourceSituation,
} from '../finding.ts';
import { createFindUsual, type FindUsual } from './running.ts';

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
 * Where workers take a task only when they can run it, a queue is judged instead: tasks wait in it, and every task that
 * was taken from it has run for that long.
 *
 * Unknown where the slots of an online worker are not known.
 */
export const workerStuck: Rule = {
  code: 'worker_stuck',
  *judge(source, now) {
    if (!source.hasTasks && source.workers === undefined) return null;
    const { activity, unknown } = activityOf(source);
    if (activity?.workersPull) return yield* judgeQueues(source, activity, now);
    if (source.workers === undefined) return clear('The source lists no workers.');
    if (source.workers === null) return clear('The workers could not be read.');
    if (activity === null) return clear(unknown);
    const byWorker = tasksByWorker(activity.open.running);
    const usualOf = createFindUsual(activity.counts, now);
    const findings: Finding[] = [];
    const unjudged: string[] = [];
    for (const worker of source.workers) {
      if (worker.status !== 'online') continue;
      if (worker.concurrency === null) unjudged.push(worker.hostname);
      else findings.push(...findingOf(worker, byWorker.get(worker.hostname) ?? [], usualOf, now));
      yield;
    }
    findings.sort((a, b) => (a.since ?? 0) - (b.since ?? 0));
    return {
      findings,
      unknown: unjudged.length === 0 ? null : `The number of slots of ${listed(unjudged)} is unknown.`,
      unjudged,
    };
  },
};

/** Tasks wait, and no worker of the queue is free: all that they run began long ago. */
function* judgeQueues({ queues }: SourceSituation, activity: Activity, now: number): Steps<Judgement> {
  if (queues == null) return clear('The queues could not be read.');
  const { running, isWhole } = activity.open;
  const usualOf = createFindUsual(activity.counts, now);
  const findings: Finding[] = [];
  for (const queue of queues) {
    const held = heldByQueue(queue, running, usualOf, now);
    yield;
    if (held === null) continue;
    const { tasks, since } = held;
    const waiting = queue.waiting ?? 0;
    findings.push({
      severity: held.isUsualKnown ? 'critical' : 'warning',
      since,
      subject: queue.name,
      summary: `Queue ${queue.name}: all workers hold the same tasks, ${inWords(now - since)}, and ${counted(waiting, 'task')} ${waiting === 1 ? 'waits' : 'wait'}`,
      evidence: { ...evidenceOf(tasks), waiting: queue.waiting },
      look: lookAtTasks({ queue: queue.name, state: 'STARTED', sort: 'started', order: 'asc' }),
    });
  }
  findings.sort((a, b) => (a.since ?? 0) - (b.since ?? 0));
  return {
    findings,
    unknown: isWhole ? null : `Too many tasks are running to examine all of them: ${running.length}.`,
  };
}

function evidenceOf(tasks: readonly RunningTask[]): Finding['evidence'] {
  const names = [...new Set(tasks.flatMap(({ name }) => name ?? []))];
  return {
    slots: tasks.length,
    names: names.slice(0, MOST_EXAMPLES),
    task_ids: tasks.slice(0, MOST_EXAMPLES).map(({ id }) => id),
  };
}

/** Running tasks by the worker that has them. */
export function tasksByWorker(running: readonly RunningTask[]): Map<string, RunningTask[]> {
  const workers = new Map<string, RunningTask[]>();
  for (const task of running) {
    if (task.worker === null) continue;
    const tasks = workers.get(task.worker);
    if (tasks === undefined) workers.set(task.worker, [task]);
    else tasks.push(task);
  }
  return workers;
}

/** Tasks that let nothing else run. */
export interface HeldSlots {
  readonly tasks: readonly RunningTask[];
  /** When the last of them started. */
  readonly since: number;
  /** Whether it is known for each of them how long tasks of its name run. */
  readonly isUsualKnown: boolean;
}

/** The tasks that hold every slot of a worker for too long; `null`: it is not stuck. */
export function heldByWorker(
  { concurrency, active }: WorkerBody,
  running: readonly RunningTask[],
  usualOf: FindUsual,
  now: number,
): HeldSlots | null {
  const slots = concurrency ?? 0;
  // One that says that it runs fewer has ended some of these tasks unseen.
  if (slots < 1 || running.length < slots || (active !== null && active < slots)) return null;
  return heldForLong(running.slice(0, slots), usualOf, now);
}

/** The tasks that were taken from a queue and hold all its workers for too long while others wait; `null`: none do. */
export function heldByQueue(
  { name, waiting }: QueueBody,
  running: readonly RunningTask[],
  usualOf: FindUsual,
  now: number,
): HeldSlots | null {
  if (waiting === null || waiting < 1) return null;
  return heldForLong(
    running.filter((task) => task.queue === name),
    usualOf,
    now,
  );
}

function heldForLong(tasks: readonly RunningTask[], usualOf: FindUsual, now: number): HeldSlots | null {
  const since = tasks.at(-1)?.startedAt;
  if (since === undefined) return null;
  const limit = limitOf(tasks, usualOf);
  return now - since <= (limit ?? UNUSUAL_MS) ? null : { tasks, since, isUsualKnown: limit !== null };
}

function findingOf(
  worker: WorkerBody,
  running: readonly RunningTask[],
  usualOf: FindUsual,
  now: number,
): Finding[] {
  const held = heldByWorker(worker, running, usualOf, now);
  if (held === null) return [];
  const { hostname } = worker;
  const { tasks, since } = held;
  return [
    {
      severity: held.isUsualKnown ? 'critical' : 'warning',
      since,
      subject: hostname,
      summary: `${hostname}: ${tasks.length} of ${tasks.length} slots hold the same tasks, ${inWords(now - since)}`,
      evidence: evidenceOf(tasks),
      look: lookAtTasks({ worker: hostname, state: 'STARTED', sort: 'started', order: 'asc' }),
    },
  ];
}

/** How long tasks of these names may run, in milliseconds; `null`: not known. */
function limitOf(tasks: readonly RunningTask[], usualOf: FindUsual): number | null {
  let limit = LEAST_MS;
  for (const name of new Set(tasks.map((task) => task.name))) {
    const usual = usualOf(name);
    if (usual === null) return null;
    limit = Math.max(limit, FACTOR * usual.p99);
  }
  return limit;
}
