/**
 * Counts from the events of all queues how long jobs wait and run. Only jobs whose names no event has reported are read.
 * Times are milliseconds since 1970, by the clock of Redis.
 */
import { debugChannel } from '../../../debug.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import { type QueueAccess, readFields, serversOf } from '../access/queue-access.ts';
import { type QueueRef, taskIdOf } from '../access/queue-reads.ts';
import { readStreams, type StreamEntry } from '../events/stream-entry.ts';
import {
  moveMarks,
  type ReadMarks,
  type StreamFollower,
  type StreamNews,
} from '../events/stream-follower.ts';
import { STALLED_TOO_OFTEN } from '../jobs/job-facts.ts';
import { isOfChild } from '../jobs/job-row.ts';

/** A job that has not ended. */
interface WatchedJob {
  /** `null`: not known. */
  readonly name: string | null;
  /** Since when a worker could take it, also later than now; `null`: not known, or no worker can. */
  readonly readyAt: number | null;
  /** Since when a worker has it; `null`: none has. */
  readonly startedAt: number | null;
}

/** A queue whose events are counted. */
interface WatchedQueue {
  readonly name: string;
  /** By job id. */
  readonly jobs: Map<string, WatchedJob>;
  /** Jobs that ended since counting began. */
  completed: number;
  failed: number;
  /** The job that its worker gave back with the last entry: the next one shows whether it stalled. */
  returned: { readonly jobId: string; readonly name: string | null; readonly ms: number } | null;
}

/** Counts for how many milliseconds a worker had a job (`run`), or could have taken it before one did (`wait`). */
export type CountDuration = (kind: 'run' | 'wait', queue: string, name: string | null, ms: number) => void;

function watchQueue(name: string): WatchedQueue {
  return { name, jobs: new Map(), completed: 0, failed: 0, returned: null };
}

/** The counts of the events. */
export interface EventCounter {
  /** Jobs of a queue that ended since counting began; `null`: its events have not been read. */
  ended(queue: string): Pick<WatchedQueue, 'completed' | 'failed'> | null;
  /** How often events were removed from a stream before they were read. */
  gaps(): number;
  close(): void;
}

/** A thousand queues are read no more often than each two seconds. */
const PER_QUEUE_MS = 2;
/** Entries of each stream, and of all, that are read of the time before, for the names and times of jobs. */
const MOST_BEFORE = 1_000;
const MOST_BEFORE_IN_ALL = 20_000;
/** Entries that are taken in one step. */
const STEP = 50;

interface CounterState {
  readonly counter: CountDuration;
  /** When counting began, milliseconds since 1970. */
  readonly since: number;
  /** Those whose events have been read, by name. */
  readonly queues: Map<string, WatchedQueue>;
  readonly marks: ReadMarks;
  gaps: number;
}

const debug = debugChannel('bullmq');

/** Counts from now on. */
export function createEventCounter(follower: StreamFollower, counter: CountDuration): EventCounter {
  const since = Date.now();
  const state: CounterState = { counter, since, queues: new Map(), marks: new Map(), gaps: 0 };
  const leave = follower.follow({
    msPerQueue: PER_QUEUE_MS,
    isOn: () => true,
    marksOf: () => state.marks,
    take: (news, queues, access) => count(access, state, news, queues),
  });
  return {
    ended: (queue) => state.queues.get(queue) ?? null,
    gaps: () => state.gaps,
    close() {
      void leave();
      state.queues.clear();
    },
  };
}

async function count(
  access: QueueAccess,
  state: CounterState,
  news: readonly StreamNews[],
  queues: readonly QueueRef[],
): Promise<void> {
  const { queues: watched } = state;
  forgetOthers(state, queues);
  await take(access, state, news);
  const others = queues.filter(({ name }) => !watched.has(name));
  // An unreachable server does not affect the others.
  await Promise.all(serversOf(access, others).map((server) => begin(access, state, server.queues)));
  await scheduler.run('meter', forgetSome(watched));
}

/** Takes the newest entries of streams of which nothing was read before. */
async function begin(access: QueueAccess, state: CounterState, queues: readonly QueueRef[]): Promise<void> {
  const most = Math.min(MOST_BEFORE, Math.ceil(MOST_BEFORE_IN_ALL / Math.max(1, queues.length)));
  const atOnce = Math.max(1, Math.floor(MOST_BEFORE / most));
  try {
    for (let from = 0; from < queues.length; from += atOnce) {
      const some = queues.slice(from, from + atOnce);
      const reads = some.map((queue) => ({ queue, mark: null, count: most }));
      const parts = await readStreams(access, reads);
      const news = some.map((queue, index): StreamNews => {
        const { entries = [], isEnd = true } = parts[index] ?? {};
        const hasGap = !isEnd && Number(entries[0]?.time) > state.since;
        return { queue, entries, hasGap, hasMore: false };
      });
      await take(access, state, news);
    }
  } catch (error) {
    debug('events cannot be counted: %s', error instanceof Error ? error.message : 'unknown');
  }
}

/** Counts new entries. */
async function take(access: QueueAccess, state: CounterState, news: readonly StreamNews[]): Promise<void> {
  const names = await readNames(access, state, news);
  if (access.options.signal.aborted) return;
  await scheduler.run('meter', takeAll(state, news, names));
  moveMarks(state.marks, news);
}

/** Names of jobs that no entry has reported, by task id. */
type JobNames = ReadonlyMap<string, string | null>;

