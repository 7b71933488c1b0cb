/** The tails of all queues: looked at together, at most once a second however many ask. */
import { withDeadline } from '../../../redis/deadline.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import type { QueueAccess } from '../queue-access.ts';
import type { QueueRef } from '../queue-ref.ts';
import { type FeedItem, readItems } from './feed-items.ts';
import { createJobMemory } from './job-memory.ts';
import { BEGINNING, entriesOf } from './stream-entry.ts';
import { backwardCommand, readBehind, type StreamPart, type StreamPlace } from './stream-reads.ts';
import { createStreamTail, fitBatch, type StreamTail, shrinkTails } from './stream-tail.ts';
import { addNews, readNews } from './tail-news.ts';

/** How long what was read may be shown as the latest, in milliseconds. */
export const FRESH_MS = 1_000;
/** Whoever waits gives up before; one read serves all of them, also those who come later. */
const READ_MS = 4_000;

/** Tails of the queues there are. */
export interface FeedTails {
  /**
   * Those of these queues in their order, with what has come up to a second ago.
   *
   * @throws RedisError
   */
  look(queues: readonly QueueRef[], options: ReadOptions): Promise<readonly StreamTail[]>;
  /** Adds items before the first of these tails where there may be some. */
  extend(tails: readonly StreamTail[], options: ReadOptions): Promise<void>;
  /** Items behind places that are not held; as {@link StreamPart} for their entries. */
  readBehind(
    wishes: readonly { readonly queue: QueueRef; readonly place: StreamPlace; readonly count: number }[],
    options: ReadOptions,
  ): Promise<readonly (StreamPart & { readonly items: readonly FeedItem[] })[]>;
  /** Counts looks that found something. */
  readonly revision: number;
  /** Milliseconds since 1970 at which to look again; zero: now. */
  readonly dueAt: number;
}

export function createFeedTails(access: QueueAccess, now: () => number = Date.now): FeedTails {
  const tails = new Map<string, StreamTail>();
  const memory = createJobMemory();
  let revision = 0;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> | null = null;

  function isDue(): boolean {
    const age = now() - lookedAt;
    return age >= FRESH_MS || age < 0;
  }

  function tailOf(queue: QueueRef): StreamTail {
    const tail = tails.get(queue.name) ?? createStreamTail(queue);
    tails.set(queue.name, tail);
    return tail;
  }

  async function update(all: readonly StreamTail[]): Promise<void> {
    const startedAt = now();
    const options = { timeoutMs: READ_MS };
    const news = await readNews(access, all, options);
    const came = news.filter(
      ({ entries, isFresh, tail }) => entries.length > 0 || (isFresh && tail.items.length > 0),
    );
    const lists = news.map(({ tail, entries }) => ({ queue: tail.queue, entries }));
    const items = await readItems(access, lists, memory, options);
    // Those of queues that are no longer there.
    for (const [name, tail] of tails) if (!all.includes(tail)) tails.delete(name);
    for (const [at, one] of news.entries()) addNews(one, items[at] ?? [], startedAt);
    shrinkTails(tails.values());
    // Nobody has been told anything before the first look.
    if (came.length > 0 && lookedAt > Number.NEGATIVE_INFINITY) revision += 1;
    lookedAt = startedAt;
  }

  async function extend(wanted: readonly StreamTail[], options: ReadOptions): Promise<void> {
    const asked = wanted.map((tail) => ({ tail, first: tail.items[0]?.id ?? null, count: tail.batch }));
    const replies = await access.read(
      asked.map(({ tail, first, count }) => backwardCommand(tail.queue, first, count)),
      options,
    );
    const parts = asked.map((one, at) => ({ ...one, entries: entriesOf(replies[at]).toReversed() }));
    const lists = parts.map(({ tail, entries }) => ({ queue: tail.queue, entries }));
    // What was told of a job later is no memory of what came before.
    const items = await readItems(access, lists, memory.before(), options);
    for (const [at, { tail, first, count, entries }] of parts.entries()) {
      // Somebody else may have changed it.
      if (first === null || tail.items[0]?.id !== first) continue;
      fitBatch(tail, entries);
      const time = { foundAt: tail.items[0].foundAt, absentAt: Number.NEGATIVE_INFINITY };
      tail.items = [...(items[at] ?? []).map((item) => ({ ...item, ...time })), ...tail.items];
      tail.base = entries.length < count ? BEGINNING : null;
    }
  }

  return {
    async look(queues, { signal, timeoutMs = READ_MS }) {
      const all = queues.map(tailOf);
      // The one that is under way may have begun before one of these queues was known.
      while (isDue() || all.some((tail) => tail.lookedAt === null)) {
        looking ??= update(all).finally(() => {
          looking = null;
        });
        looking.catch(() => {});
        await withDeadline(looking, signal, timeoutMs);
      }
      return all;
    },
    extend,
    async readBehind(wishes, options) {
      const parts = await readBehind(access, wishes, options);
      const lists = parts.map(({ entries }, at) => ({ queue: wishes[at]?.queue as QueueRef, entries }));
      const items = await readItems(access, lists, memory.before(), options);
      return parts.map((part, at) => ({ ...part, items: items[at] ?? [] }));
    },
    get revision() {
      return revision;
    },
    get dueAt() {
      return lookedAt + FRESH_MS;
    },
  };
}
