/** The task source of the jobs in Redis and of the removed ones. */
import type { StoredHistory } from '../../../history/stored-history.ts';
import type { Task } from '../../../model.ts';
import { scheduler } from '../../../scheduler.ts';
import { createFamilyCollector } from '../../../select/callers.ts';
import { selectTasks } from '../../../select/select-tasks.ts';
import { figuresOf } from '../../../select/task-figures.ts';
import { passesFilters } from '../../../select/task-filter.ts';
import { createStatsAccumulator } from '../../../select/task-stats.ts';
import { ALL_TASKS } from '../../../source/task-query.ts';
import type {
  ReadContext,
  TaskPage,
  TaskQuery,
  TaskSource,
  TaskStats,
  TaskStatsQuery,
} from '../../../source.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { eachTask, type JobReads, readCallers, windowStart, withMoreCauses } from '../tasks/task-stats.ts';
import { readMergedTree } from './merged-flow.ts';
import { listMerged } from './merged-list.ts';
import { createRemovedJobs, type RemovedJobs } from './removed-jobs.ts';

/** @param tasks answers for the jobs in Redis */
export function withRemoved(
  tasks: TaskSource,
  reads: JobReads,
  { reader, readStats }: Pick<StoredHistory, 'reader' | 'readStats'>,
): TaskSource {
  const { access } = reads;
  const removed = createRemovedJobs(access, reader);
  return {
    ...tasks,
    listTasks: (query, context) => listTasks(tasks, access, removed, query, context),
    getTask: async (id, context) => (await tasks.getTask(id, context)) ?? removed.find(id, context),
    getTaskTree: (id, context) => readMergedTree(access, removed, id, context),
    getTaskStats: (query, context) =>
      readStats(query, context, (asked, own, since) => readMergedStats(reads, removed, asked, own, since)),
  };
}

async function listTasks(
  tasks: TaskSource,
  access: QueueAccess,
  removed: RemovedJobs,
  query: TaskQuery,
  context: ReadContext,
): Promise<TaskPage> {
  const { groupId, rootId, parentId } = query;
  const top = rootId ?? parentId;
  // BullMQ has no groups.
  if (groupId !== null) return tasks.listTasks(query, context);
  if (top !== null) {
    const tree = await readMergedTree(access, removed, top, context);
    if (tree !== null) {
      const page = selectTasks(tree.tasks, query);
      return tree.truncated ? { ...page, total: null } : page;
    }
    if (rootId !== null) return { tasks: [], next: null, total: 0 };
  }
  return listMerged(removed, async (part) => tasks.listTasks(part, context), query, context);
}

/**
 * Answers `getTaskStats`: the newest jobs of each kind, up to the limit of one answer.
 *
 * @param recordedSince `null`: nothing is recorded yet
 */
async function readMergedStats(
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
