/**
 * Records the jobs that end in a history of their own, while this instance holds the lease: reads the jobs that events
 * mention, and processes both until the jobs end.
 */
import type { StoreEngine } from '../../../history/store.ts';
import { createStoredHistory } from '../../../history/stored/create-stored-history.ts';
import type { StoredHistory } from '../../../history/stored-history.ts';
import { createLruCache, type LruCache } from '../../../lru-cache.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import { signalWithin, waitFor } from '../../../waiting.ts';
import { ALWAYS_READ } from '../access/hash-reads.ts';
import { deploymentOf, type ResolvedOptions } from '../access/options.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { type JobRef, type QueueRef, taskIdOf } from '../access/queue-reads.ts';
import { createDepths } from '../components/queues.ts';
import { BEGINNING, isStreamId, START, type StreamEntry } from '../events/stream-entry.ts';
import {
  moveMarks,
  type ReadMarks,
  type StreamFollower,
  type StreamNews,
} from '../events/stream-follower.ts';
import { parseJson, readFacts, readValues, type ValueBounds, type ValueField } from '../jobs/job-hash.ts';
import { rootsOf } from '../jobs/job-loader.ts';
import {
  addEvent,
  addedAtOf,
  addProgress,
  addReading,
  changesOf,
  type FollowedJob,
  followJob,
  isLateRemoval,
  type JobEnd,
  type JobReading,
} from './followed-job.ts';
import { createRecordedLives, type FindLives, type RecordedEnd } from './recorded-lives.ts';

/** Recorded jobs. */
export type JobStore = ReturnType<typeof createJobStore>;

/** Jobs that are held in memory; others are read from the store. */
const MEMORY = { maxTasks: 20_000, maxBytes: 64 * 1024 * 1024 };

/** Opens the store, and records from then on, while this instance holds the lease, unless it never collects. */
export function createJobStore(options: ResolvedOptions, store: StoreEngine, follower: StreamFollower) {
  const { name, redactor, collect } = options;
  const history = createStoredHistory(
    { ...MEMORY, redactor },
    {
      store,
      source: name,
      deployment: deploymentOf(options),
      hearing: 'part',
      isReadOnly: !collect,
    },
  );
  const endRecording = collect ? recordJobs(follower, history) : null;
  return {
    reader: history.reader,
    readStats: history.readStats,
    status: history.status,
    openNotes: history.openNotes,
    /** Ends recording, and writes what has been recorded. */
    async close() {
      await endRecording?.();
      await history.close();
    },
  };
}

/** The text that keeps how far the streams have been read. */
const POSITIONS = 'bullmq-streams';
const READ_MS = 4_000;
/** A change is among those that wait to be written after this time at the latest, in milliseconds. */
const SETTLED_MS = 1_500;
/** Jobs that have not ended of which readings are kept, and the characters of all of them. */
const MOST_JOBS = 10_000;
const MOST_SIZE = 16_777_216;
const JOB_SIZE = 500;
/** Ended jobs that are recorded before they are written: after a kill, their counts may be missing. */
const UNWRITTEN = 250;
const FLUSH_MS = 2_000;
/** A database that leaves so many tasks waiting is slow: streams are read on, as they keep less than memory does. */
const MOST_WAITING = 1_000;

interface RecorderState {
  readonly history: StoredHistory;
  readonly findLives: FindLives;
  readonly jobs: LruCache<FollowedJob>;
  /** `null`: this instance does not record. */
  marks: ReadMarks | null;
  /** Positions that are published once everything before them has been written. */
  unsaved: { readonly at: number; readonly text: string } | null;
  saved: string | null;
  /** Ended jobs that were recorded since everything was written. */
  unwritten: number;
  readonly readDepths: ReturnType<typeof createDepths>;
}

