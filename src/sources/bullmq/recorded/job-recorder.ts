/**
 * Records jobs while they are there, so that they stay when BullMQ removes them. The instance that holds the lease reads
 * the event streams about four times a second, reads each job that they mention, and records it when it has ended.
 */
import { debugChannel } from '../../../debug.ts';
import type { StoredHistory } from '../../../history/stored-history.ts';
import { createLruCache, type LruCache } from '../../../lru-cache.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import { pause } from '../../../waiting.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { type QueueRef, taskIdOf } from '../access/queue-ref.ts';
import { jobIdOf } from '../events/event-item.ts';
import type { StreamEntry } from '../events/stream-entry.ts';
import {
  addEvent,
  addedAtOf,
  addReading,
  changesOf,
  type FollowedJob,
  followJob,
  isLateRemoval,
  type JobEnd,
  type JobReading,
} from './followed-job.ts';
import { type MentionedJob, readMentioned } from './read-mentioned.ts';
import { createRecordedLives, type RecordedLives } from './recorded-lives.ts';
import {
  type BatchSizes,
  readPositions,
  readStreams,
  type StreamNews,
  type StreamPositions,
  writePositions,
} from './stream-news.ts';

/** A recorder that runs. */
export interface JobRecorder {
  /** Ends it. What is being read is not recorded. */
  close(): Promise<void>;
}

/** The text that keeps the positions. */
const POSITIONS = 'bullmq-streams';
/** How long to wait between two reads of the streams, in milliseconds. */
export interface RecorderPace {
  /** After one that found something. */
  readonly busyMs: number;
  readonly idleMs: number;
}

const PACE: RecorderPace = { busyMs: 250, idleMs: 1_000 };
const READ_MS = 4_000;
/** A change is among those that wait to be written after this time at the latest, in milliseconds. */
const SETTLED_MS = 1_500;
/** Jobs that have not ended of which readings are kept, and the characters of all of them. */
const MOST_JOBS = 10_000;
const MOST_SIZE = 16_777_216;
const JOB_SIZE = 500;
/** Entries that are taken in one step. */
const STEP = 20;

/** Events that report where a job is. */
const OF_A_JOB: ReadonlySet<string> = new Set([
  'added',
  'waiting',
  'delayed',
  'waiting-children',
  'active',
  'completed',
  'failed',
  'removed',
]);

/** An entry about a job. */
interface JobEntry {
  readonly queue: QueueRef;
  readonly jobId: string;
  readonly taskId: string;
  readonly entry: StreamEntry;
}

interface EndedJob {
  readonly queue: string;
  readonly taskId: string;
  readonly job: FollowedJob;
  readonly end: JobEnd;
  readonly isRead: boolean;
}

interface RecorderState {
  readonly access: QueueAccess;
  readonly history: StoredHistory;
  readonly lives: RecordedLives;
  readonly jobs: LruCache<FollowedJob>;
  readonly sizes: BatchSizes;
  readonly closing: AbortController;
  /** `null`: this instance does not record. */
  positions: StreamPositions | null;
  /** Positions that are published once everything before them has been written. */
  unsaved: { readonly at: number; readonly text: string } | null;
  saved: string | null;
}

/** @param pace for tests */
export function createJobRecorder(
  access: QueueAccess,
  history: StoredHistory,
  pace: RecorderPace = PACE,
): JobRecorder {
  const state: RecorderState = {
    access,
    history,
    lives: createRecordedLives(history.reader),
    jobs: createLruCache({ entries: MOST_JOBS, bytes: MOST_SIZE, sizeOf }),
    sizes: new Map(),
    closing: new AbortController(),
    positions: null,
    unsaved: null,
    saved: null,
  };
  const running = run(state, pace);
  return {
    async close() {
      state.closing.abort();
      await running;
      if (state.positions !== null) history.texts.publish(POSITIONS, writePositions(state.positions));
    },
  };
}

function sizeOf({ reading }: FollowedJob): number {
  const texts = Object.values(reading?.values ?? {});
  return JOB_SIZE + texts.reduce((sum, { text }) => sum + 2 * text.length, 0);
}

const debug = debugChannel('bullmq');

async function run(state: RecorderState, pace: RecorderPace): Promise<void> {
  const { history, closing } = state;
  while (!closing.signal.aborted) {
    let wait = pace.idleMs;
    try {
      if (!history.isHolder() || history.status().phase !== 'ready') state.positions = null;
      else wait = waitAfter(await record(state), pace);
    } catch (error) {
      debug('jobs cannot be recorded: %s', error instanceof Error ? error.message : 'unknown');
    }
    await pause(wait, closing.signal);
  }
}

