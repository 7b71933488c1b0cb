/** Reads jobs with all displayed data. */
import type { Task } from '../../../model.ts';
import { redactTask } from '../../../redact.ts';
import { asNumber } from '../../../redis/replies.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { JobRef, QueueCommand, ReadCommands } from '../access/queue-reads.ts';
import { findJobs } from './find-jobs.ts';
import {
  FACT_NAMES,
  type JobContent,
  type JobFacts,
  readFacts,
  readSmallJobs,
  type SetEntry,
} from './job-facts.ts';
import { rootsOf } from './job-family.ts';
import { fieldsToShow, type KnownJob, knownJob, taskOf } from './job-row.ts';
import { withPaused } from './job-sets.ts';
import { type JobValues, readValues, type ValueBounds, type ValueField } from './job-values.ts';

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
  const read: ReadCommands = access.read;
  const contents = await (withTexts ? readSmallJobs : readFacts)(read, missing);
  const late = new Map(missing.map((entry, index) => [entry, contents[index] ?? null]));
  const jobs = found.flatMap((entry) => {
    const content = entry.content ?? late.get(entry) ?? null;
    return content === null ? [] : [knownJob(entry, content)];
  });
  const doubtful = jobs.filter(isDoubtful);
  if (doubtful.length === 0) return jobs;
  const scores = await access.read(doubtful.flatMap(scoreCommands));
  const moved = new Set(
    doubtful.filter((job, index) => {
      const [ended, failed] = [asNumber(scores[2 * index]), asNumber(scores[2 * index + 1])];
      if (job.set.part === 'completed') return ended === null;
      if (job.set.part === 'failed') return failed === null;
      return ended !== null || failed !== null;
    }),
  );
  return jobs.filter((job) => !moved.has(job));
}

/** Whether its fields and its set disagree on whether it has ended. */
function isDoubtful({ set, facts }: KnownJob): boolean {
  return (set.part === 'completed' || set.part === 'failed') !== (facts.finishedAt !== null);
}

function scoreCommands({ queue, id }: KnownJob): readonly QueueCommand[] {
  return (['completed', 'failed'] as const).map((part) => ({
    queue,
    command: ['ZSCORE', queue.key(part), id],
  }));
}

/** A task without values, for filters that need none. */
export function bareTask(access: QueueAccess, job: KnownJob, now: number): Task {
  const { parentKey } = job.facts;
  const parentId = parentKey === null ? null : access.taskIdOfKey(parentKey);
  return taskOf(job, { parentId, rootId: null }, {}, now);
}

/**
 * Reads tasks as they are shown, in the order of the jobs.
 *
 * @param more texts to read beside those that a row shows
 */
export async function loadTasks(
  access: QueueAccess,
  jobs: readonly KnownJob[],
  bounds: ValueBounds,
  more: readonly ValueField[] = [],
): Promise<readonly { readonly task: Task; readonly values: JobValues }[]> {
  const requests = jobs.map((job) => ({
    job,
    fields: job.values === null ? [...fieldsToShow(job), ...more] : [],
    size: job.size,
  }));
  const [values, roots, lost] = await Promise.all([
    readValues(access, requests, bounds),
    rootsOf(access, jobs),
    findLostJobs(
      access,
      jobs.filter(({ set }) => set.part === 'active'),
    ),
  ]);
  const now = Date.now();
  return jobs.map((job, index) => {
    const { parentKey } = job.facts;
    const context = {
      parentId: parentKey === null ? null : access.taskIdOfKey(parentKey),
      rootId: roots.get(job) ?? null,
      isLost: lost.has(job),
    };
    const own = job.values === null ? (values[index] ?? {}) : shownOf(job, job.values);
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

/**
 * Finds the active jobs that their workers have lost. A worker renews a lock for each of its jobs; here the
 * lock is gone while the job is still active (bullmq, commands/moveStalledJobsToWait).
 */
export async function findLostJobs<Job extends JobRef>(
  access: QueueAccess,
  active: readonly Job[],
): Promise<ReadonlySet<Job>> {
  const lock = ({ queue, id }: JobRef): QueueCommand => ({
    queue,
    command: ['EXISTS', queue.key(`${id}:lock`)],
  });
  const locks = await access.read(active.map(lock));
  const unlocked = active.filter((_, index) => locks[index] === 0);
  // A job that has just ended has no lock either.
  const again = await access.read(
    unlocked.flatMap((job) => [
      lock(job),
      { queue: job.queue, command: ['LPOS', job.queue.key('active'), job.id, 'MAXLEN', '10000'] as const },
    ]),
  );
  return new Set(
    unlocked.filter((_, index) => again[2 * index] === 0 && asNumber(again[2 * index + 1]) !== null),
  );
}

/**
 * Reads jobs again, small ones with their texts, and finds the sets that they are in by now. A job that has been
 * removed is left out.
 */
export async function reloadJobs(
  access: QueueAccess,
  jobs: readonly KnownJob[],
): Promise<readonly KnownJob[]> {
  const read: ReadCommands = access.read;
  const contents = await readSmallJobs(read, jobs);
  const moved: KnownJob[] = [];
  const reloaded = jobs.map((job, index) => {
    const content = contents[index] ?? null;
    if (content === null) return null;
    if (!mayHaveMoved(job, content.facts)) return knownJob(job, content);
    moved.push(job);
    return job;
  });
  const found = await findJobs(access, moved, false);
  const current = new Map(moved.map((job, index) => [job, found[index] ?? null]));
  const known = reloaded.flatMap((job) =>
    job === null ? [] : ((current.has(job) ? current.get(job) : job) ?? []),
  );
  return withPaused(read, known);
}

/**
 * Whether a job may be in another set than before. BullMQ changes one of the small fields when it moves a job, except
 * when it gives an active job back or wakes a parent.
 */
function mayHaveMoved({ set, facts }: KnownJob, now: JobFacts): boolean {
  if (set.part === 'active' || set.part === 'waiting-children') return true;
  return FACT_NAMES.some((name) => facts[name] !== now[name]);
}
