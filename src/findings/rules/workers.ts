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
  type Known,
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
    const { hasTasks, queues, workers } = source;
    if (!hasTasks && workers === undefined) return null;
    const { activity, unknown } = activityOf(source);
    const areQueuesJudged = activity?.workersPull === true;
    if (areQueuesJudged && queues == null) return clear('The queues could not be read.');
    if (!areQueuesJudged && workers === undefined) return clear('The source lists no workers.');
    if (!areQueuesJudged && workers === null) return clear('The workers could not be read.');
    if (activity === null) return clear(unknown);
    const stuck = yield* findStuck(source, activity, createFindUsual(activity.counts, now), now);
    const findings = stuck.map((held) => findingOf(held, now)).sort(bySince);
    if (areQueuesJudged) {
      const { running, isWhole } = activity.open;
      const tooMany = `Too many tasks are running to examine all of them: ${running.length}.`;
      return { findings, unknown: isWhole ? null : tooMany };
    }
    const unjudged = (workers ?? [])
      .filter(({ status, concurrency }) => status === 'online' && concurrency === null)
      .map(({ hostname }) => hostname);
    return {
      findings,
      unknown: unjudged.length === 0 ? null : `The number of slots of ${listed(unjudged)} is unknown.`,
      unjudged,
    };
  },
};

function findingOf({ worker, queue, tasks, since, isUsualKnown }: HeldSlots, now: number): Finding {
  const time = inWords(now - since);
  const names = [...new Set(tasks.flatMap(({ name }) => name ?? []))];
  const waiting = queue?.waiting ?? 0;
  return {
    severity: isUsualKnown ? 'critical' : 'warning',
    since,
    subject: queue?.name ?? worker,
    summary:
      queue === null
        ? `${worker}: ${tasks.length} of ${tasks.length} slots hold the same tasks, ${time}`
        : `Queue ${queue.name}: all workers hold the same tasks, ${time}, and ${counted(waiting, 'task')} ${waiting === 1 ? 'waits' : 'wait'}`,
    evidence: {
      slots: tasks.length,
      names: names.slice(0, MOST_EXAMPLES),
      task_ids: tasks.slice(0, MOST_EXAMPLES).map(({ id }) => id),
      ...(queue !== null && { waiting }),
    },
    look: lookAtTasks({
      ...(worker !== null && { worker }),
      ...(queue !== null && { queue: queue.name }),
      state: 'STARTED',
      sort: 'started',
      order: 'asc',
    }),
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

type WaitingQueue = Pick<QueueBody, 'name' | 'waiting'>;

/** What can be stuck. */
export interface StuckSituation {
  readonly workers: Known<readonly WorkerBody[]>;
  readonly queues: Known<readonly WaitingQueue[]>;
}

/** Tasks that occupy all slots of a worker, or all workers of a queue in which others wait. */
interface HeldSlots {
  /** `null`: of a queue. */
  readonly worker: string | null;
  /** `null`: of a worker. */
  readonly queue: WaitingQueue | null;
  readonly tasks: readonly RunningTask[];
  /** When the last of them started. */
  readonly since: number;
  /** Whether the usual run times of all their names are known. */
  readonly isUsualKnown: boolean;
}

/** What is occupied for too long: queues if workers take only what they run, otherwise workers. */
export function* findStuck(
  { workers, queues }: StuckSituation,
  { open: { running }, workersPull }: Activity,
  usualOf: FindUsual,
  now: number,
): Steps<readonly HeldSlots[]> {
  const stuck: HeldSlots[] = [];
  if (workersPull) {
    for (const queue of queues ?? []) {
      const tasks = (queue.waiting ?? 0) < 1 ? [] : running.filter((task) => task.queue === queue.name);
      const held = heldForLong(tasks, usualOf, now);
      if (held !== null) stuck.push({ ...held, worker: null, queue });
      yield;
    }
    return stuck;
  }
  const byWorker = tasksByWorker(running);
  for (const worker of workers ?? []) {
    if (worker.status !== 'online') continue;
    const held = heldForLong(tasksInSlots(worker, byWorker.get(worker.hostname) ?? []), usualOf, now);
    if (held !== null) stuck.push({ ...held, worker: worker.hostname, queue: null });
    yield;
  }
  return stuck;
}

/** The tasks that occupy every slot of a worker; none if some are free. */
function tasksInSlots({ concurrency, active }: WorkerBody, running: readonly RunningTask[]) {
  const slots = concurrency ?? 0;
  // A worker that reports fewer running tasks has ended some of these unseen.
  return running.length < slots || (active !== null && active < slots) ? [] : running.slice(0, slots);
}

function heldForLong(tasks: readonly RunningTask[], usualOf: FindUsual, now: number) {
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