function waitAfter(news: readonly StreamNews[], { busyMs, idleMs }: RecorderPace): number {
  if (news.some(({ hasMore }) => hasMore)) return 0;
  return news.length > 0 ? busyMs : idleMs;
}

/** Reads the streams once, and records the jobs that have ended. @returns what was new */
async function record(state: RecorderState): Promise<readonly StreamNews[]> {
  const { access, history, sizes } = state;
  const { signal } = state.closing;
  const options = { timeoutMs: READ_MS, signal };
  const positions = state.positions ?? readPositions(history.texts.read(POSITIONS));
  const news = await readStreams(access, await access.queues(options), positions, sizes, options);
  const entries = news.flatMap(entriesOfJobs);
  const mentioned = mentionedJobs(state, entries);
  const readings = await readMentioned(access, [...mentioned.values()], options);
  const ended = await scheduler.run('record', takeEntries(state, entries, readings));
  const context = { signal: AbortSignal.any([signal, AbortSignal.timeout(READ_MS)]) };
  const ids = await state.lives.idsOf(
    ended.map(({ taskId, job, end }) => ({
      taskId,
      endedAt: end.time,
      addedAt: addedAtOf(job),
      isAdded: job.addedAt !== null,
    })),
    context,
  );
  await scheduler.run('record', recordEnded(history, ended, ids));
  if (news.some(({ hasGap }) => hasGap)) history.writer.recordGap();
  for (const { queue, entries: own } of news) positions.set(queue.name, own.at(-1)?.id ?? '');
  state.positions = positions;
  save(state, positions);
  return news;
}

function entriesOfJobs({ queue, entries }: StreamNews): readonly JobEntry[] {
  return entries.flatMap((entry) => {
    const jobId = jobIdOf(entry);
    const isOfJob = jobId !== null && OF_A_JOB.has(entry.fields.get('event') ?? '');
    return isOfJob && !isLateRemoval(entry)
      ? [{ queue, jobId, taskId: taskIdOf(queue.name, jobId), entry }]
      : [];
  });
}

function mentionedJobs(
  { jobs }: RecorderState,
  entries: readonly JobEntry[],
): ReadonlyMap<string, MentionedJob> {
  const mentioned = new Map<string, MentionedJob>();
  for (const { queue, jobId, taskId, entry } of entries) {
    const event = entry.fields.get('event');
    const known = mentioned.get(taskId);
    const isNew = known?.isNew || event === 'added' || jobs.get(taskId)?.reading == null;
    const hasFailed =
      known?.hasFailed || event === 'failed' || event === 'delayed' || entry.fields.get('prev') === 'active';
    mentioned.set(taskId, { queue, id: jobId, taskId, isNew, hasFailed: hasFailed && event !== 'completed' });
  }
  return mentioned;
}

/** Takes in entries and what was read after them. @returns the jobs that have ended, the oldest end first */
function* takeEntries(
  { jobs }: RecorderState,
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
    const isAdded = entry.fields.get('event') === 'added';
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

function* recordEnded(
  { writer }: StoredHistory,
  ended: readonly EndedJob[],
  ids: readonly string[],
): Steps<void> {
  for (const [index, { queue, taskId, job, end, isRead }] of ended.entries()) {
    if (index % STEP === STEP - 1) yield;
    const id = ids[index] ?? taskId;
    const target = { id, groupId: id === taskId ? null : taskId, queue };
    for (const change of changesOf(target, job, end, isRead)) writer.recordTask(change);
  }
}

/** A position is published when everything before it has been written, so that a killed process loses nothing. */
function save(state: RecorderState, positions: StreamPositions): void {
  const { history } = state;
  const now = Date.now();
  const { unsaved } = state;
  if (unsaved !== null && now > unsaved.at + SETTLED_MS) {
    const { waitingSince } = history.status();
    if (waitingSince === null || waitingSince > unsaved.at + SETTLED_MS) {
      history.texts.publish(POSITIONS, unsaved.text);
      state.saved = unsaved.text;
      state.unsaved = null;
    }
  }
  const text = writePositions(positions);
  if (state.unsaved === null && text !== state.saved) state.unsaved = { at: now, text };
}
