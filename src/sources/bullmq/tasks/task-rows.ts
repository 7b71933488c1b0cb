/** Shared parts of lists by time and lists in other orders. */
import type { Task } from '../../../model.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import { passesFilters } from '../../../select/task-filter.ts';
import type { TaskQuery } from '../../../source.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { bareTask, loadTasks } from '../jobs/job-loader.ts';
import type { KnownJob } from '../jobs/job-row.ts';
import { setsOf } from '../jobs/job-sets.ts';
import { ROW_BOUNDS } from '../jobs/job-values.ts';
import { createWalk, type Walk, type WalkPlan } from '../walk/walk.ts';

/** Jobs whose values are read at a time when only some of them contain the searched text. */
const SEARCHED_AT_ONCE = 100;

/** A walk over the sets of the queues and states of a query. */
export async function walkOfQuery(
  access: QueueAccess,
  query: TaskQuery,
  plan: Pick<WalkPlan, 'after' | 'order' | 'withTexts'>,
  options: ReadOptions,
): Promise<Walk> {
  const all = await access.queues(options);
  const queues = query.queues.length === 0 ? all : all.filter(({ name }) => query.queues.includes(name));
  const [since, until] = [query.since?.getTime() ?? null, query.until?.getTime() ?? null];
  const { engineStates } = query;
  const sets = setsOf(query);
  return createWalk(access, { ...plan, queues, sets, engineStates, since, until }, options);
}

/** Whether no filter drops a large part of the jobs before their texts are needed. */
export function showsMostJobs({ names, workers, parentId, conditions }: TaskQuery): boolean {
  return names.length + workers.length + conditions.length === 0 && parentId === null;
}

/**
 * Loads the jobs that pass all filters of the query, in their order.
 *
 * @param most how many to load at most
 */
export async function loadMatching(
  access: QueueAccess,
  jobs: readonly KnownJob[],
  query: TaskQuery,
  most: number,
  options: ReadOptions,
): Promise<readonly Task[]> {
  const withoutText = { ...query, q: null };
  const now = Date.now();
  const passed = jobs.filter((job) => passesFilters(bareTask(access, job, now), withoutText));
  const found: Task[] = [];
  const step = query.q === null ? most : SEARCHED_AT_ONCE;
  for (let from = 0; from < passed.length && found.length < most; from += step) {
    const loaded = await loadTasks(access, passed.slice(from, from + step), ROW_BOUNDS, options);
    found.push(...loaded.map(({ task }) => task).filter((task) => query.q === null || query.search(task)));
  }
  return found.slice(0, most);
}
