/** The newest part of each queue's stream, kept in memory for all requests, and the entries that it got since. */
import type { ReadOptions } from '../../../redis/reader.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { QueueCommand, QueueRef } from '../access/queue-reads.ts';
import type { FeedItem } from './feed-items.ts';
import {
  BEGINNING,
  backwardCommand,
  compareIds,
  entriesOf,
  forwardCommand,
  type StreamEntry,
  type StreamPosition,
} from './stream-entry.ts';

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

export const FIRST_BATCH = 100;
const LEAST_BATCH = 4;
const MOST_BATCH = 500;
/** Characters that a batch should have, about. */
const BATCH_SIZE = 1_000_000;
/** Bounds of all tails together. They exceed the entries of one answer, so the next one finds them in memory. */
const MOST_ITEMS = 40_000;
const MOST_SIZE = 16_000_000;

export function createStreamTail(queue: QueueRef): StreamTail {
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

/** Sets the size of the next batch by the entries just read: those of one queue are alike. */
export function fitBatch(
  tail: Pick<StreamTail, 'batch'>,
  entries: readonly { readonly size: number }[],
): void {
  if (entries.length === 0) return;
  const size = entries.reduce((sum, entry) => sum + entry.size, 0) / entries.length;
  const fits = Math.floor(BATCH_SIZE / Math.max(1, size));
  tail.batch = Math.max(LEAST_BATCH, Math.min(fits, tail.batch * 2, MOST_BATCH));
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
export function shrinkTails(tails: Iterable<StreamTail>): void {
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

/** The next read of one stream. */
interface NewsRead {
  readonly commands: readonly QueueCommand[];
  /** Takes the replies. Returns whether the stream has been read to its end. */
  take(replies: readonly unknown[]): boolean;
}

/** A stream that got more entries than this is read from its end instead. */
const MOST_NEWS = 5_000;
/** In characters. Larger entries are not read each time to see whether they still exist. */
const LARGE = 16_384;

/** Reads the new entries of all tails. A stream without new ones costs one command. */
export async function readNews(
  access: QueueAccess,
  tails: readonly StreamTail[],
  options: ReadOptions,
): Promise<readonly TailNews[]> {
  const news = tails.map(
    (tail): TailNews => ({ tail, entries: [], isFresh: tail.items.length === 0, isLost: false, base: null }),
  );
  let open = [...news];
  while (open.length > 0) {
    const reads = open.map(readOf);
    const replies = await access.read(
      reads.flatMap(({ commands }) => commands),
      options,
    );
    let next = 0;
    open = open.filter((_, at) => {
      const read = reads[at];
      const own = replies.slice(next, next + (read?.commands.length ?? 0));
      next += own.length;
      return read?.take(own) === false;
    });
  }
  return news;
}

function readOf(news: TailNews): NewsRead {
  const { tail, entries } = news;
  const last = entries.at(-1)?.id ?? (news.isFresh ? null : lastIdOf(tail));
  if (last === null) return readOfNewest(news);
  const count = tail.batch;
  const witness = entries.length > 0 ? last : witnessOf(tail);
  // While an entry exists, nothing behind it has been removed: trimming begins with the oldest.
  const isLast = witness === last;
  const commands = isLast
    ? [forwardCommand(tail.queue, last, count + 1)]
    : [witnessCommand(tail, witness), forwardCommand(tail.queue, `(${last}`, count)];
  return {
    commands,
    take(replies) {
      const found = entriesOf(replies.at(-1));
      if (entriesOf(replies[0])[0]?.id !== witness) return startAgain(news, true);
      const fresh = isLast ? found.slice(1) : found;
      fitBatch(tail, fresh);
      entries.push(...fresh);
      return fresh.length < count || (entries.length > MOST_NEWS && startAgain(news, false));
    },
  };
}

function readOfNewest(news: TailNews): NewsRead {
  const { tail } = news;
  const count = tail.batch;
  return {
    commands: [backwardCommand(tail.queue, null, count)],
    take(replies) {
      const found = entriesOf(replies[0]);
      fitBatch(tail, found);
      news.entries = found.toReversed();
      news.base = found.length < count ? BEGINNING : null;
      return true;
    },
  };
}

/** Reads the stream from its end with the next read. */
function startAgain(news: TailNews, isLost: boolean): false {
  news.entries = [];
  news.isFresh = true;
  news.isLost ||= isLost;
  return false;
}

/** The newest item that is cheap to read again. */
function witnessOf({ items }: StreamTail): string | null {
  return (items.findLast(({ sizeRead }) => sizeRead < LARGE) ?? items.at(-1))?.id ?? null;
}

function witnessCommand({ queue }: StreamTail, id: string | null): QueueCommand {
  return { queue, command: ['XRANGE', queue.key('events'), id ?? '-', id ?? '+', 'COUNT', '1'] };
}

/**
 * Adds new items to their tail.
 *
 * @param lookedAt when the update began, in milliseconds since 1970
 */
export function addNews(
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
