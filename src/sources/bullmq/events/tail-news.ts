/** Reads the entries that streams got since their tails were last updated. */

import type { ReadOptions } from '../../../redis/reader.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { QueueCommand } from '../access/queue-reads.ts';
import type { FeedItem } from './feed-items.ts';
import { BEGINNING, entriesOf, type StreamEntry } from './stream-entry.ts';
import { backwardCommand, forwardCommand } from './stream-reads.ts';
import { fitBatch, lastIdOf, type StreamTail } from './stream-tail.ts';

/** New entries of one stream. */
export interface TailNews {
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
