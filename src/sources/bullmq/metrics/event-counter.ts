/**
 * Follows the event streams of all queues, and counts from them how long jobs wait and run. No job is read but those
 * whose names no event has said.
 */
import { debugChannel } from '../../../debug.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import { asFields } from '../../../redis/replies.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import { pause } from '../../../waiting.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { QueueRef } from '../access/queue-ref.ts';
import { type RedisServer, serversOf } from '../access/redis-servers.ts';
import { entriesOf, type StreamEntry } from '../events/stream-entry.ts';
import { backwardCommand } from '../events/stream-reads.ts';
import {
  type BatchSizes,
  readStreams,
  type StreamNews,
  type StreamPositions,
} from '../recorded/stream-news.ts';
import {
  countReturned,
  namelessJob,
  type RunCounter,
  takeEntry,
  type WatchedQueue,
  watchQueue,
} from './watched-queue.ts';

/** What is counted of the events. */
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
/** Entries of each stream that are read of the time before, for the names and times of jobs; of all together. */
const MOST_BEFORE = 1_000;
const MOST_BEFORE_IN_ALL = 20_000;
/** Jobs that are remembered, of all queues together. */
const MOST_JOBS = 50_000;
/** Entries that are taken, or jobs that are forgotten, in one step. */
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
    ...{ access, counter, since: Date.now(), gaps: 0 },
    ...{ queues: new Map(), positions: new Map(), sizes: new Map(), closing: new AbortController() },
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
      // Servers that are away leave the others alone.
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

/** Reads the streams of a server once. @returns what was new */
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
  const { access, positions, sizes, queues: watched } = state;
  const isNew = ({ name }: QueueRef): boolean => !positions.has(name);
  const [first, later] = await Promise.all([
    readFirst(state, queues.filter(isNew), options),
    readStreams(
      access,
      queues.filter((queue) => !isNew(queue)),
      positions,
      sizes,
      options,
    ),
  ]);
  const news = [...first, ...later];
  const names = await readNames(state, news, options);
  if (options.signal?.aborted) return [];
  for (const { name } of queues) if (!watched.has(name)) watched.set(name, watchQueue(name));
  await scheduler.run('meter', takeAll(state, news, names));
  return news;
}

/** Streams of which nothing was read before, up to now. */
async function readFirst(
  { access, since }: CounterState,
  queues: readonly QueueRef[],
  options: ReadOptions,
): Promise<readonly StreamNews[]> {
  const share = Math.ceil(MOST_BEFORE_IN_ALL / Math.max(1, queues.length));
  const most = Math.min(MOST_BEFORE, share);
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

/** The names of jobs that no entry has said, by queue and job id; those of removed jobs are missing. */
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

/** @returns whether the entry says the name of its job */
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
      // What the missing entries said would make wrong times.
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
      if (seen % STEP === 0) yield;
    }
  }
}

/** Queues that are gone are forgotten. */
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
