/** One list of the jobs of many sets, read page by page: the sequences of the sets, merged by time. */

import { nextTick } from 'node:process';
import { mergeSortedAsync } from '../../../merge-sorted.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import { comparePositions } from '../../../select/task-order.ts';
import type { TaskPosition } from '../../../source.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { QueueCommand, QueueRef, ReadCommands } from '../access/queue-reads.ts';
import type { JobSet } from '../jobs/job-sets.ts';
import {
  type Demand,
  type JobSequence,
  positionOf,
  progressAt,
  progressBehind,
  rowPositionOf,
  type SequenceRow,
  type WalkProgress,
} from './job-sequence.ts';
import { allSets, type CountedSet, countSets, openSequences } from './open-sequences.ts';

/** What to list. */
export interface WalkPlan {
  readonly queues: readonly QueueRef[];
  readonly sets: readonly JobSet[];
  /** In BullMQ's words; empty: all. */
  readonly engineStates: readonly string[];
  readonly order: 'asc' | 'desc';
  /** A position that a walk gave, or the time and id of a row alone. */
  readonly after: TaskPosition | null;
  /** Inclusive, in milliseconds; `null`: no bound. Rows outside the bounds may still be included. */
  readonly since: number | null;
  /** Exclusive. */
  readonly until: number | null;
  /** Whether most rows will be shown, so that the texts of small jobs may be read with them. */
  readonly withTexts: boolean;
}

/** A list of jobs, read on demand. */
export interface Walk {
  /** How many jobs the sets of the plan had at the beginning. */
  count(): Promise<number>;
  /** The next rows, each job once; fewer than `count` only at the end. */
  next(count: number): Promise<readonly SequenceRow[]>;
  /** Whether there is another row. */
  hasMore(): Promise<boolean>;
  /** Where to continue behind a row of the last {@link Walk.next}. */
  positionBehind(row: SequenceRow): TaskPosition;
}

interface WalkState {
  readonly merged: AsyncIterator<SequenceRow, void>;
  readonly demand: Demand;
  /** Ids of the tasks that the walk has given. */
  readonly given: Set<string>;
  /** How far the walk had come when the last `next` began. */
  progress: WalkProgress;
  /** Rows since then: each with the ones behind it whose jobs had been given before. */
  passed: SequenceRow[][];
  /** The row behind them, if it has been read. */
  ahead: SequenceRow | null;
}

export async function createWalk(access: QueueAccess, plan: WalkPlan, options: ReadOptions): Promise<Walk> {
  const { order, since, until, after } = plan;
  const read = batchReads(access, options);
  const counting = countSets(read, plan.queues, plan.sets, plan.engineStates);
  // Sets that time sorts are read however many jobs they have, and the count comes with the first read of them.
  const isByTime = plan.sets.every((set) => set.isByTime);
  const present = isByTime
    ? allSets(plan.queues, plan.sets)
    : (await counting).filter(({ count }) => count > 0);
  // Who does not ask for the count does not miss it.
  counting.catch(() => {});
  const { sorted, sets } = progressAt(after);
  const demand: Demand = { rows: 0, sequences: present.length };
  // Bounds of time drop rows of sets that time does not sort, and in a merged list not all rows come to be shown.
  const withTexts = plan.withTexts && present.length === 1 && since === null && until === null;
  const range = { order, after: sorted, since, until, demand, withTexts };
  const skipTo = sorted ?? (after === null ? null : rowPositionOf(after));
  const sequences = await openSequences(read, present, range, sets, skipTo);
  // A set of several priorities is several sequences.
  demand.sequences = sequences.length;
  return walkOver(counting, {
    merged: merge(sequences, order),
    demand,
    given: new Set(),
    progress: { sorted, sets: new Map([...sets, ...startsOf(sequences)]) },
    passed: [],
    ahead: null,
  });
}

function startsOf(sequences: readonly JobSequence[]): WalkProgress['sets'] {
  return new Map(sequences.flatMap(({ own }) => (own === null ? [] : [[own.name, own.start] as const])));
}

function merge(sequences: readonly JobSequence[], order: 'asc' | 'desc'): AsyncIterator<SequenceRow, void> {
  const all = sequences.map(({ rows }) => rows);
  const [only] = all;
  // Most walks have one sequence, and merging costs time for each row.
  if (only !== undefined && all.length === 1) return only[Symbol.asyncIterator]();
  return mergeSortedAsync(all, (a, b) => comparePositions(a.position, b.position, order));
}

function walkOver(counting: Promise<readonly CountedSet[]>, state: WalkState): Walk {
  return {
    count: async () => (await counting).reduce((sum, { count }) => sum + count, 0),
    next: (count) => takeRows(state, count),
    hasMore: async () => (await peek(state)) !== null,
    positionBehind(row) {
      const at = state.passed.findIndex(([given]) => given === row);
      return positionOf(row, progressBehind(state.progress, state.passed.slice(0, at + 1).flat()));
    },
  };
}

async function takeRows(state: WalkState, count: number): Promise<readonly SequenceRow[]> {
  state.progress = progressBehind(state.progress, state.passed.flat());
  state.passed = [];
  // One more, for `hasMore`.
  state.demand.rows = count + 1;
  const rows: SequenceRow[] = [];
  while (rows.length < count) {
    const row = await peek(state);
    if (row === null) break;
    state.ahead = null;
    state.given.add(row.taskId);
    state.passed.push([row]);
    rows.push(row);
    state.demand.rows -= 1;
  }
  return rows;
}

/** Reads ahead to the next row whose job has not been given yet: one that moves may stand in two sets. */
async function peek(state: WalkState): Promise<SequenceRow | null> {
  while (state.ahead === null) {
    const { value, done } = await state.merged.next();
    if (done || value === undefined) return null;
    if (!state.given.has(value.taskId)) state.ahead = value;
    else if (state.passed.length === 0) state.passed.push([value]);
    else state.passed.at(-1)?.push(value);
  }
  return state.ahead;
}

/** Commands that one sequence waits for. */
interface WaitingRead {
  readonly commands: readonly QueueCommand[];
  resolve(replies: readonly unknown[]): void;
  reject(error: unknown): void;
}

/**
 * Sends the commands of several sequences to Redis together. Each sequence sends its own commands; all commands before
 * Node's next tick become one read.
 */
function batchReads(access: QueueAccess, options: ReadOptions): ReadCommands {
  let waiting: WaitingRead[] = [];

  async function send(): Promise<void> {
    const batch = waiting;
    waiting = [];
    try {
      const replies = await access.read(
        batch.flatMap(({ commands }) => commands),
        options,
      );
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
