/** Reads what has come to streams since their tails were last looked at. */

import type { ReadOptions } from '../../../redis/reader.ts';
import type { QueueAccess, QueueCommand } from '../queue-access.ts';
import type { FeedItem } from './feed-items.ts';
import { BEGINNING, entriesOf, type StreamEntry } from './stream-entry.ts';
import { backwardCommand, forwardCommand } from './stream-reads.ts';
import { fitBatch, lastIdOf, type StreamTail } from './stream-tail.ts';

/** What has come to one stream. */
export interface TailNews {
  readonly tail: StreamTail;
  /** Oldest first. */
  entries: StreamEntry[];
  /** Whether they take the place of what was held. */
  isFresh: boolean;
  /** Whether what was held, or what came behind it, has gone. */
  isLost: boolean;
  /** The entry before the first one of a fresh tail. */
  base: string | null;
}

interface Wish {
  readonly commands: readonly QueueCommand[];
  take(replies: readonly unknown[]): boolean;
}

/** A stream that has got more than this is shown from its end. */
const MOST_NEWS = 5_000;
/** A larger entry is not read again and again to see whether it is still there. */
const LARGE = 16_384;

/** One command for each stream to which nothing has come. */
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
    const wishes = open.map(wishOf);
    const replies = await access.read(
      wishes.flatMap(({ commands }) => commands),
      options,
    );
    let next = 0;
    open = open.filter((_, at) => {
      const wish = wishes[at];
      const own = replies.slice(next, next + (wish?.commands.length ?? 0));
      next += own.length;
      return wish?.take(own) === false;
    });
  }
  return news;
}

/** What to ask next; `take` returns whether that was all. */
function wishOf(news: TailNews): Wish {
  const { tail, entries } = news;
  const last = entries.at(-1)?.id ?? (news.isFresh ? null : lastIdOf(tail));
  if (last === null) return newestWish(news);
  const count = tail.batch;
  const witness = entries.length > 0 ? last : witnessOf(tail);
  // While an entry is there, nothing behind it has been removed: trimming begins with the oldest.
  const isLast = witness === last;
  const commands = isLast
    ? [forwardCommand(tail.queue, last, count + 1)]
    : [witnessCommand(tail, witness), forwardCommand(tail.queue, `(${last}`, count)];
  return {
    commands,
    take(replies) {
      const found = entriesOf(replies.at(-1));
      if (entriesOf(replies[0])[0]?.id !== witness) return begin(news, true);
      const fresh = isLast ? found.slice(1) : found;
      fitBatch(tail, fresh);
      entries.push(...fresh);
      return fresh.length < count || (entries.length > MOST_NEWS && begin(news, false));
    },
  };
}

function newestWish(news: TailNews): Wish {
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

function begin(news: TailNews, isLost: boolean): false {
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

/** @param lookedAt when reading them began, in milliseconds since 1970 */
export function addNews(
  { tail, isFresh, isLost, base }: TailNews,
  items: readonly FeedItem[],
  lookedAt: number,
): void {
  // An empty stream that is not any more was looked at before.
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
