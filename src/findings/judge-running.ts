/** Judges every running task as the rules `task_overrun` and `worker_stuck` do, for the list of workers. */
import type { Steps } from '../scheduler.ts';
import type { RunningTask } from '../source.ts';
import type { SourceSituation } from './finding.ts';
import { createFindUsual, type FindUsual, isHeldByLostWorker, isOverrun } from './rules/task-overrun.ts';
import { findStuck, type StuckSituation } from './rules/workers.ts';

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
export type RunningSituation = Pick<SourceSituation, 'activity'> & StuckSituation;

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
  const stuck = blind === null ? yield* findStuck(situation, activity, usualOf, now) : [];
  const held = new Set(stuck.flatMap((slots) => slots.tasks.map(({ id }) => id)));
  const tasks: JudgedTask[] = [];
  for (const task of running) {
    const usual = usualOf(task.name);
    const isStuck = held.has(task.id) || isOverrun(now - task.startedAt, usual);
    tasks.push({ task, p95: usual?.p95 ?? null, isStuck });
    if (tasks.length % TASKS_AT_ONCE === 0) yield;
  }
  return {
    tasks,
    isWhole: open.isWhole && blind === null,
    stuckWorkers: new Set(stuck.flatMap(({ worker }) => worker ?? [])),
    judgesWorkers: blind === null && activity.workersPull !== true,
  };
}
