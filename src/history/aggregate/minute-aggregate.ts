/**
 * The one per-minute aggregate of a history: for each task name and minute, counts of what happened and
 * histograms of run and wait times. Everything that is about rates over time reads it; nothing else counts by
 * minute.
 *
 * Events are counted once, when they first become known, with the name that the task has by then. They are not
 * corrected later, and they stay when their task is evicted.
 */

import { BUCKETS, bucketOf, quantileOf } from '../../select/histogram.ts';
import type { DurationKind, MinuteCounts, TaskCounts } from '../../source.ts';
import {
  type AggregateState,
  bytesOf,
  cellFor,
  clearCells,
  createCells,
  findCell,
  findName,
  freeMinutes,
  HISTOGRAMS,
  MINUTE_MS,
  namesOf,
  OTHERS_TEXT,
  OUTCOME_COUNT,
  OUTCOMES,
  WIDTH,
} from './cells.ts';
import { createQueueHistory, type QueueHistory } from './queue-history.ts';
import { createTaskCells, OTHERS, type TaskCells, taskCellFor, UNKNOWN } from './task-cells.ts';

/** Something that happens to a task and is counted. */
export type Outcome = keyof typeof OUTCOMES;

/** What a store keeps of the aggregate, and what it already contains. */
export interface KeptCounts {
  /** What was counted since it was last taken. */
  tasks: TaskCells;
  /** Minutes since 1970, before this process, for which there are counts. */
  readonly counted: Set<number>;
}

/** Which queue and worker an event belongs to; `null`: not known. */
export interface EventOrigin {
  readonly queue: string | null;
  readonly worker: string | null;
}

/** Counts events by name and minute. */
export interface MinuteAggregate extends MinuteCounts {
  /** `null`: no store keeps the counts, and they are counted by name alone. */
  readonly kept: KeptCounts | null;
  readonly queues: QueueHistory;
  /** Estimate of the memory, in bytes. */
  bytes(): number;
  /**
   * Counts an event.
   *
   * @param name of the task; `null`: not known
   * @param time when it happened, milliseconds since 1970; a time ahead of `now` counts as now
   * @param ms how long the task waited for its start, or ran until its end; NaN: unknown, or not applicable
   * @param now milliseconds since 1970
   */
  count(
    outcome: Outcome,
    name: string | null,
    time: number,
    ms: number,
    now: number,
    origin?: EventOrigin,
  ): void;
  /**
   * Adds the stored counts of a name. A larger count in memory stays.
   *
   * @param name as {@link CellKey} has it
   * @param minute since 1970
   */
  absorb(name: string, minute: number, columns: ArrayLike<number>, now: number): void;
  /** Drops the counts of some minutes since 1970. */
  drop(isDropped: (minute: number) => boolean): void;
  clear(): void;
}

/**
 * @param maxBytes maximum memory; beyond it, the oldest minutes are dropped
 * @param isKept whether a store keeps the counts: then the same amount of memory again is used to count by queue and
 * worker
 */
export function createMinuteAggregate(maxBytes: number, isKept = false): MinuteAggregate {
  const state = createCells(maxBytes);
  const kept = isKept ? createKeptCounts(maxBytes) : null;
  const queues = createQueueHistory();
  // No getters: V8 would look up every member of the object in a table.
  const aggregate: MinuteAggregate & { since: number } = {
    others: OTHERS_TEXT,
    since: 0,
    kept,
    queues,
    bytes: () => bytesOf(state) + (kept === null ? 0 : bytesOf(kept.tasks.cells)),
    count(outcome, name, time, ms, now, origin = NOWHERE) {
      const cell = cellFor(state, name, time, now);
      aggregate.since = state.oldest * MINUTE_MS;
      if (cell >= 0) addEvent(state, cell, outcome, ms);
      if (outcome === 'sent' || outcome === 'received' || outcome === 'started') {
        queues.addMove(outcome, origin.queue, time, now);
      }
      if (kept === null) return;
      const own = taskCellFor(kept.tasks, name, origin, time, now);
      if (own >= 0) addEvent(kept.tasks.cells, own, outcome, ms);
    },
    absorb(name, minute, columns, now) {
      const text = name === OTHERS ? OTHERS_TEXT : name === UNKNOWN ? null : name;
      const cell = cellFor(state, text, minute * MINUTE_MS, now);
      if (cell < 0) return;
      for (let column = 0; column < WIDTH; column++) {
        const at = cell * WIDTH + column;
        state.columns[at] = Math.max(state.columns[at] as number, columns[column] as number);
      }
    },
    drop: (isDropped) => freeMinutes(state, isDropped),
    names: () => namesOf(state),
    counts: (name, from, to) => countsIn(state, name, from, to),
    quantile: (kind, name, from, to, share) => quantileIn(state, { kind, name, from, to, share }),
    clear() {
      clearCells(state);
      queues.clear();
      if (kept !== null) Object.assign(kept, createKeptCounts(maxBytes));
      aggregate.since = 0;
    },
  };
  return aggregate;
}

const NOWHERE: EventOrigin = { queue: null, worker: null };

function createKeptCounts(maxBytes: number): KeptCounts {
  return { tasks: createTaskCells(maxBytes), counted: new Set() };
}

/** Takes what was counted; counting goes on from nothing. */
export function takeTaskCells(kept: KeptCounts): TaskCells {
  const taken = kept.tasks;
  kept.tasks = createTaskCells(taken.cells.maxBytes);
  return taken;
}

function addEvent(state: AggregateState, cell: number, outcome: Outcome, ms: number): void {
  add(state, cell, OUTCOMES[outcome]);
  if (ms >= 0) add(state, cell, HISTOGRAMS[outcome === 'started' ? 'wait' : 'run'] + bucketOf(ms));
}

function add({ columns }: AggregateState, cell: number, column: number): void {
  const at = cell * WIDTH + column;
  columns[at] = (columns[at] as number) + 1;
}

/** Which durations of a name. */
interface QuantileQuery {
  readonly kind: DurationKind;
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly share: number;
}

function countsIn(state: AggregateState, name: string, from: number, to: number): TaskCounts {
  const sums = sumOf(state, { name, from, to, first: 0, count: OUTCOME_COUNT });
  const at = (outcome: keyof typeof OUTCOMES): number => sums[OUTCOMES[outcome]] as number;
  return {
    sent: at('sent'),
    received: at('received'),
    started: at('started'),
    succeeded: at('succeeded'),
    failed: at('failed'),
    retried: at('retried'),
    revoked: at('revoked'),
    rejected: at('rejected'),
  };
}

function quantileIn(state: AggregateState, query: QuantileQuery): number | null {
  const { kind, name, from, to, share } = query;
  return quantileOf(sumOf(state, { name, from, to, first: HISTOGRAMS[kind], count: BUCKETS }), share);
}

interface Columns {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly first: number;
  readonly count: number;
}

/** Adds up columns over the minutes that begin in the span. */
function sumOf(state: AggregateState, { name, from, to, first, count }: Columns): Float64Array {
  const sums = new Float64Array(count);
  const number = findName(state, name);
  if (number < 0) return sums;
  const start = Math.max(state.oldest, Math.ceil(from / MINUTE_MS));
  const end = Math.min(state.newest + 1, Math.ceil(to / MINUTE_MS));
  for (let minute = start; minute < end; minute++) {
    const cell = findCell(state, number, minute);
    if (cell < 0) continue;
    const at = cell * WIDTH + first;
    for (let column = 0; column < count; column++) {
      sums[column] = (sums[column] as number) + (state.columns[at + column] as number);
    }
  }
  return sums;
}
