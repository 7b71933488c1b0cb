import type { TaskRelation, TaskTree } from '../../../model.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { JobRef } from '../access/queue-reads.ts';
import { childrenOf, rootsOf } from '../jobs/job-family.ts';
import { findJobs, loadTasks } from '../jobs/job-loader.ts';
import type { KnownJob } from '../jobs/job-row.ts';
import { ROW_BOUNDS } from '../jobs/job-values.ts';

/** Jobs of a flow, as many as the contract lists at most. */
export const MOST_JOBS = 20_000;
/** Previews are shorter. */
export const TREE_BOUNDS = { ...ROW_BOUNDS, keep: 1_024 };

/** The part of a flow that was read. */
export interface Flow {
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
export async function readFlow(access: QueueAccess, asked: JobRef, most: number): Promise<Flow | null> {
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
  const known = jobs.flatMap(({ taskId, facts: { parentKey } }): TaskRelation[] => {
    const parent = parentKey === null ? null : access.taskIdOfKey(parentKey);
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

/** Answers `getTaskTree`: the flow of a job across queues. Removed children are known by reference. */
export async function readFlowTree(access: QueueAccess, taskId: string): Promise<TaskTree | null> {
  const [asked = null] = await access.find([taskId]);
  const flow = asked === null ? null : await readFlow(access, asked, MOST_JOBS);
  if (flow === null) return null;
  return {
    rootId: flow.rootId,
    tasks: await loadTasks(access, flow.jobs, TREE_BOUNDS),
    relations: flow.relations,
    truncated: flow.isCut,
  };
}
