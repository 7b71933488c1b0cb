/** Parents and children of jobs: flows (bullmq, classes/flow-producer; commands/addParentJob, moveToFinished). */

import { asCount, asTexts } from '../../../redis/replies.ts';
import { type QueueAccess, readFields, readPer } from '../access/queue-access.ts';
import { type JobRef, keyCommand } from '../access/queue-reads.ts';
import type { KnownJob } from './job-row.ts';

/** In deeper flows the root is not searched. */
const DEEPEST = 100;

/**
 * Finds the task that the flow of each job begins with: the job itself when it has no parent. Jobs whose root
 * is unknown are left out: a parent is gone, its queue is not shown, or they are their own ancestors.
 */
export async function rootsOf<Job extends JobRef & Pick<KnownJob, 'taskId' | 'facts'>>(
  access: QueueAccess,
  jobs: readonly Job[],
): Promise<ReadonlyMap<Job, string>> {
  const roots = new Map<Job, string>();
  for (const job of jobs) if (job.facts.parentKey === null) roots.set(job, job.taskId);
  const children = jobs.filter((job) => !roots.has(job));
  if (children.length === 0) return roots;
  /** By full key: the key of the parent, `''` for none, `null` for a job that does not exist. */
  const parents = new Map<string, string | null>();
  for (const { queue, id, facts } of jobs) parents.set(queue.key(id), facts.parentKey ?? '');
  let open = [...new Set(jobs.flatMap(({ facts }) => facts.parentKey ?? []))].filter(
    (key) => !parents.has(key),
  );
  for (let level = 0; open.length > 0 && level < DEEPEST; level += 1) {
    const refs = open.map((key) => access.jobOfKey(key));
    const asked = refs.filter((ref) => ref !== null);
    const replies = await readFields(access, asked, ['name', 'parentKey']);
    for (const [index, { queue, id }] of asked.entries()) {
      const [name, parentKey] = replies[index] ?? [];
      parents.set(queue.key(id), (name ?? null) === null ? null : (parentKey ?? ''));
    }
    for (const key of open) if (!parents.has(key)) parents.set(key, null);
    open = [...new Set(open.flatMap((key) => parents.get(key) || []))].filter((key) => !parents.has(key));
  }
  for (const job of children) {
    let key = job.queue.key(job.id);
    for (let level = 0; level <= DEEPEST; level += 1) {
      const parent = parents.get(key);
      if (parent === '') {
        const id = access.taskIdOfKey(key);
        if (id !== null) roots.set(job, id);
      }
      if (!parent) break;
      key = parent;
    }
  }
  return roots;
}

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
