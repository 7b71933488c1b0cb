import type { CausesBefore } from '../causes/cause-groups.ts';
import { createFirstSeen } from '../causes/first-seen.ts';
import type { Task } from '../model.ts';
import type { Steps } from '../scheduler.ts';
import type { TaskStats, TaskStatsQuery } from '../source.ts';
import { countCallers, createFamilyCollector } from './callers.ts';
import { failedAt, figuresOf } from './task-figures.ts';
import { passesFilters } from './task-filter.ts';
import { createStatsAccumulator } from './task-stats.ts';

/**
 * Answers `getTaskStats` for a source that has all its tasks in memory.
 *
 * @param tasks every task, in any order
 * @param query as given to `getTaskStats`
 */
export function summarizeTasks(tasks: Iterable<Task>, query: TaskStatsQuery): TaskStats {
  const { filter, causes = 0, callers = false } = query;
  const family = createFamilyCollector();
  const seen = createFirstSeen();
  let since = Number.POSITIVE_INFINITY;
  const before: CausesBefore = { firstSeen: seen.firstSeen, since: () => since };
  const statistics = createStatsAccumulator(query, { before });
  for (const task of tasks) {
    if (callers) family.note(task);
    const isMatch = passesFilters(task, filter);
    if (!isMatch && causes === 0) continue;
    const cause = causes === 0 ? null : filter.causeOf(task);
    const figures = figuresOf(task, cause);
    if (figures.timestamp < since) since = figures.timestamp;
    if (cause !== null) seen.note(cause.id, failedAt(figures));
    if (isMatch) statistics.add(figures);
  }
  const stats = finish(statistics.result());
  return callers ? { ...stats, ...finish(countCallers(statistics.counted, family)) } : stats;
}

/** Runs all steps without a pause. */
function finish<Result>(steps: Steps<Result>): Result {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}
