/** Processes events about jobs, and the data that was read about them, until they end. */
import type { LruCache } from '../../../lru-cache.ts';
import type { Steps } from '../../../scheduler.ts';
import { type QueueRef, taskIdOf } from '../access/queue-ref.ts';
import { jobIdOf } from '../events/event-item.ts';
import type { StreamEntry } from '../events/stream-entry.ts';
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
import type { MentionedJob } from './read-mentioned.ts';
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
export interface JobEntry {
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
