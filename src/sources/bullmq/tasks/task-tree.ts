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

/** The part of a flow that was read. */
interface Flow {
  /** Nearest relatives of the requested job first. */
  readonly jobs: readonly KnownJob[];
  /** The task that it begins with, or the requested one. */
  readonly rootId: string;
  /** Includes those from children that only their parent names: they were removed, or name another parent. */
  readonly relations: readonly TaskRelation[];
  readonly isCut: boolean;
}

/**
 * Reads the flow of a job: its parent and its children, and so on from there.
 *
 * @param most jobs to read
 * @returns `null` when there is no such job
 */
async function readFlow(access: QueueAccess, asked: JobRef, most: number): Promise<Flow | null> {
  const [first = null] = await findJobs(access, [asked], true);
  if (first === null) return null;
  const jobs: KnownJob[] = [];
  const seen = new Set([asked.queue.key(asked.id)]);
  const links: { readonly parent: KnownJob; readonly childKey: string }[] = [];
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
      const { keys, isCut: isOwnCut } = children[index] ?? { keys: [], isCut: false };
      isCut ||= isOwnCut;
      for (const childKey of keys) links.push({ parent: job, childKey });
      return unseen([...(job.facts.parentKey === null ? [] : [job.facts.parentKey]), ...keys]);
    });
    level = await findJobs(access, next, false);
  }
  const roots = await rootsOf(access, [first]);
  return {
    jobs,
    rootId: roots.get(first) ?? first.taskId,
    relations: relationsOf(access, jobs, links),
    isCut,
  };
}

/** A parent runs after its children, so relations lead from child to parent. */
function relationsOf(
  access: QueueAccess,
  jobs: readonly KnownJob[],
  links: readonly { readonly parent: KnownJob; readonly childKey: string }[],
): readonly TaskRelation[] {
  const known = jobs.flatMap(({ taskId, facts }): TaskRelation[] => {
    const parent = access.taskIdOfKey(facts.parentKey);
    return parent === null ? [] : [{ parent: taskId, child: parent, relation: 'flow' }];
  });
  const parentOf = new Map(jobs.map(({ queue, id, facts }) => [queue.key(id), facts.parentKey]));
  const byReference = links.flatMap(({ parent, childKey }): TaskRelation[] => {
    if (parentOf.get(childKey) === parent.queue.key(parent.id)) return [];
    const child = access.taskIdOfKey(childKey);
    return child === null ? [] : [{ parent: child, child: parent.taskId, relation: 'flow' }];
  });
  return [...known, ...byReference];
}

/** How much of a flow to read. */
interface TreeLimits {
  readonly bounds: ValueBounds;
  /** Most jobs. */
  readonly most: number;
}

/** Previews are shorter. */
const WHOLE_TREE: TreeLimits = { bounds: { ...ROW_BOUNDS, keep: 1_024 }, most: MOST_JOBS };

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
    relations: withParents(live.relations ?? [], tasks),
    truncated: rest === null || live.truncated === true || tasks.length > MOST_JOBS,
  };
}

const NO_TREE: TaskTree = { rootId: '', tasks: [], relations: [], truncated: false };

async function readLiveTree(
  access: QueueAccess,
  taskId: string,
  { bounds, most }: TreeLimits,
): Promise<TaskTree | null> {
  const [asked = null] = await access.find([taskId]);
  const flow = asked === null ? null : await readFlow(access, asked, most);
  if (flow === null) return null;
  const { rootId, jobs, relations, isCut } = flow;
  return { rootId, tasks: await loadTasks(access, jobs, bounds), relations, truncated: isCut };
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

/** A parent runs after its children, so relations lead from child to parent. */
function withParents(relations: readonly TaskRelation[], tasks: readonly Task[]): readonly TaskRelation[] {
  const all = new Map(relations.map((one) => [JSON.stringify([one.parent, one.child]), one]));
  for (const { id, parentId = null } of tasks) {
    if (parentId === null) continue;
    all.set(JSON.stringify([id, parentId]), { parent: id, child: parentId, relation: 'flow' });
  }
  return [...all.values()];
}
