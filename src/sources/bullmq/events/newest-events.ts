/** The latest items of the feed. */
import type { TaskEvent } from '../../../model.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import type { TaskEventPage, TaskEventQuery } from '../../../source.ts';
import { markOf, placeOf, writeCursor } from './feed-cursor.ts';
import { matcherOf } from './feed-filter.ts';
import type { FeedItem } from './feed-items.ts';
import type { FeedTails } from './feed-tails.ts';
import { BEGINNING } from './stream-entry.ts';
import { indexBehind, lastIdOf, type StreamTail } from './stream-tail.ts';

/** A tail as it is gone through from its end, as it was when it was last looked at. */
interface Descent {
  readonly tail: StreamTail;
  items: readonly FeedItem[];
  /** Index of the item to come; -1: it is not held. */
  index: number;
  /** Whether no item is to come. */
  isEnd: boolean;
}

/**
 * The newest matching items and the place behind all there is.
 *
 * @param most entries that are looked at
 */
export async function listNewest(
  tails: FeedTails,
  all: readonly StreamTail[],
  query: TaskEventQuery,
  most: number,
  options: ReadOptions,
): Promise<TaskEventPage> {
  const cursor = writeCursor(placeOf(lastIds(all), 0, Number.POSITIVE_INFINITY));
  const descents = all.map(
    (tail): Descent => ({
      tail,
      items: tail.items,
      index: tail.items.length - 1,
      isEnd: tail.items.length === 0,
    }),
  );
  const matches = matcherOf(query);
  const events: TaskEvent[] = [];
  for (let scanned = 0; events.length < query.limit && scanned < most; scanned += 1) {
    await extend(tails, descents, options);
    const last = lastOf(descents);
    const item = last?.items[last.index];
    if (last === undefined || item === undefined) break;
    last.index -= 1;
    if (item.event !== null && matches(item.event)) events.push(item.event);
  }
  return { events, cursor, gap: false };
}

function lastIds(tails: readonly StreamTail[]): ReadonlyMap<string, string> {
  return new Map(
    tails.flatMap((tail) => {
      const id = lastIdOf(tail);
      return id === null ? [] : [[markOf(tail.queue.name), id] as const];
    }),
  );
}

/** The one whose item comes last: by time, then by the name of the queue. */
function lastOf(descents: readonly Descent[]): Descent | undefined {
  let last: Descent | undefined;
  let latest = Number.NEGATIVE_INFINITY;
  for (const descent of descents) {
    const item = descent.items[descent.index];
    if (item === undefined || item.time < latest) continue;
    last = descent;
    latest = item.time;
  }
  return last;
}

/** Sees to it that each has an item to come, or none at all. What is read for one is held for all who ask. */
async function extend(tails: FeedTails, descents: readonly Descent[], options: ReadOptions): Promise<void> {
  const short = descents.filter((descent) => isShort(descent));
  if (short.length === 0) return;
  await tails.extend(
    short.map(({ tail }) => tail),
    options,
  );
  // Where the tail has been let go of meanwhile, the list is the shorter for it.
  for (const descent of short) if (isShort(descent)) descent.isEnd = true;
}

/** Whether its items have come to an end that is not that of the stream; others may have added some. */
function isShort(descent: Descent): boolean {
  const { tail, items, index, isEnd } = descent;
  if (isEnd || index >= 0) return false;
  const at = indexBehind(tail, { id: items[0]?.id ?? BEGINNING }) ?? 0;
  if (at > 1) {
    descent.items = tail.items;
    descent.index = at - 2;
    return false;
  }
  descent.isEnd = at === 0 || tail.base === BEGINNING;
  return !descent.isEnd;
}
