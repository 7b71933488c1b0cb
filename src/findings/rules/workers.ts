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
  found,
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
    if (silent.length === 0) return clear();
    const names = silent.map(({ hostname }) => hostname).sort();
    return found([
      {
        severity: 'warning',
        since: Math.min(...silent.map(({ heardAt }) => heardAt)),
        subject: null,
        summary: `${counted(silent.length, 'worker')} stopped sending heartbeats without shutting down: ${listed(names)}`,
        evidence: { workers: names.slice(0, MOST_NAMED), silent: silent.length },
        look: LOOK,
      },
    ]);
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
  return found([
    {
      severity: 'critical',
      since: heard.length === 0 ? null : Math.max(...heard),
      subject: null,
      summary: cause === undefined ? summary : `${summary}. ${cause}`,
      evidence: { workers: names.slice(0, MOST_NAMED), known: names.length },
      look: LOOK,
    },
  ]);
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
      const { hostname } = worker;
      const held = heldByWorker(worker, byWorker.get(hostname) ?? [], usualOf, now);
      yield;
      if (worker.concurrency === null) unjudged.push(hostname);
      if (held === null) continue;
      const { tasks, since } = held;
      const summary = `${hostname}: ${tasks.length} of ${tasks.length} slots hold the same tasks, ${inWords(now - since)}`;
      findings.push({ ...stuckIn(held, hostname, { worker: hostname }), summary });
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
    const { name, waiting } = queue;
    const stuck = stuckIn(held, name, { queue: name });
    findings.push({
      ...stuck,
      summary: `Queue ${name}: all workers hold the same tasks, ${inWords(now - held.since)}, and ${counted(waiting ?? 0, 'task')} ${waiting === 1 ? 'waits' : 'wait'}`,
      evidence: { ...stuck.evidence, waiting },
    });
  }
  findings.sort(bySince);
  return {
    findings,
    unknown: isWhole ? null : `Too many tasks are running to examine all of them: ${running.length}.`,
  };
}

/** The finding about a worker or a queue, without its summary. @param query selects its tasks */
function stuckIn(
  { tasks, since, isUsualKnown }: HeldSlots,
  subject: string,
  query: { readonly worker: string } | { readonly queue: string },
): Omit<Finding, 'summary'> {
  const names = [...new Set(tasks.flatMap(({ name }) => name ?? []))];
  return {
    severity: isUsualKnown ? 'critical' : 'warning',
    since,
    subject,
    evidence: {
      slots: tasks.length,
      names: names.slice(0, MOST_EXAMPLES),
      task_ids: tasks.slice(0, MOST_EXAMPLES).map(({ id }) => id),
    },
    look: lookAtTasks({ ...query, state: 'STARTED', sort: 'started', order: 'asc' }),
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
