/** One list of the jobs of many sets, read page by page: the rows of the sets, merged by time. */

import { nextTick } from 'node:process';
import { mergeSortedAsync } from '../../../merge-sorted.ts';
import { asCount } from '../../../redis/replies.ts';
import { comparePositions } from '../../../select/apply-query.ts';
import type { TaskPosition } from '../../../source.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { keyCommand, type QueueCommand, type QueueRef, type ReadCommands } from '../access/queue-reads.ts';
import { findPaused, type JobSet, setIn } from '../jobs/job-sets.ts';
import {
  type CountedSet,
  indexedRows,
  newestRows,
  type QueueSet,
  type RowRange,
  readPlace,
  type SetRow,
  timedRows,
} from './set-rows.ts';

/** What to list. */
export interface WalkPlan {
  readonly queues: readonly QueueRef[];
  readonly sets: readonly JobSet[];
  /** In BullMQ's words; empty: all. */
  readonly engineStates: readonly string[];
  readonly order: 'asc' | 'desc';
  /** The position of a row. */
  readonly after: TaskPosition | null;
  /** Inclusive, in milliseconds; `null`: no bound. Rows outside the bounds may still be included. */
  readonly since: number | null;
  /** Exclusive. */
  readonly until: number | null;
  /** Whether most rows will be shown, so that the texts of small jobs may be read with them. */
  readonly withTexts: boolean;
  /**
   * Which jobs of large sets that time does not sort come. `newest`: the newest, sorted; `all`: all of them, roughly by
   * time, so that no page can continue. If there is only one set, `newest` means all jobs in its own order, and pages
   * continue there; `newest by time` does not.
   */
  readonly large: 'newest' | 'newest by time' | 'all';
}

/** A list of jobs, read on demand. */
export interface Walk {
  /** How many jobs the sets of the plan had at the beginning. */
  count(): Promise<number>;
  /** The next rows, each job once; fewer than `count` only at the end. */
  next(count: number): Promise<readonly SetRow[]>;
  /** Whether there is another row. */
  hasMore(): Promise<boolean>;
  /** Whether jobs of large sets are left out. */
  readonly isCut: boolean;
}

/** Jobs of a set that are sorted here; fewer each if there are many sets. */
const MOST_SORTED = 1_000;
const LEAST_SORTED = 50;
const MOST_SORTED_IN_ALL = 3_000;
/** How many more are read of a smaller set, which may have grown since its jobs were counted. */
const MARGIN = 200;

export async function createWalk(access: QueueAccess, plan: WalkPlan): Promise<Walk> {
  const { order, since, until, after, large } = plan;
  const read = batchReads(access);
  const counting = countSets(read, plan);
  // A caller that does not ask for the count needs none.
  counting.catch(() => {});
  // Sets that time sorts are read however many jobs they have, and the count comes with the first read of them.
  const isByTime = plan.sets.every((set) => set.isByTime);
  const place = isByTime ? null : readPlace(after?.mark);
  const present: readonly (QueueSet & Partial<CountedSet>)[] = isByTime
    ? allSets(plan)
    : (await counting).filter(
        ({ queue, set, count }) =>
          count > 0 && (place === null || (place.queue === queue.name && place.part === set.part)),
      );
  const unsorted = present.filter(({ set }) => !set.isByTime).length;
  const share = Math.floor(MOST_SORTED_IN_ALL / unsorted);
  const most = Math.max(LEAST_SORTED, Math.min(MOST_SORTED, share));
  const isAlone = present.length === 1 && after === null && large === 'newest';
  const isIndexed = large === 'all' || isAlone || place !== null;
  // Bounds of time drop rows of sets that time does not sort, and in a merged list not all rows come to be shown.
  const withTexts = plan.withTexts && present.length === 1 && since === null && until === null;
  const demand = { rows: 0, sets: present.length };
  const range: RowRange = { order, after, since, until, demand, withTexts };
  const rows = present.map((from) => {
    const { count = 0 } = from;
    if (from.set.isByTime) return timedRows(read, from, range);
    const isLarge = count > most || place !== null;
    if (isLarge && isIndexed) return indexedRows(read, { ...from, count }, range, place);
    return newestRows(read, from, range, isLarge ? most : most + MARGIN, isLarge);
  });
  const isCut = !isIndexed && present.some(({ set, count = 0 }) => !set.isByTime && count > most);
  return walkOver(merge(rows, order), demand, counting, isCut);
}

