import type { Task } from '../model.ts';
import type { TaskPage, TaskQuery } from '../source.ts';
import { passesFilters } from './task-filter.ts';
import { comparePositions, sortKeyOf } from './task-order.ts';

/**
 * Answers `listTasks` for a source that has all its tasks in memory: filters, sorts and pages them. It reads every
 * task, so use it for at most some thousands of tasks.
 *
 * @param tasks every task, in any order, each id once
 * @param query as given to `listTasks`
 * @returns the page, with the exact total
 *
 * @example
 * const source = { name: 'jobs', listTasks: (query) => selectTasks(jobs.map(toTask), query), … };
 */
export function selectTasks(tasks: Iterable<Task>, query: TaskQuery): TaskPage {
  const { sort, order, limit, after } = query;
  const matching: { key: number | string | null; id: string; task: Task }[] = [];
  for (const task of tasks) {
    if (passesFilters(task, query)) matching.push({ key: sortKeyOf(task, sort), id: task.id, task });
  }
  matching.sort((a, b) => comparePositions(a, b, order));
  const start = after === null ? 0 : matching.findIndex((row) => comparePositions(row, after, order) > 0);
  const page = start < 0 ? [] : matching.slice(start, start + limit);
  const last = page[page.length - 1];
  const hasMore = last !== undefined && start + limit < matching.length;
  return {
    tasks: page.map(({ task }) => task),
    next: hasMore ? { key: last.key, id: last.id } : null,
    total: matching.length,
  };
}
