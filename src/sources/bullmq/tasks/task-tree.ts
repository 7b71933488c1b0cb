/** Flows: parents and children of jobs (bullmq, classes/flow-producer; commands/addParentJob, moveToFinished). */
import { withoutSentWith } from '../../../history/merge/record-fields.ts';
import type { Task, TaskDetail, TaskRelation, TaskTree } from '../../../model.ts';
import { RedisError } from '../../../redis/problems.ts';
import { asCount, asTexts } from '../../../redis/replies.ts';
import { ALL_TASKS } from '../../../source/task-query.ts';
import { type QueueAccess, readPer } from '../access/queue-access.ts';
import { type JobRef, keyCommand } from '../access/queue-reads.ts';
import { ROW_BOUNDS, type ValueBounds } from '../jobs/job-hash.ts';
import { findJobs, findTasks, loadTasks, rootsOf } from '../jobs/job-loader.ts';
import type { KnownJob } from '../jobs/job-row.ts';
import { findRemoved, type JobReads, type RecordedJob, removedOnes, walkRecorded } from './removed-jobs.ts';

/** Jobs of a flow, as many as the contract lists at most. */
export const MOST_JOBS = 20_000;

/** Children of a job. */
export interface Children {
  /** Their full keys, sorted. */
  readonly keys: readonly string[];
  /** Whether there are more. */
  readonly isCut: boolean;
}

const NONE: Children = { keys: [], isCut: false };

/** Where a parent keeps its children: those it waits for, those that succeeded, and those that failed. */
const CHILD_KEYS = [
  { part: 'dependencies', count: 'SCARD', all: 'SMEMBERS', some: 'SRANDMEMBER' },
  { part: 'processed', count: 'HLEN', all: 'HKEYS', some: 'HRANDFIELD' },
  { part: 'failed', count: 'HLEN', all: 'HKEYS', some: 'HRANDFIELD' },
] as const;
const UNSUCCESSFUL = 'unsuccessful';

/**
 * Reads the children of jobs, including those that have been removed.
 *
 * @param most children of one job
 */
export async function childrenOf(
  access: QueueAccess,
  jobs: readonly JobRef[],
  most: number,
): Promise<readonly Children[]> {
  const present = await access.read(
    jobs.map(({ queue, id }) => ({
      queue,
      command: [
        'EXISTS',
        ...[...CHILD_KEYS.map(({ part }) => part), UNSUCCESSFUL].map((part) => queue.key(`${id}:${part}`)),
      ],
    })),
  );
  const parents = jobs.filter((_, index) => asCount(present[index]) > 0);
  const counted = await readPer(access, parents, ({ queue, id }) =>
    CHILD_KEYS.map(({ part, count }) => keyCommand(queue, count, `${id}:${part}`)),
  );
  const isLarge = (job: JobRef, at: number): boolean => asCount(counted.get(job)?.[at]) > most;
  const listed = await readPer(access, parents, (job) => [
    ...CHILD_KEYS.map(({ part, all, some }, at) =>
      isLarge(job, at)
        ? keyCommand(job.queue, some, `${job.id}:${part}`, most)
        : keyCommand(job.queue, all, `${job.id}:${part}`),
    ),
    keyCommand(job.queue, 'ZRANGE', `${job.id}:${UNSUCCESSFUL}`, 0, most - 1),
  ]);
  return jobs.map((job) => {
    const replies = listed.get(job);
    if (replies === undefined) return NONE;
    const keys = new Set(replies.flatMap(asTexts));
    const isCut = keys.size > most || CHILD_KEYS.some((_, at) => isLarge(job, at));
    return { keys: [...keys].sort().slice(0, most), isCut };
  });
}

/** How much of a flow to read. */
interface TreeLimits {
  readonly bounds: ValueBounds;
  /** Most jobs. */
  readonly most: number;
}

/** Previews are shorter. */
const WHOLE_TREE: TreeLimits = { bounds: { ...ROW_BOUNDS, keep: 1_024 }, most: MOST_JOBS };

/** The jobs of a flow that are in Redis, nearest relatives of the requested one first. */
interface LiveTree extends TaskTree {
  /** Of children that only their parent names: they were removed, or name another parent. */
  readonly relations: readonly TaskRelation[];
}

