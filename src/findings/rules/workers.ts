/** Rules about workers. */

import type { Steps } from '../../scheduler.ts';
import type { Activity, RunningTask } from '../../source.ts';
import { addTo } from '../../values.ts';
import type { QueueBody, WorkerBody } from '../../wire.ts';
import {
  activityOf,
  bySince,
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
import { createFindUsual, type FindUsual } from './task-overrun.ts';

/** A worker that has been silent for longer counts as replaced: containers never restart with the same name. */
const RECENT_MS = 60 * 60_000;
const MOST_NAMED = 20;
const LOOK = '/api/workers/';

/**
 * `workers_silent`: no worker is online (critical), or some workers became silent within the last hour without
 * reporting their shutdown, as after a crash. A worker is silent if it has sent no heartbeat for a minute.
 *
 * Unknown if the source lists no workers. The rule does not apply to a source that has never seen a worker and has
 * none to check, such as a queue within the host's process.
 */
export const workersSilent: Rule = {
  code: 'workers_silent',
  *judge(source, now) {
    const { workers, hasTasks } = source;
    if (workers === undefined) return hasTasks ? clear('The source lists no workers.') : null;
    if (workers === null) return clear('The workers could not be read.');
    yield;
    if (!workers.some(({ status }) => status === 'online')) return noneOnline(source, workers);
    const silent = (source.activity?.silent ?? []).filter(({ heardAt }) => now - heardAt < RECENT_MS);
    const [first] = silent;
    if (first === undefined) return clear();
    const names = silent.map(({ hostname }) => hostname).sort();
    const finding: Finding = {
      severity: 'warning',
      since: Math.min(...silent.map(({ heardAt }) => heardAt)),
      subject: null,
      summary: `${counted(silent.length, 'worker')} stopped sending heartbeats without shutting down: ${listed(names)}`,
      evidence: { workers: names.slice(0, MOST_NAMED), silent: silent.length },
      look: LOOK,
    };
    return { findings: [finding], unknown: null };
  },
};

function noneOnline({ checks, components }: SourceSituation, workers: readonly WorkerBody[]) {
  // Without workers, the rule does not apply if the check passes or is not configured.
  if (workers.length === 0 && checks.workers.ok !== false) return null;
  const heard = workers.flatMap(({ last_heartbeat }) =>
    last_heartbeat === null ? [] : Date.parse(last_heartbeat),
  );
  const names = workers.map(({ hostname }) => hostname);
  const summary = names.length === 0 ? 'No worker responds' : `No worker is online: ${listed(names)}`;
  const cause = Object.values(components)
    .map(({ config }) => config?.refuses_workers)
    .find((sentence) => typeof sentence === 'string');
  const finding: Finding = {
    severity: 'critical',
    since: heard.length === 0 ? null : Math.max(...heard),
    subject: null,
    summary: cause === undefined ? summary : `${summary}. ${cause}`,
    evidence: { workers: names.slice(0, MOST_NAMED), known: names.length },
    look: LOOK,
  };
  return { findings: [finding], unknown: null };
}

const MINUTE_MS = 60_000;
/** For a shorter time, a full worker is merely busy. */
const LEAST_MS = 5 * MINUTE_MS;
/** The same as in `task_overrun`. */
const FACTOR = 3;
/** For tasks without known run times: longer than most tasks of web apps. */
const UNUSUAL_MS = 15 * MINUTE_MS;
const MOST_EXAMPLES = 5;

/**
 * `worker_stuck`: every slot of an online worker has run the same task for more than 5 minutes and more than three
 * times the 99th percentile of that task's name, so the worker takes no other tasks. If one of the names has fewer
 * than 20 runs in the last day: for more than 15 minutes, as a warning.
 *
 * If workers take a task only when they can run it, queues are judged instead: tasks wait in the queue, and every task
 * that was taken from it has run for that long.
 *
 * Unknown if the number of slots of an online worker is unknown.
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
    findings.sort(bySince);
    return {
      findings,
      unknown: unjudged.length === 0 ? null : `The number of slots of ${listed(unjudged)} is unknown.`,
      unjudged,
    };
  },
};

/** Tasks wait, and no worker of the queue is free: all its running tasks started long ago. */
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
  findings.sort(bySince);
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

/** Running tasks by their worker. */
export function tasksByWorker(running: readonly RunningTask[]): Map<string, RunningTask[]> {
  const workers = new Map<string, RunningTask[]>();
  for (const task of running) {
    if (task.worker !== null) addTo(workers, task.worker, task);
  }
  return workers;
}

/** Tasks that occupy all slots. */
interface HeldSlots {
  readonly tasks: readonly RunningTask[];
  /** When the last of them started. */
  readonly since: number;
  /** Whether the usual run times of all their names are known. */
  readonly isUsualKnown: boolean;
}

/** The tasks that occupy every slot of a worker for too long; `null`: it is not stuck. */
export function heldByWorker(
  { concurrency, active }: WorkerBody,
  running: readonly RunningTask[],
  usualOf: FindUsual,
  now: number,
): HeldSlots | null {
  const slots = concurrency ?? 0;
  // A worker that reports fewer running tasks has ended some of these unseen.
  if (slots < 1 || running.length < slots || (active !== null && active < slots)) return null;
  return heldForLong(running.slice(0, slots), usualOf, now);
}

/** The tasks from a queue that occupy all its workers for too long while others wait; `null`: none. */
export function heldByQueue(
  { name, waiting }: Pick<QueueBody, 'name' | 'waiting'>,
  running: readonly RunningTask[],
  usualOf: FindUsual,
  now: number,
): HeldSlots | null {
  if ((waiting ?? 0) < 1) return null;
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

/** How long tasks of these names may run, in milliseconds; `null`: unknown. */
function limitOf(tasks: readonly RunningTask[], usualOf: FindUsual): number | null {
  let limit = LEAST_MS;
  for (const name of new Set(tasks.map((task) => task.name))) {
    const usual = usualOf(name);
    if (usual === null) return null;
    limit = Math.max(limit, FACTOR * usual.p99);
  }
  return limit;
}
