/** Reads jobs with all displayed data. */

import type { Task } from '../../../model.ts';
import { redactTask } from '../../../redact.ts';
import { asCount, asNumber } from '../../../redis/replies.ts';
import { readFields } from '../access/hash-reads.ts';
import { type QueueAccess, readPer } from '../access/queue-access.ts';
import { type JobRef, keyCommand, type QueueCommand } from '../access/queue-reads.ts';
import {
  type JobContent,
  type JobFacts,
  type JobValues,
  ROW_BOUNDS,
  readContents,
  readFacts,
  readValues,
  type SetEntry,
  type ValueBounds,
  type ValueField,
} from './job-hash.ts';
import { fieldsToShow, isOfChild, type KnownJob, knownJob, taskOf } from './job-row.ts';
import { ENDED_PARTS, JOB_SETS, type JobSet, type SetPart, withPaused } from './job-sets.ts';

/** Whether jobs in this set have ended. */
const isEnded = ({ part }: JobSet): boolean => part === 'completed' || part === 'failed';

/** A job that was found in a set. */
export interface FoundJob extends SetEntry {
  /** The data that has been read from its hash; `null` for none. */
  readonly content: JobContent | null;
}

/**
 * Reads the small fields of jobs that were found in sets. A job that has been removed since is left out, and
 * so is one that has ended or been retried: its new set lists it.
 *
 * @param withTexts whether most of them will be shown, so that their texts are read, too
 */
export async function loadKnown(
  access: QueueAccess,
  found: readonly FoundJob[],
  withTexts: boolean,
): Promise<readonly KnownJob[]> {
  const missing = found.filter(({ content }) => content === null);
  const contents = await readContents(access, missing, withTexts);
  const late = new Map(missing.map((entry, index) => [entry, contents[index] ?? null]));
  const jobs = found.flatMap((entry) => {
    const content = entry.content ?? late.get(entry) ?? null;
    return content === null ? [] : [knownJob(entry, content)];
  });
  const doubtful = jobs.filter(isDoubtful);
  if (doubtful.length === 0) return jobs;
  const scores = await readPer(access, doubtful, ({ queue, id }) =>
    ENDED_PARTS.map((part) => keyCommand(queue, 'ZSCORE', part, id)),
  );
  return jobs.filter((job) => {
    const own = scores.get(job);
    const ends = ENDED_PARTS.filter((_, index) => asNumber(own?.[index]) !== null);
    return (
      own === undefined || (isEnded(job.set) ? ends.some((part) => part === job.set.part) : ends.length === 0)
    );
  });
}

/** Whether its fields and its set disagree on whether it has ended. */
function isDoubtful({ set, facts }: KnownJob): boolean {
  return isEnded(set) !== (facts.finishedAt !== null);
}

/** A task without values, for filters that need none. */
export function bareTask(access: QueueAccess, job: KnownJob, now: number): Task {
  return taskOf(job, { parentId: access.taskIdOfKey(job.facts.parentKey), rootId: null }, {}, now);
}

/** Reads tasks as they are shown, in the order of the jobs. */
export async function loadTasks(
  access: QueueAccess,
  jobs: readonly KnownJob[],
  bounds: ValueBounds,
): Promise<readonly Task[]> {
  return (await loadWithValues(access, jobs, bounds, [])).map(({ task }) => task);
}

/**
 * The tasks of these ids that exist.
 *
 * @param isSure as of {@link findJobs}
 */
export async function findTasks(
  access: QueueAccess,
  taskIds: readonly string[],
  isSure: boolean,
  bounds: ValueBounds,
): Promise<readonly Task[]> {
  const refs = (await access.find(taskIds)).filter((ref) => ref !== null);
  return loadTasks(access, await findJobs(access, refs, isSure), bounds);
}

