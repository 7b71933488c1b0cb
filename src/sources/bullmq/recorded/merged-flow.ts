/** Flows of which some jobs have been removed. */
import type { Task, TaskDetail, TaskRelation, TaskTree } from '../../../model.ts';
import { RedisError } from '../../../redis/problems.ts';
import type { ReadContext } from '../../../source.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { findJobs } from '../jobs/find-jobs.ts';
import { loadTasks } from '../jobs/job-loader.ts';
import { MOST_JOBS, readFlowTree, TREE_BOUNDS } from '../tasks/task-tree.ts';
import { flowQuery, type RecordedJob, type RemovedJobs } from './removed-jobs.ts';

const NO_TREE = { tasks: [], relations: [], truncated: false };

/**
 * Reads a flow: the jobs in Redis related to the job or its root, and the jobs recorded under the same root.
 *
 * @returns `null` when there is no such job
 */
export async function readMergedTree(
  access: QueueAccess,
  removed: RemovedJobs,
  id: string,
  context: ReadContext,
): Promise<TaskTree | null> {
  const own = await readFlowTree(access, id, context);
  const found = own === null ? await removed.find(id, context) : null;
  const asked = found && withoutDetail(found);
  if (own === null && asked === null) return null;
  const rootId = own?.rootId ?? asked?.rootId ?? id;
  const live = own ??
    (rootId === id ? null : await readFlowTree(access, rootId, context)) ?? { rootId, ...NO_TREE };
  const known = new Set(live.tasks.map((task) => task.id));
  const rest = await readRest(access, removed, rootId, known, context).catch((error: unknown) => {
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
  traceId: _traceId,
  timeLimits: _timeLimits,
  ...task
}: TaskDetail): Task {
  // A field that only one task shows must be left out above.
  return task satisfies Task & { readonly [Field in Exclude<keyof TaskDetail, keyof Task>]?: never };
}

/** The recorded jobs of the flow, except known ones; jobs that are in Redis are read from there. */
async function readRest(
  access: QueueAccess,
  removed: RemovedJobs,
  rootId: string,
  known: ReadonlySet<string>,
  context: ReadContext,
): Promise<readonly Task[]> {
  const rows: RecordedJob[] = [];
  for await (const part of removed.recorded(flowQuery(rootId), MOST_JOBS, context)) {
    rows.push(...part.filter(({ task }) => !known.has(task.id)));
  }
  const gone = await removed.gone(rows, context);
  const isGone = new Set(gone.map(({ id }) => id));
  const ids = rows.flatMap(({ task, isLater }) => (isGone.has(task.id) || isLater ? [] : [task.id]));
  const refs = await Promise.all(ids.map((id) => access.find(id, context)));
  const jobs = await findJobs(
    access,
    refs.filter((ref) => ref !== null),
    false,
    context,
  );
  const loaded = await loadTasks(
    access,
    jobs.filter((job) => job !== null),
    TREE_BOUNDS,
    context,
  );
  return [...gone, ...loaded.map(({ task }) => task)];
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
