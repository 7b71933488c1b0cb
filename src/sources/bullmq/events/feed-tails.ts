/**
 * The newest part of each queue's stream, kept in memory. All are updated together, at most once a second, for all
 * requests.
 */
import { withDeadline } from '../../../redis/deadline.ts';
import type { BullMQRedis, QueueAccess } from '../access/queue-access.ts';
import { inPortions, type QueueRef } from '../access/queue-reads.ts';
import { type FeedItem, readItems } from './feed-items.ts';
import { createJobMemory, type LatestMemory } from './job-memory.ts';
import {
  BEGINNING,
  backwardCommand,
  compareIds,
  entriesOf,
  FIRST_BATCH,
  fitBatch,
  LARGE,
  markBehind,
  type PlacedPart,
  type ReadMark,
  readBehind,
  readStreams,
  type StreamEntry,
  type StreamPart,
  type StreamPosition,
} from './stream-entry.ts';

/** How long a reading may be shown as the latest, in milliseconds. */
export const FRESH_MS = 1_000;
/** Time limit of an update in milliseconds. All requests share the update, so each of them may give up earlier. */
const UPDATE_MS = 4_000;

/** An item of a tail. Times in milliseconds since 1970, by our clock. */
export interface HeldItem extends FeedItem {
  /** When it was found. */
  readonly foundAt: number;
  /** When it did not exist yet; minus infinity: it was not read before. */
  readonly absentAt: number;
}

/** Nothing is missing between any two of its items. */
export interface StreamTail {
  readonly queue: QueueRef;
  items: readonly HeldItem[];
  /** The entry right before the first item; {@link BEGINNING}: there is none; `null`: not known. */
  base: string | null;
  /** When it was last updated; `null`: never. */
  lookedAt: number | null;
  /** When entries were last found to be lost; minus infinity: never. */
  lostAt: number;
  /** How many entries to read at once, given their sizes. */
  batch: number;
}

/** Bounds of all tails together. They exceed the entries of one answer, so the next one finds them in memory. */
const MOST_ITEMS = 40_000;
const MOST_SIZE = 16_000_000;

function createStreamTail(queue: QueueRef): StreamTail {
  return {
    queue,
    items: [],
    base: null,
    lookedAt: null,
    lostAt: Number.NEGATIVE_INFINITY,
    batch: FIRST_BATCH,
  };
}

export function lastIdOf({ items }: StreamTail): string | null {
  return items.at(-1)?.id ?? null;
}

/**
 * Index of the first item behind a position; `null` when not all items behind it are in memory.
 *
 * It is also `null` for a time before the first entry of the stream: only Redis knows whether there were others.
 */
export function indexBehind({ items, base }: StreamTail, position: StreamPosition): number | null {
  const [first, last] = [items[0], items.at(-1)];
  if (first === undefined || last === undefined) return null;
  if ('floor' in position) {
    const index = items.findIndex(({ time }) => time > position.floor);
    if (index === 0 && (base === null || base === BEGINNING)) return null;
    return index < 0 ? items.length : index;
  }
  if (position.id === base) return 0;
  if (compareIds(position.id, first.id) < 0 || compareIds(position.id, last.id) > 0) return null;
  let [low, high] = [0, items.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareIds(items[middle]?.id ?? '', position.id) < 0) low = middle + 1;
    else high = middle;
  }
  return items[low]?.id === position.id ? low + 1 : null;
}

/** The entry before an item; `null` when there is none or it is not known. */
export function idBefore({ items, base }: StreamTail, index: number): string | null {
  return items[index - 1]?.id ?? (base === BEGINNING ? null : base);
}

