/**
 * Counts from the events of all queues how long jobs wait and run. Only jobs whose names no event has reported are read.
 */
import { debugChannel } from '../../../debug.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import { type QueueAccess, readFields, serversOf } from '../access/queue-access.ts';
import type { QueueRef } from '../access/queue-reads.ts';
import { readStreams, type StreamEntry } from '../events/stream-entry.ts';
import {
  moveMarks,
  type ReadMarks,
  type StreamFollower,
  type StreamNews,
} from '../events/stream-follower.ts';
import {
  countReturned,
  forgetSome,
  namelessJob,
  type RunCounter,
  takeEntry,
  type WatchedQueue,
  watchQueue,
} from './watched-queue.ts';

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
  readonly access: QueueAccess;
  readonly counter: RunCounter;
  /** When counting began, milliseconds since 1970. */
  readonly since: number;
  /** Those whose events have been read, by name. */
  readonly queues: Map<string, WatchedQueue>;
  readonly marks: ReadMarks;
  gaps: number;
}

const debug = debugChannel('bullmq');

/** Counts from now on. */
export function createEventCounter(
  access: QueueAccess,
  follower: StreamFollower,
  counter: RunCounter,
): EventCounter {
  const since = Date.now();
  const state: CounterState = { access, counter, since, queues: new Map(), marks: new Map(), gaps: 0 };
  const leave = follower.follow({
    msPerQueue: PER_QUEUE_MS,
    isOn: () => true,
    marksOf: () => state.marks,
    take: (news, queues, options) => count(state, news, queues, options),
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
  state: CounterState,
  news: readonly StreamNews[],
  queues: readonly QueueRef[],
  options: ReadOptions,
): Promise<void> {
  const { access, queues: watched } = state;
  forgetOthers(state, queues);
  await take(state, news, options);
  const others = queues.filter(({ name }) => !watched.has(name));
  // An unreachable server does not affect the others.
  await Promise.all(serversOf(access, others).map((server) => begin(state, server.queues, options)));
  await scheduler.run('meter', forgetSome(watched));
}

/** Takes the newest entries of streams of which nothing was read before. */
async function begin(state: CounterState, queues: readonly QueueRef[], options: ReadOptions): Promise<void> {
  const most = Math.min(MOST_BEFORE, Math.ceil(MOST_BEFORE_IN_ALL / Math.max(1, queues.length)));
  const atOnce = Math.max(1, Math.floor(MOST_BEFORE / most));
  try {
    for (let from = 0; from < queues.length; from += atOnce) {
      const some = queues.slice(from, from + atOnce);
      const reads = some.map((queue) => ({ queue, mark: null, count: most }));
      const parts = await readStreams(state.access, reads, options);
      const news = some.map((queue, index): StreamNews => {
        const { entries = [], isEnd = true } = parts[index] ?? {};
        const hasGap = !isEnd && Number(entries[0]?.time) > state.since;
        return { queue, entries, hasGap, hasMore: false };
      });
      await take(state, news, options);
    }
  } catch (error) {
    debug('events cannot be counted: %s', error instanceof Error ? error.message : 'unknown');
  }
}

/** Counts new entries. */
async function take(state: CounterState, news: readonly StreamNews[], options: ReadOptions): Promise<void> {
  const names = await readNames(state, news, options);
  if (options.signal?.aborted) return;
  await scheduler.run('meter', takeAll(state, news, names));
  moveMarks(state.marks, news);
}

/** The names of jobs that no entry has reported, by queue and job id; those of removed jobs are missing. */
async function readNames(
  { access, queues }: CounterState,
  news: readonly StreamNews[],
  options: ReadOptions,
): Promise<ReadonlyMap<QueueRef, ReadonlyMap<string, string>>> {
  const wanted = news.flatMap(({ queue, entries }) => {
    const known = queues.get(queue.name) ?? watchQueue(queue.name);
    const added = new Set(entries.filter(isNamed).map(({ jobId }) => jobId));
    const ids = new Set(entries.map((entry) => namelessJob(known, entry)));
    return [...ids].flatMap((id) => (id === null || added.has(id) ? [] : [{ queue, id }]));
  });
  const replies = await readFields(access, wanted, ['name'], options);
  const names = new Map<QueueRef, Map<string, string>>();
  for (const [index, { queue, id }] of wanted.entries()) {
    const [name = null] = replies[index] ?? [];
    const own = names.get(queue) ?? new Map<string, string>();
    names.set(queue, own);
    if (name !== null) own.set(id, name);
  }
  return names;
}

/** @returns whether the entry reports the name of its job */
function isNamed({ event, fields }: StreamEntry): boolean {
  return event === 'added' && fields.has('name');
}

function* takeAll(
  state: CounterState,
  news: readonly StreamNews[],
  names: ReadonlyMap<QueueRef, ReadonlyMap<string, string>>,
): Steps<void> {
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
      takeEntry(watched, entry, entry.time < since ? null : counter, names.get(queue) ?? NO_NAMES);
      if (++taken % STEP === 0) yield;
    }
    if (!hasMore) countReturned(watched, counter);
  }
}

const NO_NAMES: ReadonlyMap<string, string> = new Map();

/** Removed queues are dropped. */
function forgetOthers({ queues: watched, marks }: CounterState, queues: readonly QueueRef[]): void {
  const names = new Set(queues.map(({ name }) => name));
  for (const name of watched.keys()) {
    if (names.has(name)) continue;
    watched.delete(name);
    marks.delete(name);
  }
}
