/** Sets of many jobs, read by index in the order in which Redis keeps them. */

import { asCount, asNumber, asScored, asTexts } from '../../../redis/replies.ts';
import type { ReadCommands } from '../access/queue-reads.ts';
import type { QueueRef } from '../access/queue-ref.ts';
import { isMarker, type JobSet } from '../jobs/job-sets.ts';
import { PRIORITY_SPAN } from '../jobs/priorities.ts';

/** A job of the set. */
export interface SetMember {
  readonly id: string;
  /** `null` in a list. */
  readonly score: number | null;
  readonly index: number;
}

/** Neighbours in a set. */
export interface SetSlice {
  readonly members: readonly SetMember[];
  /** Whether there is none behind them. */
  readonly isEnd: boolean;
}

/** Indexes count in the order of the walk. They shift whenever jobs come or go. */
export interface IndexedSet {
  /** Index of the first job. */
  first(): Promise<number>;
  slice(from: number, count: number): Promise<SetSlice>;
  /**
   * The index of a job; `null` when it is not found.
   *
   * @param near its index when it was seen last
   */
  indexOf(id: string, near: number): Promise<number | null>;
}

/** A list is searched this much further than where the job was. It takes Redis about a millisecond. */
const SEARCH_MARGIN = 20_000;

/** A list, which has its newest job on the left: waiting, paused or active jobs. */
export function indexedList(
  read: ReadCommands,
  queue: QueueRef,
  { part }: JobSet,
  order: 'asc' | 'desc',
): IndexedSet {
  const key = queue.key(part);
  const isAscending = order === 'asc';
  return {
    first: async () => 0,
    async slice(from, count) {
      const [left, right] = isAscending ? [-(from + count), -(from + 1)] : [from, from + count - 1];
      const [reply] = await read([{ queue, command: ['LRANGE', key, String(left), String(right)] }]);
      const ids = asTexts(reply);
      const members = (isAscending ? ids.toReversed() : ids)
        .map((id, at) => ({ id, score: null, index: from + at }))
        .filter(({ id }) => !isMarker(id));
      return { members, isEnd: ids.length < count };
    },
    async indexOf(id, near) {
      const most = String(near + SEARCH_MARGIN);
      const [length, found] = await read([
        { queue, command: ['LLEN', key] },
        { queue, command: ['LPOS', key, id, 'RANK', isAscending ? '-1' : '1', 'MAXLEN', most] },
      ]);
      const index = asNumber(found);
      return index === null || !isAscending ? index : asCount(length) - 1 - index;
    },
  };
}

/**
 * A sorted set: delayed or prioritized jobs.
 *
 * @param priority only the jobs of this priority; `null`: all
 */
export function indexedSortedSet(
  read: ReadCommands,
  queue: QueueRef,
  { part }: JobSet,
  order: 'asc' | 'desc',
  priority: number | null = null,
): IndexedSet {
  const key = queue.key(part);
  const isAscending = order === 'asc';
  const [range, rank] = isAscending ? (['ZRANGE', 'ZRANK'] as const) : (['ZREVRANGE', 'ZREVRANK'] as const);
  const low = priority === null ? Number.NEGATIVE_INFINITY : priority * PRIORITY_SPAN;
  const high = priority === null ? Number.POSITIVE_INFINITY : low + PRIORITY_SPAN;
  return {
    async first() {
      if (priority === null) return 0;
      const bounds = isAscending ? ['-inf', `(${low}`] : [String(high), '+inf'];
      const [count] = await read([{ queue, command: ['ZCOUNT', key, ...bounds] }]);
      return asCount(count);
    },
    async slice(from, count) {
      const command = [range, key, String(from), String(from + count - 1), 'WITHSCORES'] as const;
      const [reply] = await read([{ queue, command }]);
      const found = asScored(reply);
      const last = found.at(-1)?.score ?? 0;
      const members = found
        .map(({ member, score }, at) => ({ id: member, score, index: from + at }))
        .filter(({ score }) => score >= low && score < high);
      return { members, isEnd: found.length < count || (isAscending ? last >= high : last < low) };
    },
    async indexOf(id) {
      const [found] = await read([{ queue, command: [rank, key, id] }]);
      return asNumber(found);
    },
  };
}