/** Drops the older half of the heaviest tails until all of them together are within bounds. */
function shrinkTails(tails: Iterable<StreamTail>): void {
  const all = [...tails];
  const sizes = new Map(all.map((tail) => [tail, tail.items.reduce((sum, { size }) => sum + size, 0)]));
  let count = all.reduce((sum, { items }) => sum + items.length, 0);
  let total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  while (count > MOST_ITEMS || total > MOST_SIZE) {
    const weight = (tail: StreamTail): number =>
      tail.items.length < 2 ? 0 : tail.items.length / MOST_ITEMS + (sizes.get(tail) ?? 0) / MOST_SIZE;
    const tail = all.reduce((heaviest, other) => (weight(other) > weight(heaviest) ? other : heaviest));
    // The last item stays: the next update continues behind it.
    if (tail.items.length < 2) return;
    const dropped = tail.items.slice(0, tail.items.length >> 1);
    const size = dropped.reduce((sum, item) => sum + item.size, 0);
    tail.base = dropped.at(-1)?.id ?? null;
    tail.items = tail.items.slice(dropped.length);
    sizes.set(tail, (sizes.get(tail) ?? 0) - size);
    count -= dropped.length;
    total -= size;
  }
}

/** Tails of the queues. */
export interface FeedTails {
  /**
   * The tails of these queues, in their order, at most a second old.
   *
   * @throws RedisError
   */
  update(access: QueueAccess, queues: readonly QueueRef[]): Promise<readonly StreamTail[]>;
  /** Reads older items of a tail, if there are any. */
  extend(access: QueueAccess, tail: StreamTail): Promise<void>;
  /** Reads items behind a position that is not in memory. */
  readBehind(
    access: QueueAccess,
    queue: QueueRef,
    position: StreamPosition,
    count: number,
  ): Promise<PlacedPart & { readonly items: readonly FeedItem[] }>;
  /** Increases with each update that found something. */
  readonly revision: number;
  /** When the next update is due, in milliseconds since 1970; minus infinity: now. */
  readonly dueAt: number;
}

interface TailsState {
  readonly redis: BullMQRedis;
  readonly now: () => number;
  /** By queue name. */
  readonly tails: Map<string, StreamTail>;
  readonly memory: LatestMemory;
  revision: number;
  /** When the last update began. */
  updatedAt: number;
  running: Promise<void> | null;
}