async function readNames(
  access: QueueAccess,
  { queues }: CounterState,
  news: readonly StreamNews[],
): Promise<JobNames> {
  const wanted = news.flatMap(({ queue, entries }) => {
    const jobs = queues.get(queue.name)?.jobs;
    const named = new Set(entries.filter(isNamed).map(({ jobId }) => jobId));
    const counted = new Set(entries.filter(({ event }) => COUNTED.has(event)).map(({ jobId }) => jobId));
    return [...counted].flatMap((id) => {
      const isKnown = id === null || named.has(id) || jobs?.get(id)?.name != null;
      return isKnown ? [] : [{ queue, id }];
    });
  });
  const replies = await readFields(access, wanted, ['name']);
  return new Map(
    wanted.map(({ queue, id }, index) => [taskIdOf(queue.name, id), replies[index]?.[0] ?? null]),
  );
}

const COUNTED: ReadonlySet<string> = new Set(['active', 'completed', 'failed']);

/** @returns whether the entry reports the name of its job */
function isNamed({ event, fields }: StreamEntry): boolean {
  return event === 'added' && fields.has('name');
}

function* takeAll(state: CounterState, news: readonly StreamNews[], names: JobNames): Steps<void> {
  const { queues, counter, since } = state;
  let taken = 0;
  for (const { queue, entries, hasGap, hasMore } of news) {
    const watched = queues.get(queue.name) ?? watchQueue(queue.name);
    queues.set(queue.name, watched);
    if (hasGap) {
      // Missing entries would lead to wrong times.
      watched.jobs.clear();
      watched.returned = null;
      state.gaps += 1;
    }
    for (const entry of entries) {
      takeEntry(watched, entry, entry.time < since ? null : counter, names);
      if (++taken % STEP === 0) yield;
    }
    if (!hasMore) countReturned(watched, counter);
  }
}

/** Removed queues are dropped. */
function forgetOthers({ queues: watched, marks }: CounterState, queues: readonly QueueRef[]): void {
  const names = new Set(queues.map(({ name }) => name));
  for (const name of watched.keys()) {
    if (names.has(name)) continue;
    watched.delete(name);
    marks.delete(name);
  }
}

/**
 * Processes the next entry.
 *
 * @param counter `null`: counting had not begun
 */
function takeEntry(
  queue: WatchedQueue,
  entry: StreamEntry,
  counter: CountDuration | null,
  names: JobNames,
): void {
  const { event, jobId } = entry;
  // A worker that is gone did not run its job during the time until this was noticed.
  if (event === 'stalled' && jobId === queue.returned?.jobId) queue.returned = null;
  countReturned(queue, counter);
  if (jobId === null) return;
  const known = queue.jobs.get(jobId);
  const job: WatchedJob = {
    name: known?.name ?? entry.fields.get('name') ?? names.get(taskIdOf(queue.name, jobId)) ?? null,
    readyAt: known?.readyAt ?? null,
    startedAt: known?.startedAt ?? null,
  };
  switch (event) {
    case 'added':
      queue.jobs.set(jobId, { ...job, readyAt: null, startedAt: null });
      break;
    case 'waiting':
    case 'delayed':
    case 'waiting-children':
      giveBack(queue, jobId, job, entry);
      break;
    case 'active':
      if (job.readyAt !== null) counter?.('wait', queue.name, job.name, entry.time - job.readyAt);
      queue.jobs.set(jobId, { ...job, readyAt: null, startedAt: entry.time });
      break;
    case 'completed':
    case 'failed':
      queue.jobs.delete(jobId);
      end(queue, job, entry, counter);
      break;
    case 'removed':
      queue.jobs.delete(jobId);
  }
}

/** Counts the run of a job that was given back: it has not stalled. */
function countReturned(queue: WatchedQueue, counter: CountDuration | null): void {
  const { returned, name } = queue;
  if (returned !== null) counter?.('run', name, returned.name, returned.ms);
  queue.returned = null;
}

function giveBack(queue: WatchedQueue, jobId: string, job: WatchedJob, entry: StreamEntry): void {
  const { name, startedAt } = job;
  if (startedAt !== null) queue.returned = { jobId, name, ms: entry.time - startedAt };
  queue.jobs.set(jobId, { name, readyAt: readyAtOf(job, entry), startedAt: null });
}

function readyAtOf({ readyAt }: WatchedJob, { event, fields, time }: StreamEntry): number | null {
  if (event === 'waiting-children') return null;
  if (event === 'delayed') {
    const due = Number(fields.get('delay') ?? Number.NaN);
    return Number.isFinite(due) ? due : null;
  }
  // Workers move a delayed job when they check, which may be after its due time; an app may do so earlier.
  if (fields.get('prev') === 'delayed') return readyAt === null ? null : Math.min(readyAt, time);
  return time;
}

function end(
  queue: WatchedQueue,
  { name, startedAt }: WatchedJob,
  { event, fields, time }: StreamEntry,
  counter: CountDuration | null,
): void {
  if (counter === null) return;
  if (event === 'completed') queue.completed += 1;
  else queue.failed += 1;
  const reason = fields.get('failedReason');
  const hasRun = reason !== STALLED_TOO_OFTEN && !isOfChild(reason);
  if (startedAt !== null && hasRun) counter('run', queue.name, name, time - startedAt);
}

/** Jobs that are remembered, of all queues together. */
const MOST_JOBS = 50_000;
/** Jobs that are forgotten in one step. */
const JOBS_IN_STEP = 100;

/** When too many jobs are remembered, every second one that waits is forgotten: the rest still shows how they wait. */
function* forgetSome(queues: ReadonlyMap<string, WatchedQueue>): Steps<void> {
  let count = 0;
  for (const { jobs } of queues.values()) count += jobs.size;
  if (count <= MOST_JOBS) return;
  let seen = 0;
  for (const { jobs } of queues.values()) {
    for (const [id, { startedAt }] of jobs) {
      seen += 1;
      if (startedAt === null && seen % 2 === 0) jobs.delete(id);
      if (seen % JOBS_IN_STEP === 0) yield;
    }
  }
}