/** @returns ends the recording. Jobs that are being read are not recorded */
function recordJobs(follower: StreamFollower, history: StoredHistory): () => Promise<void> {
  const state: RecorderState = {
    history,
    findLives: createRecordedLives(history.reader),
    jobs: createLruCache({ entries: MOST_JOBS, bytes: MOST_SIZE, sizeOf }),
    marks: null,
    unsaved: null,
    saved: null,
    unwritten: 0,
    readDepths: createDepths((...reading) => history.writer.recordQueue(...reading)),
  };
  const leave = follower.follow({
    msPerQueue: 0,
    isOn: () => isRecording(state),
    marksOf: (queues) => marksOf(state, queues),
    take: (news, queues, access) => record(access, state, news, queues),
  });
  return async () => {
    await leave();
    if (state.marks !== null) history.texts.publish(POSITIONS, writePositions(state.marks));
  };
}

function sizeOf({ reading }: FollowedJob): number {
  const texts = Object.values(reading?.values ?? {});
  return JOB_SIZE + texts.reduce((sum, { text }) => sum + 2 * text.length, 0);
}

function isRecording(state: RecorderState): boolean {
  const { history } = state;
  if (history.isHolder() && history.status().phase === 'ready') return true;
  // Another instance records, or will.
  state.marks = null;
  state.unsaved = null;
  state.saved = null;
  return false;
}

/** Streams that have never been read are read from their beginning. */
function marksOf(state: RecorderState, queues: readonly QueueRef[]): ReadMarks {
  state.marks ??= readPositions(state.history.texts.read(POSITIONS));
  for (const { name } of queues) if (!state.marks.has(name)) state.marks.set(name, START);
  return state.marks;
}

/** Records the jobs that have ended, and reads the depths of the queues when they are due. */
async function record(
  access: QueueAccess,
  state: RecorderState,
  news: readonly StreamNews[],
  queues: readonly QueueRef[],
): Promise<void> {
  const { history, jobs, findLives } = state;
  const marks = marksOf(state, queues);
  const entries = news.flatMap(entriesOfJobs);
  const readings = await readMentioned(access, mentionedJobs(jobs, entries));
  const ended = await scheduler.run('record', takeEntries(jobs, entries, readings));
  const ends = await findLives(
    ended.map(({ taskId, job, end }) => ({ taskId, endedAt: end.time, addedAt: addedAtOf(job) })),
    { signal: signalWithin(READ_MS, access.options.signal) },
  );
  for (let at = 0; at < ended.length; at += UNWRITTEN) {
    const some = ended.slice(at, at + UNWRITTEN);
    await scheduler.run('record', recordEnded(history, some, ends.slice(at, at + UNWRITTEN)));
    await writeMany(state, some.length, access.options.signal);
  }
  if (news.some(({ hasGap }) => hasGap)) history.writer.recordGap();
  moveMarks(marks, news);
  save(state, marks);
  await state.readDepths(access, queues);
}

/** Entries that are taken in one step. */
const STEP = 20;

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
interface EndedJob {
  readonly queue: string;
  readonly taskId: string;
  readonly job: FollowedJob;
  readonly end: JobEnd;
  /** It was read after its end. */
  readonly isRead: boolean;
}

/** The entries that report where a job is, or how far it has come. */
function entriesOfJobs({ queue, entries }: StreamNews): readonly JobEntry[] {
  return entries.flatMap((entry) => {
    const { event, jobId } = entry;
    return jobId !== null && OF_A_JOB.has(event) && !isLateRemoval(entry)
      ? [{ queue, jobId, taskId: taskIdOf(queue.name, jobId), entry }]
      : [];
  });
}

/** The jobs to read. */
function mentionedJobs(jobs: LruCache<FollowedJob>, entries: readonly JobEntry[]): readonly MentionedJob[] {
  const mentioned = new Map<string, MentionedJob>();
  for (const { queue, jobId, taskId, entry } of entries) {
    const { event } = entry;
    // The event has all data, and there may be thousands of them.
    if (event === 'progress') continue;
    const known = mentioned.get(taskId);
    const isNew = known?.isNew || event === 'added' || jobs.get(taskId)?.reading == null;
    const hasFailed =
      known?.hasFailed || event === 'failed' || event === 'delayed' || entry.fields.get('prev') === 'active';
    mentioned.set(taskId, { queue, id: jobId, taskId, isNew, hasFailed: hasFailed && event !== 'completed' });
  }
  return [...mentioned.values()];
}