export function createFeedTails(redis: BullMQRedis, now: () => number = Date.now): FeedTails {
  const state: TailsState = {
    redis,
    now,
    tails: new Map(),
    memory: createJobMemory(),
    revision: 0,
    updatedAt: Number.NEGATIVE_INFINITY,
    running: null,
  };
  return {
    update: (access, queues) => updated(access, state, queues),
    extend: (access, tail) => extendTail(access, state, tail),
    async readBehind(access, queue, position, count) {
      const part = await readBehind(access, queue, position, count);
      const list = { queue, entries: part.entries };
      const [items = []] = await readItems(access, [list], state.memory.before());
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
  access: QueueAccess,
  state: TailsState,
  queues: readonly QueueRef[],
): Promise<readonly StreamTail[]> {
  const { signal, timeoutMs = UPDATE_MS } = access.options;
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
  const access = state.redis.within({ timeoutMs: UPDATE_MS });
  for await (const some of inPortions(all)) await updateSome(access, state, some, startedAt);
  // Queues may have been removed.
  const kept = new Set(all);
  for (const [name, tail] of tails) if (!kept.has(tail)) tails.delete(name);
  shrinkTails(tails.values());
  state.updatedAt = startedAt;
}

async function updateSome(
  access: QueueAccess,
  state: TailsState,
  some: readonly StreamTail[],
  startedAt: number,
): Promise<void> {
  const { memory } = state;
  const news = await readNews(access, some);
  const hasNews = news.some(
    ({ entries, isFresh, tail }) => entries.length > 0 || (isFresh && tail.items.length > 0),
  );
  const lists = news.map(({ tail, entries }) => ({ queue: tail.queue, entries }));
  const items = await readItems(access, lists, memory);
  for (const [at, one] of news.entries()) addNews(one, items[at] ?? [], startedAt);
  // Before the first update, no entry has been read. A later portion may fail.
  if (hasNews && state.updatedAt > Number.NEGATIVE_INFINITY) state.revision += 1;
}

async function extendTail(access: QueueAccess, state: TailsState, tail: StreamTail): Promise<void> {
  const [oldest] = tail.items;
  if (oldest === undefined) return;
  const count = tail.batch;
  const [reply] = await access.read([backwardCommand(tail.queue, oldest.id, count)]);
  const entries = entriesOf(reply).toReversed();
  // Data from later entries does not apply to earlier ones.
  const memory = state.memory.before();
  const [items = []] = await readItems(access, [{ queue: tail.queue, entries }], memory);
  // Another read may have changed the tail meanwhile.
  if (tail.items[0]?.id !== oldest.id) return;
  tail.batch = fitBatch(tail.batch, entries);
  const times = { foundAt: oldest.foundAt, absentAt: Number.NEGATIVE_INFINITY };
  tail.items = [...items.map((item) => ({ ...item, ...times })), ...tail.items];
  tail.base = entries.length < count ? BEGINNING : null;
}

/** New entries of one stream. */
interface TailNews {
  readonly tail: StreamTail;
  /** Oldest first. */
  entries: StreamEntry[];
  /** Whether they replace the items of the tail. */
  isFresh: boolean;
  /** Whether items of the tail, or entries behind them, have been removed. */
  isLost: boolean;
  /** The entry before the first one of a fresh tail; `null` when it is not known. */
  base: string | null;
}

/** A stream that got more entries than this is read from its end instead. */
const MOST_NEWS = 5_000;

/** Reads the new entries of all tails. A stream without new ones costs one command. */
async function readNews(access: QueueAccess, tails: readonly StreamTail[]): Promise<readonly TailNews[]> {
  const news = tails.map(
    (tail): TailNews => ({ tail, entries: [], isFresh: tail.items.length === 0, isLost: false, base: null }),
  );
  let open = news;
  while (open.length > 0) {
    const parts = await readStreams(
      access,
      open.map((one) => ({ queue: one.tail.queue, mark: markOf(one), count: one.tail.batch, isHeld: true })),
    );
    open = open.filter((one, at) => parts[at] !== undefined && !takePart(one, parts[at]));
  }
  return news;
}

function markOf({ tail: { items }, entries, isFresh }: TailNews): ReadMark | null {
  if (isFresh) return null;
  if (entries.length > 0) return markBehind(entries);
  const id = items.at(-1)?.id ?? BEGINNING;
  return { id, witness: items.findLast(({ sizeRead }) => sizeRead < LARGE)?.id ?? id };
}

/** @returns whether the stream has been read to its end */
function takePart(news: TailNews, { entries, isEnd, hasGap }: StreamPart): boolean {
  const { tail, isFresh } = news;
  if (hasGap) return startAgain(news, true);
  tail.batch = fitBatch(tail.batch, entries);
  news.entries.push(...entries);
  if (isFresh) news.base = isEnd ? BEGINNING : null;
  return isFresh || isEnd || (news.entries.length > MOST_NEWS && startAgain(news, false));
}

/** Reads the stream from its end with the next read. */
function startAgain(news: TailNews, isLost: boolean): false {
  news.entries = [];
  news.isFresh = true;
  news.isLost ||= isLost;
  return false;
}

/**
 * Adds new items to their tail.
 *
 * @param lookedAt when the update began, in milliseconds since 1970
 */
function addNews(
  { tail, isFresh, isLost, base }: TailNews,
  items: readonly FeedItem[],
  lookedAt: number,
): void {
  // A stream that was empty at the last update has been looked at before.
  const absentAt =
    (isFresh && (tail.items.length > 0 || base !== BEGINNING)) || tail.lookedAt === null
      ? Number.NEGATIVE_INFINITY
      : tail.lookedAt;
  const held = items.map((item) => ({ ...item, foundAt: lookedAt, absentAt }));
  tail.items = isFresh ? held : held.length === 0 ? tail.items : [...tail.items, ...held];
  if (isFresh) tail.base = base;
  if (isLost) tail.lostAt = lookedAt;
  tail.lookedAt = lookedAt;
}
