/**
 * Follows the event streams of all queues, and counts from them how long jobs wait and run. Only jobs whose names no
 * event has reported are read.
 */
import { debugChannel } from '../../../debug.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import { asFields } from '../../../redis/replies.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import { pause } from '../../../waiting.ts';
import { type QueueAccess, type RedisServer, serversOf } from '../access/queue-access.ts';
import type { QueueRef } from '../access/queue-reads.ts';

import { backwardCommand, entriesOf, type StreamEntry } from '../events/stream-entry.ts';

import {
  type BatchSizes,
  readStreams,
  type StreamNews,
  type StreamPositions,
} from '../recorded/stream-news.ts';
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

/** How long to wait between two reads, in milliseconds: after one that found something, and after any other. */
const BUSY_MS = 250;
const IDLE_MS = 1_000;
/** A thousand queues are read no more often than each two seconds. */
const PER_QUEUE_MS = 2;
const READ_MS = 4_000;
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
  readonly queues: Map<string, WatchedQueue>;
  readonly positions: StreamPositions;
  readonly sizes: BatchSizes;
  readonly closing: AbortController;
  gaps: number;
}

const debug = debugChannel('bullmq');

/** Counts from now on. */
export function createEventCounter(access: QueueAccess, counter: RunCounter): EventCounter {
  const state: CounterState = {
    access,
    counter,
    since: Date.now(),
    gaps: 0,
    queues: new Map(),
    positions: new Map(),
    sizes: new Map(),
    closing: new AbortController(),
  };
  void run(state);
  return {
    ended: (queue) => state.queues.get(queue) ?? null,
    gaps: () => state.gaps,
    close() {
      state.closing.abort();
      state.queues.clear();
    },
  };
}

async function run(state: CounterState): Promise<void> {
  const { access, queues, closing } = state;
  const options = { timeoutMs: READ_MS, signal: closing.signal };
  while (!closing.signal.aborted) {
    let news: readonly StreamNews[] = [];
    try {
      const found = await access.queues(options);
      forgetOthers(state, found);
      const servers = serversOf(access, found);
      // An unreachable server does not affect the others.
      news = (await Promise.all(servers.map((server) => countServer(state, server, options)))).flat();
      await scheduler.run('meter', forgetSome(queues));
    } catch (error) {
      noteFailure(error);
    }
    const pace = Math.max(news.length > 0 ? BUSY_MS : IDLE_MS, queues.size * PER_QUEUE_MS);
    await pause(news.some(({ hasMore }) => hasMore) ? 0 : pace, closing.signal);
  }
}

function noteFailure(error: unknown): readonly StreamNews[] {
  debug('events cannot be counted: %s', error instanceof Error ? error.message : 'unknown');
  return [];
}

/** Reads the streams of a server once. @returns the new entries */
function countServer(
  state: CounterState,
  { queues }: RedisServer,
  options: ReadOptions,
): Promise<readonly StreamNews[]> {
  return count(state, queues, options).catch(noteFailure);
}

async function count(
  state: CounterState,
  queues: readonly QueueRef[],
  options: ReadOptions,
): Promise<readonly StreamNews[]> {
  const { access, positions, sizes } = state;
  const isKnown = ({ name }: QueueRef): boolean => positions.has(name);
  const known = queues.filter(isKnown);
  const news = [...(await readStreams(access, known, positions, sizes, options))];
  await take(state, known, news, options);
  const others = queues.filter((queue) => !isKnown(queue));
  const most = Math.min(MOST_BEFORE, Math.ceil(MOST_BEFORE_IN_ALL / Math.max(1, others.length)));
  const atOnce = Math.max(1, Math.floor(MOST_BEFORE / most));
  for (let from = 0; from < others.length; from += atOnce) {
    const some = others.slice(from, from + atOnce);
    const first = await readFirst(state, some, most, options);
    await take(state, some, first, options);
    news.push(...first);
  }
  return news;
}

/** Streams of which nothing was read before, up to now. @param most entries of each */
async function readFirst(
  { access, since }: CounterState,
  queues: readonly QueueRef[],
  most: number,
  options: ReadOptions,
): Promise<readonly StreamNews[]> {
  const replies = await access.read(
    queues.map((queue) => backwardCommand(queue, null, most)),
    options,
  );
  return queues.flatMap((queue, index) => {
    const entries = entriesOf(replies[index]).toReversed();
    const [first] = entries;
    if (first === undefined) return [];
    return [{ queue, entries, hasGap: entries.length >= most && first.time > since, hasMore: false }];
  });
}

/** Counts the new entries in the streams of these queues. */
async function take(
  state: CounterState,
  queues: readonly QueueRef[],
  news: readonly StreamNews[],
  options: ReadOptions,
): Promise<void> {
  const { queues: watched, closing } = state;
  const names = await readNames(state, news, options);
  if (closing.signal.aborted) return;
  for (const { name } of queues) if (!watched.has(name)) watched.set(name, watchQueue(name));
  await scheduler.run('meter', takeAll(state, news, names));
}

/** The names of jobs that no entry has reported, by queue and job id; those of removed jobs are missing. */
async function readNames(
  { access, queues }: CounterState,
  news: readonly StreamNews[],
  options: ReadOptions,
): Promise<ReadonlyMap<QueueRef, ReadonlyMap<string, string>>> {
  const wanted = news.flatMap(({ queue, entries }) => {
    const known = queues.get(queue.name) ?? watchQueue(queue.name);
    const added = new Set(entries.filter(isNamed).map(({ fields }) => fields.get('jobId')));
    const ids = new Set(entries.map((entry) => namelessJob(known, entry)));
    return [...ids].flatMap((id) => (id === null || added.has(id) ? [] : [{ queue, id }]));
  });
  const replies = await access.read(
    wanted.map(({ queue, id }) => ({ queue, command: ['HMGET', queue.key(id), 'name'] })),
    options,
  );
  const names = new Map<QueueRef, Map<string, string>>();
  for (const [index, { queue, id }] of wanted.entries()) {
    const [name = null] = asFields(replies[index]);
    const own = names.get(queue) ?? new Map<string, string>();
    names.set(queue, own);
    if (name !== null) own.set(id, name);
  }
  return names;
}

/** @returns whether the entry reports the name of its job */
function isNamed({ fields }: StreamEntry): boolean {
  return fields.get('event') === 'added' && fields.has('name');
}

function* takeAll(
  state: CounterState,
  news: readonly StreamNews[],
  names: ReadonlyMap<QueueRef, ReadonlyMap<string, string>>,
): Steps<void> {
  const { queues, positions, counter, since } = state;
  let taken = 0;
  for (const { queue, entries, hasGap, hasMore } of news) {
    const watched = queues.get(queue.name);
    if (watched === undefined) continue;
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
    positions.set(queue.name, entries.at(-1)?.id ?? '');
  }
}

const NO_NAMES: ReadonlyMap<string, string> = new Map();

/** Removed queues are dropped. */
function forgetOthers(
  { queues: watched, positions, sizes }: CounterState,
  queues: readonly QueueRef[],
): void {
  const names = new Set(queues.map(({ name }) => name));
  for (const name of watched.keys()) {
    if (names.has(name)) continue;
    watched.delete(name);
    positions.delete(name);
    sizes.delete(name);
  }
}
