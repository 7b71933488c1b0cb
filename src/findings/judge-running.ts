/** Judges every running task as the rules `task_overrun` and `worker_stuck` do, for the list of workers. */
import type { Steps } from '../scheduler.ts';
import type { RunningTask } from '../source.ts';
import type { QueueBody } from '../wire.ts';
import type { Known, SourceSituation } from './finding.ts';
import { createFindUsual, type FindUsual, isHeldByLostWorker, isOverrun } from './rules/task-overrun.ts';
import { heldByQueue, heldByWorker, tasksByWorker } from './rules/workers.ts';

/** A running task, and whether it should have ended. */
export interface JudgedTask {
  readonly task: RunningTask;
  /** 95th percentile of the run times of its name, in milliseconds; `null`: too few runs. */
  readonly p95: number | null;
  /** `null`: unknown, because too few tasks of its name have run. */
  readonly isStuck: boolean | null;
}

/** The running tasks of one source. */
export interface RunningTasks {
  /** The longest-running first. */
  readonly tasks: readonly JudgedTask[];
  /** Whether the list is complete. */
  readonly isWhole: boolean;
  /** Hostnames of workers whose slots are all occupied by tasks that should have ended. */
  readonly stuckWorkers: ReadonlySet<string>;
  /** Whether workers can be judged by their slots. */
  readonly judgesWorkers: boolean;
}

/** The data that is judged. */
export type RunningSituation = Pick<SourceSituation, 'activity' | 'workers'> & {
  readonly queues: Known<readonly Pick<QueueBody, 'name' | 'waiting'>[]>;
};

/** Tasks that are judged between two pauses. */
const TASKS_AT_ONCE = 64;

/** @returns `null` if the source does not report running tasks. @param now milliseconds since 1970 */
export function* judgeRunning(situation: RunningSituation, now: number): Steps<RunningTasks | null> {
  const { activity } = situation;
  if (activity == null) return null;
  const { open, blind } = activity;
  const isLost = isHeldByLostWorker(activity);
  const running = open.running.filter((task) => !isLost(task));
  const usualOf: FindUsual = blind === null ? createFindUsual(activity.counts, now) : () => null;
  const held = blind === null ? yield* findHeld(situation, open.running, usualOf, now) : NOTHING_HELD;
  const tasks: JudgedTask[] = [];
  for (const task of running) {
    const usual = usualOf(task.name);
    const isStuck = held.tasks.has(task.id) || isOverrun(now - task.startedAt, usual);
    tasks.push({ task, p95: usual?.p95 ?? null, isStuck });
    if (tasks.length % TASKS_AT_ONCE === 0) yield;
  }
  return {
    tasks,
    isWhole: open.isWhole && blind === null,
    stuckWorkers: held.workers,
    judgesWorkers: blind === null && activity.workersPull !== true,
  };
}

/** Tasks that block workers, as the rule `worker_stuck` finds them. */
interface Held {
  readonly tasks: Set<string>;
  readonly workers: Set<string>;
}

const NOTHING_HELD: Held = { tasks: new Set(), workers: new Set() };

function* findHeld(
  { activity, workers, queues }: RunningSituation,
  running: readonly RunningTask[],
  usualOf: FindUsual,
  now: number,
): Steps<Held> {
  const held: Held = { tasks: new Set(), workers: new Set() };
  if (activity?.workersPull) {
    for (const queue of queues ?? []) {
      add(held, heldByQueue(queue, running, usualOf, now)?.tasks);
      yield;
    }
    return held;
  }
  const byWorker = tasksByWorker(running);
  for (const worker of workers ?? []) {
    if (worker.status !== 'online') continue;
    const slots = heldByWorker(worker, byWorker.get(worker.hostname) ?? [], usualOf, now);
    add(held, slots?.tasks);
    if (slots !== null) held.workers.add(worker.hostname);
    yield;
  }
  return held;
}

function add({ tasks }: Held, held: readonly RunningTask[] = []): void {
  for (const { id } of held) tasks.add(id);
}
