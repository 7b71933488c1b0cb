/**
 * The one per-minute aggregate of a history: for each task name and minute, counts of what happened and
 * histograms of run and wait times. Everything that is about rates over time reads it; nothing else counts by
 * minute.
 *
 * Events are counted once, when they first become known, with the name that the task has by then. They are not
 * corrected later, and they stay when their task is evicted.
 */
import { BUCKETS, bucketOf, quantileOf, totalOf } from '../../select/durations.ts';
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

/** Something that happens to a task and is counted. */
export type Outcome = keyof typeof OUTCOMES;

/** What a store keeps of the aggregate, and what it already contains. */
export type KeptCounts = ReturnType<typeof createKeptCounts>;

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
    ran: (name, from, to) => totalOf(sumOf(state, { name, from, to, first: HISTOGRAMS.run, count: BUCKETS })),
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

function createKeptCounts(maxBytes: number) {
  return {
    /** What was counted since it was last taken. */
    tasks:
      createTaskCells(maxBytes) /** Minutes since 1970, before this process, for which there are counts. */,
    counted: new Set(),
  };
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

/** Stands for tasks without a name, queue or worker. */
export const UNKNOWN = '\0';
/** Stands for names, queues and workers beyond the bound. */
const OTHERS = '\0\0';

/** What is counted separately. Each is a text, {@link UNKNOWN} or {@link OTHERS}. */
export interface CellKey {
  readonly name: string;
  readonly queue: string;
  readonly worker: string;
}

/** The counts of one key in one minute. */
export interface TaskCell extends CellKey {
  readonly minute: number;
  readonly columns: Uint32Array;
}

/** Maximum number of combinations of name, queue and worker that are counted separately. */
const MAX_KEYS = 5_000;
/** Fewest minutes of all keys that must fit into memory. */
const MIN_MINUTES = 3;

/** A key and the cell that it was last counted in. */
interface KnownKey {
  readonly text: string;
  minute: number;
  cell: number;
}

/** Counts by minute, name, queue and worker. */
export interface TaskCells {
  readonly cells: AggregateState;
  /** Keys in use, by name, queue and worker. */
  readonly keys: Map<string | null, Map<string | null, Map<string | null, KnownKey>>>;
  keyCount: number;
}

/** @param maxBytes maximum memory; beyond it, the oldest minutes are dropped */
function createTaskCells(maxBytes: number): TaskCells {
  const { maxCells } = createCells(maxBytes);
  const cells = createCells(maxBytes, Math.min(MAX_KEYS, Math.max(4, Math.floor(maxCells / MIN_MINUTES))));
  return { cells, keys: new Map(), keyCount: 0 };
}

/** The cell to count in; −1: none is available. `null`: unknown. */
function taskCellFor(
  state: TaskCells,
  name: string | null,
  { queue, worker }: { readonly queue: string | null; readonly worker: string | null },
  time: number,
  now: number,
): number {
  const { cells } = state;
  const key = knownKey(state, name, queue, worker);
  const minute = Math.floor(Math.min(time, now) / MINUTE_MS);
  // Most events are of the minute that was counted in before.
  const isSame = key.minute === minute && cells.minutes[key.cell] === minute;
  const cell =
    isSame && cells.texts[cells.names[key.cell] as number] === key.text
      ? key.cell
      : cellFor(cells, key.text, time, now);
  if (cell < 0) return cell;
  key.minute = minute;
  key.cell = cell;
  return cell;
}

function knownKey(
  state: TaskCells,
  name: string | null,
  queue: string | null,
  worker: string | null,
): KnownKey {
  const { keys } = state;
  const ofName = keys.get(name) ?? insert(keys, name, new Map());
  const ofQueue = ofName.get(queue) ?? insert(ofName, queue, new Map<string | null, KnownKey>());
  const known = ofQueue.get(worker);
  if (known !== undefined) return known;
  // Otherwise, unused keys would accumulate.
  if (++state.keyCount > 4 * MAX_KEYS) {
    keys.clear();
    state.keyCount = 0;
  }
  const text = JSON.stringify([name ?? UNKNOWN, queue ?? UNKNOWN, worker ?? UNKNOWN]);
  return insert(ofQueue, worker, { text, minute: 0, cell: 0 });
}

function insert<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): Value {
  map.set(key, value);
  return value;
}

/** All cells, one by one. */
export function* cellsOf({ cells }: TaskCells): Iterable<TaskCell> {
  for (let cell = 0; cell < cells.used; cell++) {
    const minute = cells.minutes[cell] as number;
    if (minute === 0) continue;
    yield {
      ...keyOf(cells.texts[cells.names[cell] as number] as string),
      minute,
      columns: cells.columns.subarray(cell * WIDTH, (cell + 1) * WIDTH),
    };
  }
}

function keyOf(text: string): CellKey {
  if (text === '') return { name: OTHERS, queue: OTHERS, worker: OTHERS };
  const [name, queue, worker] = JSON.parse(text) as [string, string, string];
  return { name, queue, worker };
}