/** @param more texts to read beside those that a row shows */
export async function loadWithValues(
  access: QueueAccess,
  jobs: readonly KnownJob[],
  bounds: ValueBounds,
  more: readonly ValueField[],
): Promise<readonly { readonly task: Task; readonly values: JobValues }[]> {
  const unread = jobs.filter(({ values }) => values === null);
  const requests = unread.map((job) => ({ job, fields: [...fieldsToShow(job), ...more] }));
  const [read, roots, lost] = await Promise.all([
    readValues(access, requests, bounds),
    rootsOf(access, jobs),
    findLostJobs(
      access,
      jobs.filter(({ set }) => set.part === 'active'),
    ),
  ]);
  const values = new Map(unread.map((job, index) => [job, read[index] ?? {}]));
  const now = Date.now();
  return jobs.map((job) => {
    const context = {
      parentId: access.taskIdOfKey(job.facts.parentKey),
      rootId: roots.get(job) ?? null,
      isLost: lost.has(job),
    };
    const own = job.values === null ? (values.get(job) ?? {}) : shownOf(job, job.values);
    const task = redactTask(taskOf(job, context, own, now), access.redactor, bounds.keep);
    return { task, values: own };
  });
}

/** Those of the texts that a job shows in its state. */
function shownOf(job: KnownJob, values: JobValues): JobValues {
  const shown: JobValues = {};
  for (const field of fieldsToShow(job)) {
    const value = values[field];
    if (value !== undefined) shown[field] = value;
  }
  return shown;
}

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

/**
 * Finds the active jobs that their workers have lost. A worker renews a lock for each of its jobs; here the
 * lock is gone while the job is still active (bullmq, commands/moveStalledJobsToWait).
 */
export async function findLostJobs<Job extends JobRef>(
  access: QueueAccess,
  active: readonly Job[],
): Promise<ReadonlySet<Job>> {
  const lock = ({ queue, id }: JobRef): QueueCommand => keyCommand(queue, 'EXISTS', `${id}:lock`);
  const locks = await access.read(active.map(lock));
  const unlocked = active.filter((_, index) => locks[index] === 0);
  // A job that has just ended has no lock either.
  const again = await readPer(access, unlocked, (job) => [
    lock(job),
    keyCommand(job.queue, 'LPOS', 'active', job.id, 'MAXLEN', 10_000),
  ]);
  const isLost = ([locked, place]: readonly unknown[]): boolean => locked === 0 && asNumber(place) !== null;
  return new Set([...again].flatMap(([job, replies]) => (isLost(replies) ? [job] : [])));
}

/**
 * The failed jobs that failed because of a child. That takes one command for each failed job, and two more for each
 * with a failed child.
 */
export async function findConsequences<Job extends JobRef>(
  access: QueueAccess,
  failed: readonly Job[],
): Promise<ReadonlySet<Job>> {
  const replies = await access.read(
    failed.map(({ queue, id }) => keyCommand(queue, 'EXISTS', `${id}:unsuccessful`)),
  );
  const parents = failed.filter((_, index) => asCount(replies[index]) > 0);
  const requests = parents.map((job) => ({ job, fields: ['failedReason'] as const }));
  const values = await readValues(access, requests, ROW_BOUNDS);
  return new Set(parents.filter((_, index) => isOfChild(values[index]?.failedReason?.text)));
}

/** Flags those of the tasks that failed because of a child, of which no text has been read. */
export async function flagConsequences(
  access: QueueAccess,
  jobs: readonly KnownJob[],
  tasks: readonly Task[],
): Promise<readonly Task[]> {
  const failed = jobs.filter(({ set }) => set.part === 'failed');
  const flagged = await findConsequences(access, failed);
  return tasks.map((task, index) => {
    const job = jobs[index];
    return job !== undefined && flagged.has(job) ? { ...task, flags: ['consequence'] } : task;
  });
}

/** How far a list is searched from each end: less than a millisecond of Redis' time. */
const LONGEST_SEARCH = 20_000;