function allSets({ queues, sets }: WalkPlan): readonly QueueSet[] {
  return queues.flatMap((queue) => sets.map((set) => ({ queue, set })));
}

/** Counts the jobs of each set, without those whose jobs are in none of the wanted states. */
async function countSets(read: ReadCommands, plan: WalkPlan): Promise<readonly CountedSet[]> {
  const all = allSets(plan);
  const { queues, sets, engineStates } = plan;
  const [replies, paused] = await Promise.all([
    read(
      all.map(({ queue, set: { part, kind } }) =>
        keyCommand(queue, kind === 'list' ? 'LLEN' : 'ZCARD', part),
      ),
    ),
    sets.some(({ part }) => part === 'wait') ? findPaused(read, queues) : new Set<QueueRef>(),
  ]);
  return all
    .map(({ queue, set }, index) => ({
      queue,
      set: setIn(set, paused.has(queue)),
      count: asCount(replies[index]),
    }))
    .filter(({ set }) => engineStates.length === 0 || engineStates.includes(set.engineState));
}

function merge(all: readonly AsyncGenerator<SetRow>[], order: 'asc' | 'desc'): AsyncIterator<SetRow, void> {
  const [only] = all;
  // Most walks have one set, and merging costs time for each row.
  if (only !== undefined && all.length === 1) return only;
  return mergeSortedAsync(all, (a, b) => comparePositions(a.position, b.position, order));
}

function walkOver(
  rows: AsyncIterator<SetRow, void>,
  demand: RowRange['demand'],
  counting: Promise<readonly CountedSet[]>,
  isCut: boolean,
): Walk {
  /** Ids of the tasks that were given: a job that moves may be in two sets. */
  const given = new Set<string>();
  /** The next row, if it has been read. */
  let ahead: SetRow | null = null;

  async function peek(): Promise<SetRow | null> {
    while (ahead === null) {
      const { value, done } = await rows.next();
      if (done || value === undefined) return null;
      if (!given.has(value.taskId)) ahead = value;
    }
    return ahead;
  }

  return {
    isCut,
    count: async () => (await counting).reduce((sum, { count }) => sum + count, 0),
    async next(count) {
      // One more, for `hasMore`.
      demand.rows = count + 1;
      const taken: SetRow[] = [];
      while (taken.length < count) {
        const row = await peek();
        if (row === null) break;
        ahead = null;
        given.add(row.taskId);
        taken.push(row);
        demand.rows -= 1;
      }
      return taken;
    },
    hasMore: async () => (await peek()) !== null,
  };
}

/** Commands that one set waits for. */
interface WaitingRead {
  readonly commands: readonly QueueCommand[];
  resolve(replies: readonly unknown[]): void;
  reject(error: unknown): void;
}

/**
 * Sends the commands of several sets to Redis together. Each set sends its own commands; all commands before
 * Node's next tick become one read.
 */
function batchReads(access: QueueAccess): ReadCommands {
  let waiting: WaitingRead[] = [];

  async function send(): Promise<void> {
    const batch = waiting;
    waiting = [];
    try {
      const replies = await access.read(batch.flatMap(({ commands }) => commands));
      let from = 0;
      for (const { commands, resolve } of batch) {
        resolve(replies.slice(from, from + commands.length));
        from += commands.length;
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  return (commands) =>
    new Promise((resolve, reject) => {
      if (waiting.push({ commands, resolve, reject }) === 1) nextTick(send);
    });
}
