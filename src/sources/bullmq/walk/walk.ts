/** One list of the jobs of many sets, read page by page: the sets' sequences merged by time. */
import { mergeSortedAsync } from '../../../merge-sorted.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import { comparePositions } from '../../../select/task-order.ts';
import type { TaskPosition } from '../../../source.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { QueueRef } from '../access/queue-ref.ts';
import type { JobSet } from '../jobs/job-sets.ts';
import { batchReads } from './batched-reads.ts';
import type { Demand, RowPosition, SequenceRow, SetPosition } from './job-sequence.ts';
import { type CountedSet, countSets, openSequences } from './open-sequences.ts';
import { readWalkCursor, writeWalkCursor } from './walk-cursor.ts';

/** What to list. */
export interface WalkPlan {
  readonly queues: readonly QueueRef[];
  readonly sets: readonly JobSet[];
  readonly order: 'asc' | 'desc';
  /** A position that a walk gave, or the time and id of a row alone. */
  readonly after: TaskPosition | null;
  /** Inclusive, in milliseconds; `null`: no bound. Rows outside of the bounds may come nevertheless. */
  readonly since: number | null;
  /** Exclusive. */
  readonly until: number | null;
  /** Whether most rows will be shown, so that the texts of small jobs may be read along. */
  readonly withTexts: boolean;
}

/** A list of jobs, read as far as it is asked for. */
export interface Walk {
  /** Jobs in each set of the plan, as they were counted at the beginning. Empty sets are left out. */
  readonly counts: readonly CountedSet[];
  /** The next rows, each job once; fewer than `count` only at the end. */
  next(count: number): Promise<readonly SequenceRow[]>;
  /** Whether there is another row. */
  hasMore(): Promise<boolean>;
  /** Where to continue behind a row of the last {@link Walk.next}. */
  positionBehind(row: SequenceRow): TaskPosition;
}

/** How far a walk has come. */
interface Progress {
  /** The last row of the sets that time and id sort. */
  sorted: RowPosition | null;
  /** Positions in sets that are listed in their own order, by name. */
  readonly sets: Map<string, SetPosition | null>;
}

export async function createWalk(access: QueueAccess, plan: WalkPlan, options: ReadOptions): Promise<Walk> {
  const { order } = plan;
  const read = batchReads(access, options);
  const counts = await countSets(read, plan.queues, plan.sets);
  const { progress, last } = startOf(plan.after);
  const demand: Demand = { rows: 0, sequences: counts.length };
  const range = {
    order,
    after: progress.sorted,
    since: plan.since,
    until: plan.until,
    demand,
    // Bounds of time drop rows of sets that time does not sort.
    withTexts: plan.withTexts && counts.length === 1 && plan.since === null && plan.until === null,
  };
  const sequences = await openSequences(read, counts, range, progress.sets, progress.sorted ?? last);
  // A set of several priorities is several sequences.
  demand.sequences = sequences.length;
  for (const { name, start } of sequences) if (name !== null) progress.sets.set(name, start);
  const [only] = sequences;
  const merged =
    sequences.length === 1 && only !== undefined
      ? only.rows[Symbol.asyncIterator]()
      : mergeSortedAsync(
          sequences.map(({ rows }) => rows),
          (a, b) => comparePositions(a.position, b.position, order),
        );
  return walkOver(merged, counts, progress, demand);
}

function walkOver(
  merged: AsyncIterator<SequenceRow, void>,
  counts: readonly CountedSet[],
  progress: Progress,
  demand: Demand,
): Walk {
  const seen = new Set<string>();
  /** Rows passed since the last `next` began. */
  let passed: { readonly row: SequenceRow; readonly isRepeated: boolean }[] = [];
  let ahead: SequenceRow | null = null;

  /** Reads ahead to the next row of a job that has not been seen: one that moves may stand in two sets. */
  async function peek(): Promise<SequenceRow | null> {
    while (ahead === null) {
      const { value, done } = await merged.next();
      if (done || value === undefined) return null;
      if (seen.has(value.taskId)) passed.push({ row: value, isRepeated: true });
      else ahead = value;
    }
    return ahead;
  }

  return {
    counts,
    async next(count) {
      for (const { row } of passed) advance(progress, row);
      passed = [];
      // One more, for `hasMore`.
      demand.rows = count + 1;
      const rows: SequenceRow[] = [];
      while (rows.length < count) {
        const row = await peek();
        if (row === null) break;
        ahead = null;
        seen.add(row.taskId);
        passed.push({ row, isRepeated: false });
        rows.push(row);
        demand.rows -= 1;
      }
      return rows;
    },
    hasMore: async () => (await peek()) !== null,
    positionBehind(row) {
      const behind = { sorted: progress.sorted, sets: new Map(progress.sets) };
      const at = passed.findIndex((entry) => entry.row === row);
      const next = passed.findIndex(({ isRepeated }, index) => index > at && !isRepeated);
      for (const entry of passed.slice(0, next < 0 ? passed.length : next)) advance(behind, entry.row);
      return positionOf(row, behind);
    },
  };
}

function startOf(after: TaskPosition | null): { progress: Progress; last: RowPosition | null } {
  if (after === null) return { progress: { sorted: null, sets: new Map() }, last: null };
  const last = { key: typeof after.key === 'number' ? after.key : null, id: after.id };
  const cursor = after.mark === undefined ? null : readWalkCursor(after.mark);
  if (cursor === null) return { progress: { sorted: last, sets: new Map() }, last };
  return { progress: { sorted: cursor.sorted, sets: new Map(cursor.sets) }, last };
}

function advance(progress: Progress, { position, next }: SequenceRow): void {
  if (next === null) progress.sorted = position;
  else progress.sets.set(next.set, next.position);
}

function positionOf({ position }: SequenceRow, { sorted, sets }: Progress): TaskPosition {
  const { key, id } = position;
  return sets.size === 0 ? { key, id } : { key, id, mark: writeWalkCursor({ sorted, sets }) };
}
