/**
 * Follows the event streams of all queues for those that need each entry: the counts, the meter and the recorder. Those
 * that have read a stream equally far share its reads.
 */
import { debugChannel } from '../../../debug.ts';
import { pause, waitFor } from '../../../waiting.ts';
import { type BullMQRedis, type QueueAccess, serversOf } from '../access/queue-access.ts';
import type { QueueRef } from '../access/queue-reads.ts';
import {
  BEGINNING,
  FIRST_BATCH,
  fitBatch,
  markBehind,
  type ReadMark,
  readStreams,
  type StreamEntry,
  type StreamRead,
} from './stream-entry.ts';

/** How far streams have been read, by queue name. */
export type ReadMarks = Map<string, ReadMark>;

/** New entries of one stream. */
export interface StreamNews {
  readonly queue: QueueRef;
  /** Oldest first. */
  readonly entries: readonly StreamEntry[];
  /** Entries before these may have been removed before they were read. */
  readonly hasGap: boolean;
  /** There may be more. */
  readonly hasMore: boolean;
}

/** What takes the entries of streams. */
export interface StreamConsumer {
  /** How far it has read those of these streams that it follows. */
  marksOf(queues: readonly QueueRef[]): ReadonlyMap<string, ReadMark>;
  /**
   * Takes what the streams got since they were read, often nothing, and moves its marks. If it fails, the entries behind
   * its marks are read again.
   *
   * @param queues all that there are
   * @param access for its reads, until it takes nothing any more
   */
  take(news: readonly StreamNews[], queues: readonly QueueRef[], access: QueueAccess): Promise<void>;
}

/** Moves marks behind entries that have been taken. */
export function moveMarks(marks: ReadMarks, news: readonly StreamNews[]): void {
  for (const { queue, entries } of news) marks.set(queue.name, markBehind(entries));
}

/** A consumer for which the streams are read all the time. */
export interface SteadyConsumer extends StreamConsumer {
  /** How long to wait between two reads, in milliseconds for each queue. */
  readonly msPerQueue: number;
  /** Whether it takes entries now. */
  isOn(): boolean;
}

/** Follows the streams while somebody takes their entries. */
export interface StreamFollower {
  /**
   * Begins to read for a consumer.
   *
   * @returns a function that ends it. It resolves when the consumer takes nothing any more
   */
  follow(consumer: SteadyConsumer): () => Promise<void>;
  /**
   * Reads for a consumer until it has everything, or this many milliseconds have passed.
   *
   * @returns whether it has everything
   * @throws RedisError if a stream cannot be read
   */
  catchUp(consumer: StreamConsumer, access: QueueAccess, ms: number): Promise<boolean>;
}

/** How long to wait between two reads, in milliseconds: after one that found something, and after any other. */
const BUSY_MS = 250;
const IDLE_MS = 1_000;
const READ_MS = 4_000;
/** Approximate number of entries that are read from all streams at once. */
const MOST_AT_ONCE = 2_000;

/** A consumer that is being read for. */
interface Member {
  readonly consumer: SteadyConsumer;
  readonly closing: AbortController;
  /** `null`: it waits for entries. */
  taking: Promise<void> | null;
}

interface FollowerState {
  readonly redis: BullMQRedis;
  readonly members: Set<Member>;
  /** How many entries to read of each stream at once, by queue name. */
  readonly batches: Map<string, number>;
  /** Ends the pause before the next read. */
  waking: AbortController;
  isRunning: boolean;
}

const debug = debugChannel('bullmq');

export function createStreamFollower(redis: BullMQRedis): StreamFollower {
  const state: FollowerState = {
    redis,
    members: new Set(),
    batches: new Map(),
    waking: new AbortController(),
    isRunning: false,
  };
  return {
    follow(consumer) {
      const member: Member = { consumer, closing: new AbortController(), taking: null };
      state.members.add(member);
      state.waking.abort();
      if (!state.isRunning) void run(state);
      return async () => {
        state.members.delete(member);
        member.closing.abort();
        if (state.members.size === 0) state.waking.abort();
        await member.taking;
      };
    },
    async catchUp(consumer, access, ms) {
      const until = performance.now() + ms;
      const queues = await access.queues();
      for (;;) {
        const found = await readAll(access, state, queues, [consumer.marksOf(queues)], rethrow);
        const news = [...found.values()];
        await consumer.take(news, queues, access);
        if (!news.some(({ hasMore }) => hasMore)) return true;
        if (performance.now() > until) return false;
      }
    },
  };
}

