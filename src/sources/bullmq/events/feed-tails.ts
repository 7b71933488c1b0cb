/** The tails of all queues. They are updated together, at most once a second, for all requests. */
import { withDeadline } from '../../../redis/deadline.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { inPortions, type QueueRef } from '../access/queue-reads.ts';

import { type FeedItem, readItems } from './feed-items.ts';
import { createJobMemory, type LatestMemory } from './job-memory.ts';
import {
  BEGINNING,
  backwardCommand,
  entriesOf,
  readBehind,
  type StreamPart,
  type StreamPosition,
} from './stream-entry.ts';

import { addNews, createStreamTail, fitBatch, readNews, type StreamTail, shrinkTails } from './tail-news.ts';

/** How long a reading may be shown as the latest, in milliseconds. */
export const FRESH_MS = 1_000;
/** Time limit of an update in milliseconds. All requests share the update, so each of them may give up earlier. */
const UPDATE_MS = 4_000;

/** Tails of the queues. */
export interface FeedTails {
  /**
   * The tails of these queues, in their order, at most a second old.
   *
   * @throws RedisError
   */
  update(queues: readonly QueueRef[], options: ReadOptions): Promise<readonly StreamTail[]>;
  /** Reads older items of a tail, if there are any. */
  extend(tail: StreamTail, options: ReadOptions): Promise<void>;
  /** Reads items behind a position that is not in memory. */
  readBehind(
    queue: QueueRef,
    position: StreamPosition,
    count: number,
    options: ReadOptions,
  ): Promise<StreamPart & { readonly items: readonly FeedItem[] }>;
  /** Increases with each update that found something. */
  readonly revision: number;
  /** When the next update is due, in milliseconds since 1970; minus infinity: now. */
  readonly dueAt: number;
}

interface TailsState {
  readonly access: QueueAccess;
  readonly now: () => number;
  /** By queue name. */
  readonly tails: Map<string, StreamTail>;
  readonly memory: LatestMemory;
  revision: number;
  /** When the last update began. */
  updatedAt: number;
  running: Promise<void> | null;
}

export function createFeedTails(access: QueueAccess, now: () => number = Date.now): FeedTails {
  const state: TailsState = {
    access,
    now,
    tails: new Map(),
    memory: createJobMemory(),
    revision: 0,
    updatedAt: Number.NEGATIVE_INFINITY,
    running: null,
  };
  return {
    update: (queues, options) => updated(state, queues, options),
    extend: (tail, options) => extendTail(state, tail, options),
    async readBehind(queue, position, count, options) {
      const part = await readBehind(access, queue, position, count, options);
      const list = { queue, entries: part.entries };
      const [items = []] = await readItems(access, [list], state.memory.before(), options);
      return { ...part, items };
    },
    get revision() {
      return state.revision;
    },
    get dueAt() {
      return state.updatedAt + FRESH_MS;
    },
  };
}

async function updated(
  state: TailsState,
  queues: readonly QueueRef[],
  { signal, timeoutMs = UPDATE_MS }: ReadOptions,
): Promise<readonly StreamTail[]> {
  const all = queues.map((queue) => {
    const tail = state.tails.get(queue.name) ?? createStreamTail(queue);
    state.tails.set(queue.name, tail);
    return tail;
  });
  // The update that is running may have begun before one of these queues was known.
  while (isDue(state) || all.some((tail) => tail.lookedAt === null)) {
    state.running ??= update(state, all).finally(() => {
      state.running = null;
    });
    // Waiting callers get the error. Without any, it must not be an unhandled rejection.
    state.running.catch(() => {});
    await withDeadline(state.running, signal, timeoutMs);
  }
  return all;
}

function isDue({ now, updatedAt }: TailsState): boolean {
  const age = now() - updatedAt;
  // The clock may have been set back.
  return age >= FRESH_MS || age < 0;
}

async function update(state: TailsState, all: readonly StreamTail[]): Promise<void> {
  const { tails } = state;
  const startedAt = state.now();
  for await (const some of inPortions(all)) await updateSome(state, some, startedAt);
  // Queues may have been removed.
  const kept = new Set(all);
  for (const [name, tail] of tails) if (!kept.has(tail)) tails.delete(name);
  shrinkTails(tails.values());
  state.updatedAt = startedAt;
}

async function updateSome(state: TailsState, some: readonly StreamTail[], startedAt: number): Promise<void> {
  const { access, memory } = state;
  const options = { timeoutMs: UPDATE_MS };
  const news = await readNews(access, some, options);
  const hasNews = news.some(
    ({ entries, isFresh, tail }) => entries.length > 0 || (isFresh && tail.items.length > 0),
  );
  const lists = news.map(({ tail, entries }) => ({ queue: tail.queue, entries }));
  const items = await readItems(access, lists, memory, options);
  for (const [at, one] of news.entries()) addNews(one, items[at] ?? [], startedAt);
  // Before the first update, no entry has been read. A later portion may fail.
  if (hasNews && state.updatedAt > Number.NEGATIVE_INFINITY) state.revision += 1;
}

async function extendTail(state: TailsState, tail: StreamTail, options: ReadOptions): Promise<void> {
  const [oldest] = tail.items;
  if (oldest === undefined) return;
  const count = tail.batch;
  const [reply] = await state.access.read([backwardCommand(tail.queue, oldest.id, count)], options);
  const entries = entriesOf(reply).toReversed();
  // Data from later entries does not apply to earlier ones.
  const memory = state.memory.before();
  const [items = []] = await readItems(state.access, [{ queue: tail.queue, entries }], memory, options);
  // Another read may have changed the tail meanwhile.
  if (tail.items[0]?.id !== oldest.id) return;
  fitBatch(tail, entries);
  const times = { foundAt: oldest.foundAt, absentAt: Number.NEGATIVE_INFINITY };
  tail.items = [...items.map((item) => ({ ...item, ...times })), ...tail.items];
  tail.base = entries.length < count ? BEGINNING : null;
}
