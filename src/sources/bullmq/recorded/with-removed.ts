/** The task source of the jobs in Redis and of the removed ones. */
import type { StoredHistory } from '../../../history/stored-history.ts';
import { selectTasks } from '../../../select/select-tasks.ts';
import type { ReadContext, TaskPage, TaskQuery, TaskSource } from '../../../source.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { JobReads } from '../tasks/task-stats.ts';
import { readMergedTree } from './merged-flow.ts';
import { listMerged } from './merged-list.ts';
import { readMergedStats } from './merged-stats.ts';
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
