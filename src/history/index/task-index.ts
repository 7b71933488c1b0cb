/**
 * The indexes of the task list: all tasks, and those of each state, name, worker, queue and root, each by
 * time of the last change. Recording a message only notes that its task has changed. The indexes are updated
 * before the next read, or when many tasks have changed, so a burst moves each task once.
 */

import { KIND_ORDER } from '../merge/record.ts';
import type { Folded } from '../table/folded.ts';
import { freeSlot, type Records } from '../table/records.ts';
import { type ChangedSlots, createChangedSlots, type Pending } from './changed-slots.ts';
import { type ColumnIndex, createColumnIndex } from './column-index.ts';
import { createEtaIndex, type EtaIndex } from './eta-index.ts';
import { createOrderedSlots, type OrderedSlots } from './ordered-slots.ts';
import { createRelatives, type Relatives, removeRelative } from './relatives.ts';
import { createRootIndex, type RootIndex } from './root-index.ts';
import { NO_KEY } from './slot-blocks.ts';
import { createSortIndexes, type SortIndexes } from './sort-index.ts';
import { orderById } from './task-orders.ts';

/** Columns of interned strings that are indexed. */
export const INDEXED_COLUMNS = ['state', 'name', 'worker', 'queue'] as const;

/** One of {@link INDEXED_COLUMNS}. */
export type IndexedColumn = (typeof INDEXED_COLUMNS)[number];

/** The indexes. Call {@link TaskIndex.catchUp} before reading. */
export interface TaskIndex extends Relatives {
  readonly all: OrderedSlots;
  readonly roots: RootIndex;
  readonly sorts: SortIndexes;
  readonly etas: EtaIndex;
  readonly columns: Readonly<Record<IndexedColumn, ColumnIndex>>;
  /** Moves a task from the root that its record names to another. */
  setRoot(slot: number, root: string | null): void;
  /** Notes that a task has changed. @returns its present name and queue, to be changed there */
  touch(slot: number): Pending;
  /** Whether no more changes can be noted before {@link TaskIndex.catchUp}. */
  isFull(): boolean;
  /** Updates the indexes of all tasks that have changed. */
  catchUp(): void;
  /** Takes a task out of all indexes and frees its slot. The indexes must have caught up. */
  drop(slot: number): void;
  /** The key of a slot in the order by time of the last change. */
  keyOf(slot: number): number;
}

/** Everything that {@link updateTask} and {@link dropTask} change. */
interface IndexState extends Relatives {
  readonly records: Records;
  readonly fold: (slot: number) => Folded;
  readonly changed: (slot: number) => void;
  readonly all: OrderedSlots;
  readonly roots: RootIndex;
  readonly sorts: SortIndexes;
  readonly etas: EtaIndex;
  readonly columns: Readonly<Record<IndexedColumn, ColumnIndex>>;
  readonly pending: ChangedSlots;
}

/**
 * @param fold folds one slot
 * @param now milliseconds
 * @param changed called for each changed task after its indexes have been updated
 */
export function createTaskIndex(
  records: Records,
  fold: (slot: number) => Folded,
  now: () => number,
  changed: (slot: number) => void,
): TaskIndex {
  const compare = orderById(records);
  const state: IndexState = {
    records,
    fold,
    changed,
    all: createOrderedSlots(compare),
    roots: createRootIndex(compare),
    sorts: createSortIndexes(records, fold, now),
    etas: createEtaIndex(compare),
    columns: {
      state: createColumnIndex(records.states, compare),
      name: createColumnIndex(records.names, compare),
      worker: createColumnIndex(records.workers, compare),
      queue: createColumnIndex(records.queues, compare),
    },
    pending: createChangedSlots(records),
    ...createRelatives(),
  };
  const { all, roots, sorts, etas, columns, pending, byParent, byGroup, byChord } = state;
  const update = (slot: number, next: Pending) => updateChanged(state, slot, next);
  return {
    all,
    roots,
    sorts,
    etas,
    columns,
    byParent,
    byGroup,
    byChord,
    keyOf: (slot) => keyOf(records, slot),
    setRoot: (slot, root) => setRoot(state, slot, root),
    touch: pending.touch,
    isFull: pending.isFull,
    catchUp: () => pending.drain(update),
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

function updateChanged(state: IndexState, slot: number, { name, queue }: Pending): void {
  const { records } = state;
  const isNewName = name !== records.name[slot];
  const isNewQueue = queue !== records.queue[slot];
  updateTask(state, slot, name, queue);
  // The pending strings were held until now; the indexes hold them from here on.
  if (isNewName) records.names.release(name);
  if (isNewQueue) records.queues.release(queue);
}

function updateTask(index: IndexState, slot: number, name: number, queue: number): void {
  const { records, all, sorts } = index;
  sorts.remove(slot);
  const folded = index.fold(slot);
  const isIndexed = records.indexed[slot] === 1;
  const from = keyOf(records, slot);
  const to = Number.isNaN(folded.timestamp) ? NO_KEY : folded.timestamp;
  if (isIndexed && from !== to) all.remove(from, slot);
  if (!isIndexed || from !== to) all.insert(to, slot);
  move(index, 'state', slot, folded.state, from, to);
  move(index, 'name', slot, name, from, to);
  move(index, 'worker', slot, folded.worker, from, to);
  move(index, 'queue', slot, queue, from, to);
  records.timestamp[slot] = folded.timestamp;
  const root = records.roots[slot];
  if (root != null && root !== records.ids[slot] && from !== to) index.roots.move(root, slot, from, to);
  records.indexed[slot] = 1;
  sorts.insert(slot, folded);
  const eta = records.extras.size > 0 ? records.extras.get(slot)?.eta : null;
  index.etas.set(slot, eta != null && folded.kind <= KIND_ORDER.received ? eta : null);
  index.changed(slot);
}

/** Moves a task from its old string and time to the present ones. */
function move(
  { records, columns }: IndexState,
  column: IndexedColumn,
  slot: number,
  string: number,
  from: number,
  to: number,
): void {
  const values = records[column];
  const old = values[slot] as number;
  const isIndexed = records.indexed[slot] === 1;
  if (isIndexed && old === string && from === to) return;
  columns[column].enter(string, to, slot);
  if (isIndexed) columns[column].leave(old, from, slot);
  values[slot] = string;
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