const SORTED: readonly SetPart[] = ['delayed', 'prioritized', 'waiting-children', 'failed', 'completed'];
const OPEN: readonly SetPart[] = ['delayed', 'prioritized', 'waiting-children', 'active'];
const LISTS: readonly SetPart[] = ['paused', 'wait', 'active'];

/** A job that exists. */
interface PresentJob extends JobRef {
  readonly facts: JobFacts;
}

/**
 * Reads jobs by their ids, with the sets that they are in. Jobs that do not exist, or are in no set, are left out.
 *
 * @param isSure whether to search waiting lists, too; otherwise a job that is nowhere else counts as waiting
 */
export async function findJobs(
  access: QueueAccess,
  refs: readonly JobRef[],
  isSure: boolean,
): Promise<readonly KnownJob[]> {
  const all = await readFacts(access, refs);
  const present = refs.flatMap((ref, index): PresentJob[] => {
    const facts = all[index] ?? null;
    return facts === null ? [] : [{ ...ref, facts }];
  });
  const likely = await findInSets(access, present, ({ facts }) =>
    facts.finishedAt === null ? OPEN : ENDED_PARTS,
  );
  // The job has moved meanwhile, or its fields and its set disagree.
  const rest = present.filter((job) => !likely.has(job));
  const others = await findInSets(access, rest, () => (isSure ? [...LISTS, ...SORTED] : SORTED));
  const lost = rest.filter((job) => !others.has(job));
  const waiting = new Set(isSure ? await deepInLists(access, lost) : lost);
  const jobs = present.flatMap((job): KnownJob[] => {
    const found = likely.get(job) ?? others.get(job) ?? (waiting.has(job) ? IN_WAIT : null);
    const set = JOB_SETS.find(({ part }) => part === found?.part);
    if (found === null || set === undefined) return [];
    const { queue, id, facts } = job;
    return [knownJob({ queue, id, set, score: found.score }, { facts, values: null })];
  });
  return withPaused(access.read, jobs);
}

/** Jobs whose waiting lists are too long to be searched whole. */
async function deepInLists<Job extends JobRef>(
  access: QueueAccess,
  refs: readonly Job[],
): Promise<readonly Job[]> {
  const lengths = await readPer(access, refs, ({ queue }) =>
    ['wait', 'paused'].map((part) => keyCommand(queue, 'LLEN', part)),
  );
  const isDeep = (reply: unknown): boolean => asCount(reply) > 2 * LONGEST_SEARCH;
  return refs.filter((ref) => lengths.get(ref)?.some(isDeep));
}

/** The set that holds a job. */
interface FoundIn {
  readonly part: SetPart;
  readonly score: number | null;
}

const IN_WAIT: FoundIn = { part: 'wait', score: null };

async function findInSets(
  access: QueueAccess,
  jobs: readonly PresentJob[],
  partsOf: (job: PresentJob) => readonly SetPart[],
): Promise<ReadonlyMap<PresentJob, FoundIn>> {
  const asked = jobs.flatMap((job) =>
    partsOf(job).flatMap((part) => commandsOf(job, part).map((command) => ({ job, part, command }))),
  );
  const replies = await access.read(asked.map(({ command }) => command));
  const found = new Map<PresentJob, FoundIn>();
  for (const [index, { job, part }] of asked.entries()) {
    const value = asNumber(replies[index]);
    // If two sets have it, the later one counts: the job moved there while they were read.
    if (value !== null) found.set(job, { part, score: SORTED.includes(part) ? value : null });
  }
  return found;
}

function commandsOf({ queue, id }: JobRef, part: SetPart): readonly QueueCommand[] {
  if (SORTED.includes(part)) return [keyCommand(queue, 'ZSCORE', part, id)];
  return [
    keyCommand(queue, 'LPOS', part, id, 'RANK', -1, 'MAXLEN', LONGEST_SEARCH),
    keyCommand(queue, 'LPOS', part, id, 'MAXLEN', LONGEST_SEARCH),
  ];
}