/** Processes entries and the data that was read after them. @returns the jobs that have ended, the oldest end first */
function* takeEntries(
  jobs: LruCache<FollowedJob>,
  entries: readonly JobEntry[],
  readings: ReadonlyMap<string, JobReading | null>,
): Steps<EndedJob[]> {
  const ended: EndedJob[] = [];
  /** A job that is added again has been read in its latest life. */
  const lastAdded = new Map<string, StreamEntry>();
  for (const { taskId, entry } of entries) {
    if (entry.event === 'added') lastAdded.set(taskId, entry);
  }
  for (const [index, { queue, taskId, entry }] of entries.entries()) {
    if (index % STEP === STEP - 1) yield;
    if (entry.event === 'progress') {
      addProgress(jobs.get(taskId), entry);
      continue;
    }
    const job = entry.event === 'added' ? followJob(entry.time) : (jobs.get(taskId) ?? followJob(null));
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
async function readMentioned(
  access: QueueAccess,
  jobs: readonly MentionedJob[],
): Promise<ReadonlyMap<string, JobReading | null>> {
  const all = await readFacts(access, jobs);
  const known = jobs.flatMap((job, index) => {
    const facts = all[index] ?? null;
    return facts === null ? [] : [{ ...job, facts }];
  });
  const [values, roots] = await Promise.all([
    readValues(
      access,
      known.map((job) => ({ job, fields: fieldsOf(job) })),
      BOUNDS,
    ),
    rootsOf(access, known),
  ]);
  const readings = new Map<string, JobReading | null>(jobs.map(({ taskId }) => [taskId, null]));
  for (const [index, job] of known.entries()) {
    const { taskId, facts } = job;
    readings.set(taskId, {
      facts,
      values: values[index] ?? {},
      parentId: access.taskIdOfKey(facts.parentKey),
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

function* recordEnded(
  { writer }: StoredHistory,
  ended: readonly EndedJob[],
  ends: readonly RecordedEnd[],
): Steps<void> {
  for (const [index, { queue, taskId, job, end, isRead }] of ended.entries()) {
    if (index % STEP === STEP - 1) yield;
    const { id, isKnown } = ends[index] ?? { id: taskId, isKnown: false };
    // It has been counted, too.
    if (isKnown) continue;
    const target = { id, groupId: id === taskId ? null : taskId, queue };
    for (const change of changesOf(target, job, end, isRead)) writer.recordTask(change);
  }
}

/**
 * Rows and counts are written one after the other, and a job whose row is stored is not counted again. Thousands of jobs
 * may be recorded in a second after a start, so they are written in small numbers.
 */
async function writeMany(state: RecorderState, recorded: number, signal: AbortSignal): Promise<void> {
  const { history } = state;
  state.unwritten += recorded;
  if (state.unwritten < UNWRITTEN || history.status().waiting > MOST_WAITING) return;
  state.unwritten = 0;
  await waitFor(history.flush(), { ms: FLUSH_MS, signal });
}

/** A position is published when everything before it has been written, so that a killed process loses nothing. */
function save(state: RecorderState, marks: ReadMarks): void {
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
  const text = writePositions(marks);
  if (state.unsaved === null && text !== state.saved) state.unsaved = { at: now, text };
}

function writePositions(marks: ReadMarks): string {
  return JSON.stringify(
    [...marks].filter(([, { id }]) => id !== BEGINNING).map(([name, { id }]) => [name, id]),
  );
}

/** @returns no positions for a text that has none */
function readPositions(text: string | null): ReadMarks {
  const marks: ReadMarks = new Map();
  const entries = parseJson(text ?? '');
  for (const entry of Array.isArray(entries) ? entries : []) {
    const [name, id]: readonly unknown[] = Array.isArray(entry) ? entry : [];
    if (typeof name === 'string' && typeof id === 'string' && isStreamId(id))
      marks.set(name, { id, witness: null });
  }
  return marks;
}
