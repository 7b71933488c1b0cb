import type { QueueHistory } from '../../../history/aggregate/queue-history.ts';
import type { Task } from '../../../model.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import { scheduler } from '../../../scheduler.ts';
import { depthsOf } from '../../../select/queue-depths.ts';
import { statsWindow } from '../../../select/stats-steps.ts';
import { figuresOf } from '../../../select/task-figures.ts';
import { passesFilters } from '../../../select/task-filter.ts';
import { createStatsAccumulator } from '../../../select/task-stats.ts';
import type { TaskStats, TaskStatsQuery } from '../../../source.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { flagConsequences } from '../jobs/consequences.ts';
import { bareTask, loadKnown, loadTasks } from '../jobs/job-loader.ts';
import type { KnownJob } from '../jobs/job-row.ts';
import { setsOf } from '../jobs/job-sets.ts';
import { ROW_BOUNDS } from '../jobs/job-values.ts';
import { createWalk } from '../walk/walk.ts';
import { MOST_JOBS, readFlow } from './task-tree.ts';

const BATCH = 500;

/**
 * Answers `getTaskStats` from the jobs that last changed in the window, newest first, up to as many as one
 * answer may look at. If the window holds more, the figures are those of its newest part.
 */
export async function readTaskStats(
  access: QueueAccess,
  query: TaskStatsQuery,
  queues: QueueHistory,
  options: ReadOptions,
): Promise<TaskStats> {
  const figures = createStatsAccumulator(query);
  await eachTask(access, query, options, (task) => {
    if (passesFilters(task, query.filter)) figures.add(figuresOf(task));
  });
  const stats = await scheduler.run('stats', figures.result());
  const samples = queues.samples(query.filter.queues);
  const queueDepths = await scheduler.run('stats', depthsOf(samples, statsWindow(query)));
  return queueDepths.length === 0 ? stats : { ...stats, queueDepths };
}

/**
 * Reads the jobs in Redis that last changed in the window, newest first, and a few others.
 *
 * @returns false if there are more than one answer may look at
 */
export async function eachTask(
  access: QueueAccess,
  query: TaskStatsQuery,
  options: ReadOptions,
  add: (task: Task) => void,
): Promise<boolean> {
  const { filter } = query;
  if (filter.rootId === null) return eachInWindow(access, query, options, add);
  const root = await access.find(filter.rootId, options);
  const flow = root === null ? null : await readFlow(access, root, Math.min(filter.scan, MOST_JOBS), options);
  for (const task of await tasksOf(access, flow?.jobs ?? [], query, options)) add(task);
  return flow?.isCut !== true;
}

/** Since when a job must have changed, in milliseconds. */
export function windowStart({ minutes, now, filter }: TaskStatsQuery): number {
  return Math.max(now.getTime() - minutes * 60_000, filter.since?.getTime() ?? Number.NEGATIVE_INFINITY);
}

async function eachInWindow(
  access: QueueAccess,
  query: TaskStatsQuery,
  options: ReadOptions,
  add: (task: Task) => void,
): Promise<boolean> {
  const { now, filter } = query;
  const all = await access.queues(options);
  const walk = await createWalk(
    access,
    {
      queues: filter.queues.length === 0 ? all : all.filter(({ name }) => filter.queues.includes(name)),
      sets: setsOf(filter),
      engineStates: filter.engineStates,
      order: 'desc',
      after: null,
      since: windowStart(query),
      until: filter.until?.getTime() ?? now.getTime() + 1,
      withTexts: false,
    },
    options,
  );
  for (let left = filter.scan; left > 0; ) {
    const rows = await walk.next(Math.min(BATCH, left));
    if (rows.length === 0) return true;
    left -= rows.length;
    const jobs = await loadKnown(access, rows, false, options);
    for (const task of await tasksOf(access, jobs, query, options)) add(task);
  }
  return !(await walk.hasMore());
}

/** Roots and values are read only if a filter needs them. */
async function tasksOf(
  access: QueueAccess,
  jobs: readonly KnownJob[],
  { filter, now }: TaskStatsQuery,
  options: ReadOptions,
): Promise<readonly Task[]> {
  if (filter.rootId === null && filter.q === null) {
    const tasks = jobs.map((job) => bareTask(access, job, now.getTime()));
    return flagConsequences(access, jobs, tasks, options);
  }
  const loaded = await loadTasks(access, jobs, ROW_BOUNDS, options);
  return loaded.map(({ task }) => task);
}
