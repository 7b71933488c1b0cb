/** Items of the feed that are kept in a store, so that they stay when Redis trims the streams. */
import type { ReadOptions } from '../../../redis/reader.ts';
import type { FeedItem } from './feed-items.ts';
import type { StreamPosition } from './stream-reads.ts';

/** Kept items of one queue, oldest first. */
export interface LoggedPart {
  readonly items: readonly FeedItem[];
  /** Whether items between the position and these are unknown. */
  readonly hasGap: boolean;
}

/** Reads of kept items. They never reject for lack of a store: items that cannot be read are unknown. */
export interface FeedLog {
  /** The items behind a position, `count` at most. */
  readBehind(
    queue: string,
    position: StreamPosition,
    count: number,
    options: ReadOptions,
  ): Promise<LoggedPart>;
  /** The items right before an entry, `count` at most. They end where items are unknown. */
  readBefore(queue: string, id: string, count: number, options: ReadOptions): Promise<readonly FeedItem[]>;
}