/**
 * Reads the flow of a job: its parent and its children, and so on from there.
 *
 * @returns `null` when there is no such job
 */
async function readLiveTree(
  access: QueueAccess,
  taskId: string,
  { bounds, most }: TreeLimits,
): Promise<LiveTree | null> {
  const [asked = null] = await access.find([taskId]);
  const [first = null] = asked === null ? [] : await findJobs(access, [asked], true);
  if (first === null) return null;
  const jobs: KnownJob[] = [];
  const seen = new Set([first.queue.key(first.id)]);
  const relations: TaskRelation[] = [];
  let isCut = false;

  /** The jobs of these keys that are new, of queues that are shown. */
  function unseen(keys: readonly string[]): readonly JobRef[] {
    return keys.flatMap((key) => {
      const ref = seen.has(key) ? null : access.jobOfKey(key);
      if (ref === null) return [];
      if (seen.size >= most) {
        isCut = true;
        return [];
      }
      seen.add(key);
      return [ref];
    });
  }

  for (let level: readonly KnownJob[] = [first]; level.length > 0; ) {
    jobs.push(...level);
    const children = await childrenOf(access, level, most);
    const next = level.flatMap((job, index) => {
      const { keys, isCut: isOwnCut } = children[index] ?? NONE;
      isCut ||= isOwnCut;
      relations.push(...keys.flatMap((key) => flowOf(access.taskIdOfKey(key), job.taskId)));
      return unseen([...(job.facts.parentKey === null ? [] : [job.facts.parentKey]), ...keys]);
    });
    level = await findJobs(access, next, false);
  }
  const roots = await rootsOf(access, [first]);
  const rootId = roots.get(first) ?? first.taskId;
  return { rootId, tasks: await loadTasks(access, jobs, bounds), relations, truncated: isCut };
}

/** A parent runs after its children, so relations lead from child to parent. */
function flowOf(child: string | null, parent: string | null): readonly TaskRelation[] {
  return child === null || parent === null ? [] : [{ parent: child, child: parent, relation: 'flow' }];
}

/**
 * Answers `getTaskTree`: the flow of a job across queues, from the jobs in Redis that are related to the job or its root,
 * and those recorded under the same root. Children that are neither are known by reference.
 *
 * @returns `null` when there is no such job
 */
export async function readTree(
  reads: JobReads,
  id: string,
  limits: TreeLimits = WHOLE_TREE,
): Promise<TaskTree | null> {
  const { access, context } = reads;
  const own = await readLiveTree(access, id, limits);
  const found = own === null ? await findRemoved(reads, id) : null;
  const asked = found && withoutDetail(found);
  if (own === null && asked === null) return null;
  const rootId = own?.rootId ?? asked?.rootId ?? id;
  const live = own ?? (rootId === id ? null : await readLiveTree(access, rootId, limits)) ?? NO_TREE;
  const known = new Set(live.tasks.map((task) => task.id));
  const rest = await readRest(reads, rootId, known, limits).catch((error: unknown) => {
    // Without the store, the jobs in Redis are still shown.
    if (own === null || context.signal.aborted || error instanceof RedisError) throw error;
    return null;
  });
  const tasks = [...live.tasks, ...(rest ?? [])];
  if (asked !== null && !tasks.some((task) => task.id === id)) tasks.push(asked);
  return {
    rootId,
    tasks: tasks.slice(0, MOST_JOBS),
    relations: relationsOf([...live.tasks.flatMap(ofParent), ...live.relations, ...tasks.flatMap(ofParent)]),
    truncated: rest === null || live.truncated === true || tasks.length > MOST_JOBS,
  };
}

const NO_TREE: LiveTree = { rootId: '', tasks: [], relations: [], truncated: false };

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
  { bounds }: TreeLimits,
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
  return [...gone, ...(await findTasks(access, ids, false, bounds))];
}

function ofParent({ id, parentId = null }: Task): readonly TaskRelation[] {
  return flowOf(id, parentId);
}

/** Each relation once. */
function relationsOf(relations: readonly TaskRelation[]): readonly TaskRelation[] {
  return [...new Map(relations.map((one) => [JSON.stringify([one.parent, one.child]), one])).values()];
}
