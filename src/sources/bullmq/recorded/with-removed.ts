/** The task source of the jobs in Redis and of the removed ones. */
import { withoutSentWith } from '../../../history/merge/record-fields.ts';
import type { StoredHistory } from '../../../history/stored-history.ts';
import type { Task, TaskDetail, TaskRelation, TaskTree } from '../../../model.ts';
import { RedisError } from '../../../redis/problems.ts';
import { selectTasks } from '../../../select/select-tasks.ts';
import { ALL_TASKS } from '../../../source/task-query.ts';
import type { ReadContext, TaskPage, TaskQuery, TaskSource } from '../../../source.ts';
import type { BullMQRedis } from '../access/queue-access.ts';
import { findTasks } from '../jobs/job-loader.ts';
import { listTasks } from '../tasks/task-list.ts';
import { type RecordedTasks, readTaskStats, type StatsReads, windowStart } from '../tasks/task-stats.ts';
import { MOST_JOBS, readFlowTree, TREE_BOUNDS } from '../tasks/task-tree.ts';
import {
  findRemoved,
  type JobReads,
  listWithRemoved,
  type RecordedJob,
  removedOnes,
  walkRecorded,
} from './removed-jobs.ts';

/** @param tasks answers for the jobs in Redis */
export function withRemoved(
  tasks: TaskSource,
  redis: BullMQRedis,
  stats: Omit<StatsReads, 'access'>,
  { reader, readStats }: Pick<StoredHistory, 'reader' | 'readStats'>,
): TaskSource {
  const readsOf = (context: ReadContext): JobReads => ({ access: redis.within(context), reader, context });
  return {
    ...tasks,
    listTasks: (query, context) => listAll(readsOf(context), query),
    getTask: async (id, context) => (await tasks.getTask(id, context)) ?? findRemoved(readsOf(context), id),
    getTaskTree: (id, context) => readMergedTree(readsOf(context), id),
    getTaskStats: (query, context) =>
      readStats(query, context, (asked, own, since) => {
        const reads = readsOf(own);
        return readTaskStats({ ...stats, access: reads.access }, asked, recordedTasks(reads, since));
      }),
  };
}

async function listAll(reads: JobReads, query: TaskQuery): Promise<TaskPage> {
  const { groupId, rootId, parentId } = query;
  const top = rootId ?? parentId;
  // BullMQ has no groups.
  if (groupId !== null) return listTasks(reads.access, query);
  if (top !== null) {
    const tree = await readMergedTree(reads, top);
    if (tree !== null) {
      const page = selectTasks(tree.tasks, query);
      return tree.truncated ? { ...page, total: null } : page;
    }
    if (rootId !== null) return { tasks: [], next: null, total: 0 };
  }
  return listWithRemoved(reads, query);
}

/** @param since when recording began; `null`: nothing is recorded yet */
function recordedTasks(reads: JobReads, since: Date | null): RecordedTasks {
  return {
    since,
    flow: (rootId) => readMergedTree(reads, rootId),
    async eachRemoved(query, known, isWhole, add) {
      const { now, filter, callers } = query;
      const { after, sort, order } = ALL_TASKS;
      const until = filter.until ?? new Date(now.getTime() + 1);
      // Children have other names.
      const names = callers === true ? [] : filter.names;
      const window = { ...filter, after, sort, order, names, since: new Date(windowStart(query)), until };
      let left = filter.scan;
      for await (const rows of walkRecorded(reads, window, filter.scan)) {
        left -= rows.length;
        const others = rows.filter(({ task }) => !known.has(task.id));
        // If all jobs of the window have been read, the others are gone.
        const gone = isWhole ? others.map(({ task }) => task) : await removedOnes(reads, others);
        for (const task of gone) add(task);
      }
      return left > 0;
    },
  };
}

const NO_TREE = { tasks: [], relations: [], truncated: false };

/**
 * Reads a flow: the jobs in Redis related to the job or its root, and the jobs recorded under the same root.
 *
 * @returns `null` when there is no such job
 */
async function readMergedTree(reads: JobReads, id: string): Promise<TaskTree | null> {
  const { access, context } = reads;
  const own = await readFlowTree(access, id);
  const found = own === null ? await findRemoved(reads, id) : null;
  const asked = found && withoutDetail(found);
  if (own === null && asked === null) return null;
  const rootId = own?.rootId ?? asked?.rootId ?? id;
  const live = own ?? (rootId === id ? null : await readFlowTree(access, rootId)) ?? { rootId, ...NO_TREE };
  const known = new Set(live.tasks.map((task) => task.id));
  const rest = await readRest(reads, rootId, known).catch((error: unknown) => {
    // Without the store, the jobs in Redis are still shown.
    if (own === null || context.signal.aborted || error instanceof RedisError) throw error;
    return null;
  });
  const tasks = [...live.tasks, ...(rest ?? [])];
  if (asked !== null && !tasks.some((task) => task.id === id)) tasks.push(asked);
  return {
    rootId,
    tasks: tasks.slice(0, MOST_JOBS),
    relations: withParents(live.relations ?? [], tasks),
    truncated: rest === null || live.truncated === true || tasks.length > MOST_JOBS,
  };
}

function withoutDetail({
  children: _children,
  timeline: _timeline,
  attempts: _attempts,
  options: _options,
  log: _log,
  ahead: _ahead,
  waitsFor: _waitsFor,
  ...rest
}: TaskDetail): Task {
  const task = withoutSentWith(rest);
  // A field that only one task shows must be left out above.
  return task satisfies Task & { readonly [Field in Exclude<keyof TaskDetail, keyof Task>]?: never };
}

/** The recorded jobs of the flow, except known ones; jobs that are in Redis are read from there. */
async function readRest(
  reads: JobReads,
  rootId: string,
  known: ReadonlySet<string>,
): Promise<readonly Task[]> {
  const { access } = reads;
  const rows: RecordedJob[] = [];
  const flow = { ...ALL_TASKS, rootId, limit: MOST_JOBS, scan: MOST_JOBS };
  for await (const part of walkRecorded(reads, flow, MOST_JOBS)) {
    rows.push(...part.filter(({ task }) => !known.has(task.id)));
  }
  const gone = await removedOnes(reads, rows);
  const isGone = new Set(gone.map(({ id }) => id));
  const ids = rows.flatMap(({ task, isLater }) => (isGone.has(task.id) || isLater ? [] : [task.id]));
  return [...gone, ...(await findTasks(access, ids, false, TREE_BOUNDS))];
}

/** A parent runs after its children, so relations lead from child to parent. */
function withParents(relations: readonly TaskRelation[], tasks: readonly Task[]): readonly TaskRelation[] {
  const all = new Map(relations.map((one) => [JSON.stringify([one.parent, one.child]), one]));
  for (const { id, parentId = null } of tasks) {
    if (parentId === null) continue;
    all.set(JSON.stringify([id, parentId]), { parent: id, child: parentId, relation: 'flow' });
  }
  return [...all.values()];
}