function rethrow(error: unknown): never {
  throw error;
}

async function run(state: FollowerState): Promise<void> {
  const { members } = state;
  state.isRunning = true;
  while (members.size > 0) {
    const waking = new AbortController();
    state.waking = waking;
    const free = [...members].filter(({ consumer, taking }) => taking === null && consumer.isOn());
    const ms = free.length === 0 ? IDLE_MS : await readOnce(state, free).catch(noteFailure);
    await pause(ms, waking.signal);
  }
  state.isRunning = false;
}

/** @returns how long to wait before trying again, in milliseconds */
function noteFailure(error: unknown): number {
  debug('events cannot be followed: %s', error instanceof Error ? error.message : 'unknown');
  return IDLE_MS;
}

/** Reads the streams once. @returns how long to wait before the next read, in milliseconds */
async function readOnce(state: FollowerState, free: readonly Member[]): Promise<number> {
  const { redis, members } = state;
  const access = redis.within({ timeoutMs: READ_MS });
  const queues = await access.queues();
  const marked = free.map(({ consumer }) => consumer.marksOf(queues));
  const found = await readAll(access, state, queues, marked, noteFailure);
  const taken = free.map(async (member, index) => {
    const news = queues.flatMap((queue) => found.get(keyOf(queue, marked[index]?.get(queue.name))) ?? []);
    if (members.has(member)) await give(redis, member, news, queues);
  });
  // One that is slow does not delay the others.
  await waitFor(Promise.all(taken), members.size > 1 ? { ms: IDLE_MS } : {});
  if ([...found.values()].some(({ hasMore }) => hasMore)) return 0;
  const msPerQueue = Math.min(...free.map(({ consumer }) => consumer.msPerQueue));
  return Math.max(found.size > 0 ? BUSY_MS : IDLE_MS, queues.length * msPerQueue);
}

function keyOf(queue: QueueRef, mark: ReadMark | undefined): string {
  return `${queue.name}:${mark?.id}`;
}

/**
 * Reads each stream from each of its marks.
 *
 * @param onFailure of a server. The others are read all the same
 * @returns by {@link keyOf}; those without new entries are left out
 */
async function readAll(
  access: QueueAccess,
  { batches }: FollowerState,
  queues: readonly QueueRef[],
  marked: readonly ReadonlyMap<string, ReadMark>[],
  onFailure: (error: unknown) => unknown,
): Promise<ReadonlyMap<string, StreamNews>> {
  const found = new Map<string, StreamNews>();
  const share = Math.ceil(MOST_AT_ONCE / Math.max(1, queues.length));
  const servers = serversOf(access, queues).map(async (server) => {
    const reads = new Map<string, StreamRead & { readonly mark: ReadMark }>();
    for (const queue of server.queues) {
      const count = Math.min(share, batches.get(queue.name) ?? FIRST_BATCH);
      for (const marks of marked) {
        const mark = marks.get(queue.name);
        if (mark !== undefined) reads.set(keyOf(queue, mark), { queue, mark, count });
      }
    }
    const parts = await readStreams(access, [...reads.values()]);
    for (const [index, [key, { queue, mark }]] of [...reads].entries()) {
      const { entries = [], isEnd = true, hasGap: isUnsure = false } = parts[index] ?? {};
      const hasGap = isUnsure && mark.id !== BEGINNING;
      if (entries.length === 0 && !hasGap) continue;
      batches.set(queue.name, fitBatch(batches.get(queue.name) ?? FIRST_BATCH, entries));
      found.set(key, { queue, entries, hasGap, hasMore: !isEnd });
    }
  });
  await Promise.all(servers.map((server) => server.catch(onFailure)));
  return found;
}

/** Resolves when the consumer has taken the news, or has failed: then it rests. */
async function give(
  redis: BullMQRedis,
  member: Member,
  news: readonly StreamNews[],
  queues: readonly QueueRef[],
): Promise<void> {
  const { consumer, closing } = member;
  const access = redis.within({ timeoutMs: READ_MS, signal: closing.signal });
  const taken = consumer.take(news, queues, access).then(() => 0, noteFailure);
  const rested = taken.then((ms) => (ms === 0 ? undefined : pause(ms, closing.signal)));
  member.taking = rested.finally(() => {
    member.taking = null;
  });
  await taken;
}
