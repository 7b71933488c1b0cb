/** Statistics over the jobs in Redis and the removed ones. */
import type { Task } from '../../../model.ts';
import { scheduler } from '../../../scheduler.ts';
import { createFamilyCollector } from '../../../select/callers.ts';
import { figuresOf } from '../../../select/task-figures.ts';
import { passesFilters } from '../../../select/task-filter.ts';
import { createStatsAccumulator } from '../../../select/task-stats.ts';
import { ALL_TASKS } from '../../../source/task-query.ts';
import type { ReadContext, TaskStats, TaskStatsQuery } from '../../../source.ts';
import { readCallers } from '../tasks/read-callers.ts';
import { eachTask, type JobReads, windowStart, withMoreCauses } from '../tasks/task-stats.ts';
import { readMergedTree } from './merged-flow.ts';
import type { RemovedJobs } from './removed-jobs.ts';

/**
 * Answers `getTaskStats`: the newest jobs of each kind, up to the limit of one answer.
 *
 * @param recordedSince `null`: nothing is recorded yet
 */
export async function readMergedStats(
  reads: JobReads,
  removed: RemovedJobs,
  query: TaskStatsQuery,
  context: ReadContext,
  recordedSince: Date | null,
): Promise<TaskStats> {
  const { now, filter } = query;
  const { access } = reads;
  let knownFrom = Number.NEGATIVE_INFINITY;
  let examinedFrom = Number.NEGATIVE_INFINITY;
  const figures = createStatsAccumulator(query, {
    isWhole: (from) => from >= knownFrom,
    isExamined: (from) => from >= examinedFrom,
  });
  const family = createFamilyCollector();
  const add = (task: Task): void => {
    if (query.callers === true) family.note(task);
    if (passesFilters(task, filter)) figures.add(figuresOf(task, filter.causeOf(task)));
  };
  if (filter.rootId !== null) {
    const tree = await readMergedTree(access, removed, filter.rootId, context);
    for (const task of tree?.tasks ?? []) add(task);
    return finish(tree !== null && !tree.truncated);
  }
  const seen = new Set<string>();
  const { isWhole, readFrom, keptFrom } = await eachTask(reads, query, context, (task) => {
    seen.add(task.id);
    add(task);
  });
  examinedFrom = readFrom;
  knownFrom = Math.max(readFrom, Math.min(keptFrom, recordedSince?.getTime() ?? keptFrom));
  const since = new Date(windowStart(query));
  const until = filter.until ?? new Date(now.getTime() + 1);
  // Children have other names.
  const names = query.callers === true ? [] : filter.names;
  const recorded = { ...filter, ...ORDER, names, since, until };
  let left = filter.scan;
  for await (const rows of removed.recorded(recorded, filter.scan, context)) {
    left -= rows.length;
    const others = rows.filter(({ task }) => !seen.has(task.id));
    // If all jobs of the window have been read, the others are gone.
    const gone = isWhole ? others.map(({ task }) => task) : await removed.gone(others, context);
    for (const task of gone) add(task);
  }
  const stats = await finish(isWhole && left > 0);
  return isWhole ? stats : withMoreCauses(stats);

  async function finish(isComplete: boolean): Promise<TaskStats> {
    const stats = await scheduler.run('stats', figures.result());
    if (query.callers !== true) return stats;
    const jobs = figures.counted;
    return { ...stats, ...(await readCallers(access, query, jobs, family, isComplete, context)) };
  }
}

const { after, sort, order } = ALL_TASKS;
const ORDER = { after, sort, order };
