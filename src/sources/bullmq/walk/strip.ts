/** A set of many jobs as a row of ids in the order of the walk, read by index. */

import type { RedisCommand } from '../../../redis/client.ts';
import { asCount, asNumber, asScored, asTexts } from '../../../redis/replies.ts';
import { isMarker, type JobSet } from '../job-sets.ts';
import type { QueueCommand } from '../queue-access.ts';
import type { QueueRef } from '../queue-ref.ts';
import type { Foothold, LaneStep } from './lane.ts';

/** A member in its place. */
export interface StripItem {
  readonly id: string;
  readonly score: number | null;
}

/** Some of them, in order. */
export interface StripPart {
  readonly items: readonly StripItem[];
  /** Whether there are no more behind them. */
  readonly isEnd: boolean;
}

/** What a stream lane reads. Indexes move as jobs come and go: {@link Strip.find} finds a place again. */
export interface Strip {
  readonly queue: QueueRef;
  readonly set: JobSet;
  size(): Generator<LaneStep, number, readonly unknown[]>;
  slice(from: number, count: number): Generator<LaneStep, StripPart, readonly unknown[]>;
  /** Members at these indexes; `null` for none. */
  at(indexes: readonly number[]): Generator<LaneStep, readonly (StripItem | null)[], readonly unknown[]>;
  /** The index of one of these members, the first that is there; `null` when none is. */
  find(
    hold: Foothold,
  ): Generator<LaneStep, { readonly id: string; readonly index: number } | null, readonly unknown[]>;
}

/** Scores of a priority: bullmq, includes/getPriorityScore.lua. */
export const PRIORITY_SPAN = 0x1_0000_0000;

/** Where a member of a list is looked for that is not near where it was: some milliseconds of Redis' time. */
const LONGEST_SEARCH = '200000';

/** @param order what is newest on the left of a list comes first in `desc` */
export function listStrip(queue: QueueRef, set: JobSet, order: 'asc' | 'desc'): Strip {
  const key = queue.key(set.part);
  const ask = (...command: [RedisCommand[0], ...string[]]): QueueCommand => ({ queue, command });
  const isAscending = order === 'asc';

  function* size(): Generator<LaneStep, number, readonly unknown[]> {
    const [reply] = yield { ask: [ask('LLEN', key)] };
    return asCount(reply);
  }

  function* slice(from: number, count: number): Generator<LaneStep, StripPart, readonly unknown[]> {
    const first = isAscending ? -(from + count) : from;
    const last = isAscending ? -(from + 1) : from + count - 1;
    const [reply] = yield { ask: [ask('LRANGE', key, String(first), String(last))] };
    const ids = asTexts(reply);
    const items = (isAscending ? ids.toReversed() : ids).map((id) => ({ id, score: null }));
    return { items, isEnd: ids.length < count };
  }

  return {
    queue,
    set,
    size,
    slice,
    *at(indexes) {
      const replies = yield {
        ask: indexes.map((index) => ask('LINDEX', key, String(isAscending ? -(index + 1) : index))),
      };
      return replies.map((id) => (typeof id === 'string' && !isMarker(id) ? { id, score: null } : null));
    },
    *find({ index, size: before, before: ids }) {
      const now = yield* size();
      // Jobs come on the left and go on the right: it has moved by those that came, or that went.
      const guess = Math.max(0, isAscending ? index : index + Math.max(0, now - before));
      const near = Math.max(0, guess - (isAscending ? 200 : 50));
      const { items } = yield* slice(near, 250);
      for (const id of ids) {
        const place = items.findIndex((item) => item.id === id);
        if (place >= 0) return { id, index: near + place };
      }
      for (const id of ids) {
        const [left, right] = yield {
          ask: [
            ask('LPOS', key, id, 'MAXLEN', LONGEST_SEARCH),
            ask('LPOS', key, id, 'RANK', '-1', 'MAXLEN', LONGEST_SEARCH),
          ],
        };
        const place = asNumber(left) ?? asNumber(right);
        if (place !== null) return { id, index: isAscending ? now - 1 - place : place };
      }
      return null;
    },
  };
}

/**
 * @param from scores at least this
 * @param to scores less than this
 */
export function sortedStrip(
  queue: QueueRef,
  set: JobSet,
  order: 'asc' | 'desc',
  from = Number.NEGATIVE_INFINITY,
  to = Number.POSITIVE_INFINITY,
): Strip {
  const key = queue.key(set.part);
  const isAscending = order === 'asc';
  const low = from === Number.NEGATIVE_INFINITY ? '-inf' : String(from);
  const high = to === Number.POSITIVE_INFINITY ? '+inf' : `(${to}`;

  let known: number | null = null;

  /** How many members stand before these scores in the order of the walk. */
  function* offset(): Generator<LaneStep, number, readonly unknown[]> {
    if (known !== null) return known;
    const isWhole = isAscending ? low === '-inf' : high === '+inf';
    if (isWhole) return 0;
    const command: RedisCommand = isAscending
      ? ['ZCOUNT', key, '-inf', `(${from}`]
      : ['ZCOUNT', key, String(to), '+inf'];
    const [reply] = yield { ask: [{ queue, command }] };
    known = asCount(reply);
    return known;
  }

  const within = ({ score }: StripItem): boolean => score !== null && score >= from && score < to;

  function* slice(first: number, count: number): Generator<LaneStep, StripPart, readonly unknown[]> {
    const start = (yield* offset()) + first;
    const name = isAscending ? 'ZRANGE' : 'ZREVRANGE';
    const command = [name, key, String(start), String(start + count - 1), 'WITHSCORES'] as const;
    const [reply] = yield { ask: [{ queue, command }] };
    const found = asScored(reply).map(({ member, score }) => ({ id: member, score }));
    const last = found.at(-1)?.score ?? 0;
    const isPast = isAscending ? last >= to : last < from;
    return { items: found.filter(within), isEnd: found.length < count || isPast };
  }

  return {
    queue,
    set,
    *size() {
      const [reply] = yield { ask: [{ queue, command: ['ZCOUNT', key, low, high] }] };
      return asCount(reply);
    },
    slice,
    *at(indexes) {
      const start = yield* offset();
      const name = isAscending ? 'ZRANGE' : 'ZREVRANGE';
      const replies = yield {
        ask: indexes.map((index) => {
          const place = String(start + index);
          return { queue, command: [name, key, place, place, 'WITHSCORES'] as const };
        }),
      };
      return replies.map((reply) => {
        const [found] = asScored(reply);
        const item = found === undefined ? null : { id: found.member, score: found.score };
        return item !== null && within(item) ? item : null;
      });
    },
    *find({ before: ids }) {
      known = null;
      const start = yield* offset();
      const name = isAscending ? 'ZRANK' : 'ZREVRANK';
      const ranks = yield { ask: ids.map((id) => ({ queue, command: [name, key, id] as const })) };
      for (const [place, id] of ids.entries()) {
        const rank = asNumber(ranks[place]);
        if (rank !== null && rank >= start) return { id, index: rank - start };
      }
      return null;
    },
  };
}
