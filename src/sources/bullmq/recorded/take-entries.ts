/** Reads the jobs that events mention, and processes both until the jobs end. */
import type { LruCache } from '../../../lru-cache.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import type { Steps } from '../../../scheduler.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { type JobRef, type QueueRef, taskIdOf } from '../access/queue-reads.ts';
import { jobIdOf } from '../events/event-item.ts';
import type { StreamEntry } from '../events/stream-entry.ts';
import { factsCommand, factsOf } from '../jobs/job-facts.ts';
import { rootsOf } from '../jobs/job-family.ts';
import { ALWAYS_READ, readValues, type ValueBounds, type ValueField } from '../jobs/job-values.ts';
import {
  addEvent,
  addProgress,
  addReading,
  type FollowedJob,
  followJob,
  isLateRemoval,
  type JobEnd,
  type JobReading,
} from './followed-job.ts';
import type { StreamNews } from './stream-news.ts';

/** Entries that are taken in one step. */
export const STEP = 20;

/** Events that report where a job is, or how far it has come. */
const OF_A_JOB: ReadonlySet<string> = new Set([
  'added',
  'waiting',
  'delayed',
  'waiting-children',
  'active',
  'completed',
  'failed',
  'removed',
  'progress',
]);

/** An entry about a job. */
interface JobEntry {
  readonly queue: QueueRef;
  readonly jobId: string;
  readonly taskId: string;
  readonly entry: StreamEntry;
}

/** A job that has ended. */
export interface EndedJob {
  readonly queue: string;
  readonly taskId: string;
  readonly job: FollowedJob;
  readonly end: JobEnd;
  /** It was read after its end. */
  readonly isRead: boolean;
}

/** The entries that report where a job is, or how far it has come. */
export function entriesOfJobs({ queue, entries }: StreamNews): readonly JobEntry[] {
  return entries.flatMap((entry) => {
    const jobId = jobIdOf(entry);
    const isOfJob = jobId !== null && OF_A_JOB.has(entry.fields.get('event') ?? '');
    return isOfJob && !isLateRemoval(entry)
      ? [{ queue, jobId, taskId: taskIdOf(queue.name, jobId), entry }]
      : [];
  });
}

/** The jobs to read, by task id. */
export function mentionedJobs(
  jobs: LruCache<FollowedJob>,
  entries: readonly JobEntry[],
): ReadonlyMap<string, MentionedJob> {
  const mentioned = new Map<string, MentionedJob>();
  for (const { queue, jobId, taskId, entry } of entries) {
    const event = entry.fields.get('event');
    // The event has all data, and there may be thousands of them.
    if (event === 'progress') continue;
    const known = mentioned.get(taskId);
    const isNew = known?.isNew || event === 'added' || jobs.get(taskId)?.reading == null;
    const hasFailed =
      known?.hasFailed || event === 'failed' || event === 'delayed' || entry.fields.get('prev') === 'active';
    mentioned.set(taskId, { queue, id: jobId, taskId, isNew, hasFailed: hasFailed && event !== 'completed' });
  }
  return mentioned;
}

/** Processes entries and the data that was read after them. @returns the jobs that have ended, the oldest end first */
export function* takeEntries(
  jobs: LruCache<FollowedJob>,
  entries: readonly JobEntry[],
  readings: ReadonlyMap<string, JobReading | null>,
): Steps<EndedJob[]> {
  const ended: EndedJob[] = [];
  /** A job that is added again has been read in its latest life. */
  const lastAdded = new Map<string, StreamEntry>();
  for (const { taskId, entry } of entries) {
    if (entry.fields.get('event') === 'added') lastAdded.set(taskId, entry);
  }
  for (const [index, { queue, taskId, entry }] of entries.entries()) {
    if (index % STEP === STEP - 1) yield;
    const event = entry.fields.get('event');
    if (event === 'progress') {
      addProgress(jobs.get(taskId), entry);
      continue;
    }
    const isAdded = event === 'added';
    const job = isAdded
      ? followJob(entry.fields.get('name') ?? null, entry.time)
      : (jobs.get(taskId) ?? followJob(null, null));
    if (lastAdded.get(taskId) === entry) lastAdded.delete(taskId);
    const read = lastAdded.has(taskId) ? null : (readings.get(taskId) ?? null);
    const own = read !== null && isOfLife(read, job, entry.time) ? read : null;
    if (own !== null) addReading(job, own);
    const end = addEvent(job, entry, own !== null);
    if (end === null) jobs.set(taskId, job);
    else {
      jobs.delete(taskId);
      ended.push({
        queue: queue.name,
        taskId,
        job,
        end,
        isRead: own !== null && own.facts.finishedAt !== null,
      });
    }
  }
  return ended;
}

/** Whether a job that was read is the one that the entry is about, and not a later one with its id. */
function isOfLife({ facts }: JobReading, job: FollowedJob, time: number): boolean {
  if (job.reading !== null) return job.reading.facts.addedAt === facts.addedAt;
  return job.addedAt !== null || facts.addedAt === null || facts.addedAt <= time;
}

/** A job to read. */
interface MentionedJob extends JobRef {
  readonly taskId: string;
  /** Its data and options have not been read. */
  readonly isNew: boolean;
  /** One of its runs has failed. */
  readonly hasFailed: boolean;
}

/** For larger texts, only the lengths are read. */
const BOUNDS: ValueBounds = { keep: ALWAYS_READ, largest: ALWAYS_READ, budget: 0 };

/**
 * Reads jobs: one command for each, two more for the texts of one that is new or has failed, and one for each parent
 * that is not among them.
 *
 * @returns by task id; `null` for a job that is gone
 */
export async function readMentioned(
  access: QueueAccess,
  jobs: readonly MentionedJob[],
  options: ReadOptions,
): Promise<ReadonlyMap<string, JobReading | null>> {
  const replies = await access.read(
    jobs.map(({ queue, id }) => factsCommand(queue, id)),
    options,
  );
  const known = jobs.flatMap((job, index) => {
    const facts = factsOf(replies[index]);
    return facts === null ? [] : [{ ...job, facts }];
  });
  const [values, roots] = await Promise.all([
    readValues(
      access,
      known.map((job) => ({ job, fields: fieldsOf(job) })),
      BOUNDS,
      options,
    ),
    rootsOf(access, known, options),
  ]);
  const readings = new Map<string, JobReading | null>(jobs.map(({ taskId }) => [taskId, null]));
  for (const [index, job] of known.entries()) {
    const { taskId, facts } = job;
    readings.set(taskId, {
      facts,
      values: values[index] ?? {},
      parentId: facts.parentKey === null ? null : access.taskIdOfKey(facts.parentKey),
      rootId: roots.get(job) ?? null,
    });
  }
  return readings;
}

function fieldsOf({ isNew, hasFailed }: MentionedJob): readonly ValueField[] {
  return [
    ...(isNew ? (['data', 'opts', 'progress'] as const) : []),
    ...(hasFailed ? (['failedReason', 'stacktrace'] as const) : []),
  ];
}
