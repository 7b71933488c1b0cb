/**
 * The indexes of the task list: all tasks, and those of each state, name, worker, queue, cause and root, each by
 * time of the last change.
 */
import type { FindCause } from '../../causes/find-cause.ts';
import type { TaskCause } from '../../model.ts';
import { lifeOf } from '../merge/life.ts';
import { KIND_ORDER, type TaskRecord } from '../merge/record.ts';
import { etaOf } from '../merge/task.ts';
import { freeSlot, type Records } from '../table/records.ts';
import { causeOf } from './cause-of.ts';
import { type ColumnIndex, createColumnIndex } from './column-index.ts';
import { createEtaIndex, type EtaIndex } from './eta-index.ts';
import type { MemberOrder } from './member-lists.ts';
import { createOrderedSlots, type OrderedSlots } from './ordered-slots.ts';
import { createRelatives, type Relatives, removeRelative } from './relatives.ts';
import { createRootIndex, type RootIndex } from './root-index.ts';
import { NO_KEY } from './slot-blocks.ts';
import { createSortIndexes, type SortIndexes } from './sort-index.ts';
import { orderById } from './task-orders.ts';

/** Columns of interned strings that are indexed. */
export const INDEXED_COLUMNS = ['state', 'name', 'worker', 'queue', 'cause'] as const;

/** One of {@link INDEXED_COLUMNS}. */
export type IndexedColumn = (typeof INDEXED_COLUMNS)[number];

/** The indexes. */
export interface TaskIndex extends Relatives {
  readonly all: OrderedSlots;
  readonly roots: RootIndex;
  readonly sorts: SortIndexes;
  readonly etas: EtaIndex;
  readonly columns: Readonly<Record<IndexedColumn, ColumnIndex>>;
  /** Moves a task from the root that its record names to another. */
  setRoot(slot: number, root: string | null): void;
  /**
   * Enters a task, or moves it to where its record belongs now.
   *
   * @param cause of its failure, as it was found before. Default: what its texts tell
   */
  update(slot: number, record: TaskRecord, cause?: TaskCause | null): void;
  /** Takes a task out of all indexes and frees its slot. */
  drop(slot: number): void;
  /** The key of a slot in the order by time of the last change. */
  keyOf(slot: number): number;
}

/** Everything that {@link updateTask} and {@link dropTask} change. */
interface IndexState extends Relatives {
  readonly records: Records;
  readonly findCause: FindCause;
  readonly all: OrderedSlots;
  readonly roots: RootIndex;
  readonly sorts: SortIndexes;
  readonly etas: EtaIndex;
  readonly columns: Readonly<Record<IndexedColumn, ColumnIndex>>;
}

/** @param now milliseconds */
export function createTaskIndex(records: Records, now: () => number, findCause: FindCause): TaskIndex {
  const compare = orderById(records);
  const order: MemberOrder = { compare, keyOf: (slot) => keyOf(records, slot) };
  const state: IndexState = {
    records,
    findCause,
    all: createOrderedSlots(compare),
    roots: createRootIndex(order),
    sorts: createSortIndexes(records, now),
    etas: createEtaIndex(compare),
    columns: {
      state: createColumnIndex(records.states, order),
      name: createColumnIndex(records.names, order),
      worker: createColumnIndex(records.workers, order),
      queue: createColumnIndex(records.queues, order),
      cause: createColumnIndex(records.causes.strings, order),
    },
    ...createRelatives(),
  };
  return {
    ...state,
    keyOf: (slot) => keyOf(records, slot),
    setRoot: (slot, root) => setRoot(state, slot, root),
    update: (slot, record, cause) => updateTask(state, slot, record, cause),
    drop: (slot) => dropTask(state, slot),
  };
}

function keyOf(records: Records, slot: number): number {
  const time = records.timestamp[slot] as number;
  return Number.isNaN(time) ? NO_KEY : time;
}

function setRoot({ records, roots }: IndexState, slot: number, root: string | null): void {
  const id = records.ids[slot] as string;
  const old = records.roots[slot] ?? null;
  if (old !== null && old !== id) roots.remove(old, slot, keyOf(records, slot));
  if (root !== null && root !== id) roots.add(root, slot, keyOf(records, slot));
}

function updateTask(
  index: IndexState,
  slot: number,
  record: TaskRecord,
  given: TaskCause | null | undefined,
): void {
  const { records, all, columns, sorts } = index;
  const life = lifeOf(record.entries, record.runtime);
  const isIndexed = records.indexed[slot] === 1;
  const from = keyOf(records, slot);
  const to = life.timestamp ?? NO_KEY;
  sorts.remove(slot);
  if (isIndexed && from !== to) all.remove(from, slot);
  if (!isIndexed || from !== to) all.insert(to, slot);
  const change: Move = { slot, isIndexed, from, to };
  move(columns.state, records.state, life.state, change);
  move(columns.name, records.name, record.name, change);
  move(columns.worker, records.worker, life.worker, change);
  move(columns.queue, records.queue, record.queue, change);
  const cause = causeOf(records, slot, record, life, index.findCause, given);
  move(columns.cause, records.cause, cause?.id ?? null, change);
  if (cause !== null) noteCause(records, slot, cause, life.finished ?? life.timestamp);
  records.timestamp[slot] = life.timestamp ?? Number.NaN;
  const root = records.roots[slot];
  if (root != null && root !== records.ids[slot] && from !== to) index.roots.move(root, slot, from, to);
  records.indexed[slot] = 1;
  sorts.insert(slot, life);
  const hasStarted = life.kind !== 'retried' && KIND_ORDER[life.kind] > KIND_ORDER.received;
  index.etas.set(slot, hasStarted ? null : etaOf(life, record.eta));
}

function noteCause(
  { causes, cause: numbers }: Records,
  slot: number,
  cause: TaskCause,
  time: number | null,
): void {
  causes.describe(numbers[slot] as number, cause);
  if (time !== null) causes.seen.note(cause.id, time);
}

/** From which time to which a task moves. */
interface Move {
  readonly slot: number;
  /** Whether the task is in the indexes at all. */
  readonly isIndexed: boolean;
  readonly from: number;
  readonly to: number;
}

/** Moves a task from its old string and time to the present ones. @param strings those of the column, by slot */
function move(
  column: ColumnIndex,
  strings: Uint32Array,
  text: string | null,
  { slot, isIndexed, from, to }: Move,
): void {
  const string = text === null ? 0 : column.strings.intern(text);
  const old = strings[slot] as number;
  if (isIndexed && old === string && from === to) return;
  column.enter(string, to, slot);
  if (isIndexed) column.leave(old, from, slot);
  strings[slot] = string;
}

function dropTask(index: IndexState, slot: number): void {
  const { records } = index;
  const key = keyOf(records, slot);
  index.sorts.remove(slot);
  index.all.remove(key, slot);
  for (const column of INDEXED_COLUMNS) {
    index.columns[column].leave(records[column][slot] as number, key, slot);
  }
  const root = records.roots[slot];
  if (root != null && root !== records.ids[slot]) index.roots.remove(root, slot, key);
  removeRelative(index, records, slot);
  index.etas.remove(slot);
  freeSlot(records, slot);
}
