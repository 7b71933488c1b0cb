/**
 * Rows of a set of many jobs that Redis does not keep in the order of their last change. They come in the
 * set's own order: waiting jobs as they were put in, delayed ones as they fall due, prioritized ones of one
 * priority as they were put in. That is nearly the order of time; a job that time would place elsewhere
 * comes when its turn in the set comes. A page remembers the last jobs that it passed, so that the next page
 * finds its position again after jobs have come and gone.
 */

import { asCount, asNumber, asScored, asTexts } from '../../../redis/replies.ts';
import { comparePositions } from '../../../select/task-order.ts';
import type { QueueRef, ReadCommands } from '../access/queue-reads.ts';
import { lastChange, readFacts, readSmallJobs } from '../jobs/job-facts.ts';
import { isMarker, type JobSet, PRIORITY_SPAN } from '../jobs/job-sets.ts';
import {
  type Demand,
  MOST_AT_ONCE,
  type RowPosition,
  rowOf,
  type SequenceRange,
  type SequenceRow,
  type SetPosition,
} from './job-sequence.ts';

/** A job of the set. */
interface SetMember {
  readonly id: string;
  /** `null` in a list. */
  readonly score: number | null;
  readonly index: number;
}

/** Neighbours in a set. */
interface SetSlice {
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

/** Jobs that a position remembers. Single ones may be removed; if all are gone, workers took them in order. */
const REMEMBERED = 4;
/** Jobs before a position that are read again, to see whether it has moved. */
const OVERLAP = 16;
/** How often a position is searched for in a set that keeps moving. */
const MOST_SEARCHES = 10;
/** After this many successive rows outside the requested times, no others are expected. */
const MOST_BEYOND = 1_000;

/** A set to list in its own order. */
interface OwnOrderSet {
  readonly queue: QueueRef;
  readonly set: JobSet;
  /** Its name in cursors. */
  readonly name: string;
  readonly members: IndexedSet;
  /** Where to start; `null`: at the beginning. */
  readonly start: SetPosition | null;
  /** At the beginning, rows are skipped up to this position in the list. */
  readonly skipTo: RowPosition | null;
}

export async function* ownOrderRows(
  read: ReadCommands,
  { queue, set, name, members, start, skipTo }: OwnOrderSet,
  range: SequenceRange,
): AsyncGenerator<SequenceRow, void, undefined> {
  let position = start ?? { index: await members.first(), before: [] };
  let window = 0;
  let time: number | null = null;
  let beyond = 0;
  let isSkipping = skipTo !== null;
  const readAll = range.withTexts ? readSmallJobs : readFacts;
  for (;;) {
    window = nextWindow(window, range.demand, isSkipping);
    const { members: found, isEnd } = await readBehind(members, position, window, range.order);
    const contents = await readAll(
      read,
      found.map(({ id, score }) => ({ queue, set, id, score })),
    );
    for (const [at, { id, score, index }] of found.entries()) {
      position = { index: index + 1, before: [...position.before, id].slice(-REMEMBERED) };
      const content = contents[at] ?? null;
      if (content === null) continue;
      // A job without a time stays with the one before it.
      time = lastChange(set, score, content.facts) ?? time;
      const row = rowOf(queue, set, { id, score }, time, content);
      isSkipping &&= skipTo !== null && comparePositions(row.position, skipTo, range.order) <= 0;
      if (isSkipping) continue;
      beyond = isBeyond(time, range) ? beyond + 1 : 0;
      yield { ...row, next: { name, position } };
    }
    if (isEnd || beyond >= MOST_BEYOND) return;
  }
}

/** How many jobs to read. Each costs commands, so with other sequences the first read is small. */
function nextWindow(previous: number, { rows, sequences }: Demand, isSkipping: boolean): number {
  if (isSkipping) return Math.min(Math.max(4 * previous, OVERLAP), MOST_AT_ONCE);
  const share = previous === 0 ? Math.ceil(rows / (2 * sequences)) : 2 * previous;
  const needed = sequences === 1 ? rows : Math.min(share, rows);
  return Math.min(Math.max(needed, OVERLAP), MOST_AT_ONCE);
}

/** The jobs after a position, wherever it is by now. */
async function readBehind(
  members: IndexedSet,
  { index, before }: SetPosition,
  count: number,
  order: 'asc' | 'desc',
): Promise<SetSlice> {
  let from = index;
  let remembered = before;
  for (let search = 0; remembered.length > 0 && search < MOST_SEARCHES; search += 1) {
    const last = remembered.at(-1);
    // The set may move faster than it is searched, so each search looks further back.
    const back = Math.min(from, OVERLAP * 4 ** search, MOST_AT_ONCE);
    const { members: found, isEnd } = await members.slice(from - back, back + count);
    const at = found.findIndex(({ id }) => id === last);
    if (at >= 0) return { members: found.slice(at + 1), isEnd };
    const nearest = await findNearest(members, remembered, from);
    if (nearest === null) {
      // Workers take jobs from the old end of a set. In `desc`, all jobs behind the position have been taken,
      // and in `asc`, all jobs before it. A short cursor remembers one job, which may have been removed alone.
      if (order === 'desc' && before.length >= REMEMBERED) return { members: [], isEnd: true };
      if (order === 'asc') from = await members.first();
      break;
    }
    // The jobs remembered behind this one are gone, so the position is right behind it.
    remembered = remembered.slice(0, remembered.lastIndexOf(nearest.id) + 1);
    from = nearest.index + 1;
  }
  return members.slice(from, count);
}

/** The nearest of these jobs that is still there. */
async function findNearest(
  members: IndexedSet,
  before: readonly string[],
  near: number,
): Promise<{ readonly id: string; readonly index: number } | null> {
  for (const id of before.toReversed()) {
    const index = await members.indexOf(id, near);
    if (index !== null) return { id, index };
  }
  return null;
}

function isBeyond(time: number | null, { order, since, until }: SequenceRange): boolean {
  if (time === null) return false;
  return order === 'desc' ? since !== null && time < since : until !== null && time >= until;
}
