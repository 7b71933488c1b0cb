/**
 * The indexes of the task list: all tasks, and those of each state, name, worker, queue and root, each
 * by time of the last change. Taking in a message only notes that its task has changed; the indexes
 * catch up before the next read, or when many tasks wait, so that a burst sorts each task in once.
 */

import type { Pending, Relatives } from '../merge/facts.ts';
import type { Folded } from '../merge/folded.ts';
import type { Labels } from '../table/labels.ts';
import type { Records } from '../table/records.ts';
import { createSlotGroups } from '../table/slot-groups.ts';
import { KIND } from '../table/timeline.ts';
import { createOrderedSlots, NO_KEY, type OrderedSlots } from './ordered-slots.ts';
import { createRootIndex, type RootIndex } from './root-index.ts';
import { createSortIndexes, type SortIndexes } from './sort-index.ts';
import { compareText } from './task-orders.ts';

/** How many changed tasks may wait for their indexes. */
const MAX_WAITING = 4096;

/** Columns that are indexed by their label. */
export const LABELLED = ['state', 'name', 'worker', 'queue'] as const;

/** One of {@link LABELLED}. */
export type Labelled = (typeof LABELLED)[number];

/** The indexes. Call {@link TaskIndex.catchUp} before reading. */
export interface TaskIndex extends Relatives {
  readonly all: OrderedSlots;
  readonly roots: RootIndex;
  readonly sorts: SortIndexes;
  /** Tasks that have not started, by eta. */
  readonly etas: OrderedSlots;
  labelsOf(column: Labelled): Labels;
  /** Tasks with this label; `null` when there is none. */
  labelled(column: Labelled, label: number): OrderedSlots | null;
  /** Notes that a task has changed. @returns its labels, to be changed there */
  touch(slot: number): Pending;
  isFull(): boolean;
  catchUp(): void;
  /** Takes a task out of everything and frees it. The indexes must have caught up. */
  drop(slot: number): void;
  /** Key of a slot in the order by time of the last change. */
  keyOf(slot: number): number;
}

/**
 * @param fold folds one slot
 * @param changed called for each task that has changed, when its indexes have caught up
 */
export function createTaskIndex(
  records: Records,
  fold: (slot: number) => Folded,
  now: () => number,
  changed: (slot: number) => void,
): TaskIndex {
  const compare = (a: number, b: number) => compareText(records.ids[a] as string, records.ids[b] as string);
  const all = createOrderedSlots(compare);
  const etas = createOrderedSlots(compare);
  const etaOf = new Map<number, number>();
  const roots = createRootIndex(compare);
  const sorts = createSortIndexes(records, fold, now);
  const byParent = createSlotGroups();
  const byGroup = createSlotGroups();
  const byChord = createSlotGroups();
  const tables: Record<Labelled, Labels> = {
    state: records.states,
    name: records.names,
    worker: records.workers,
    queue: records.queues,
  };
  const lists: Record<Labelled, (OrderedSlots | undefined)[]> = {
    state: [],
    name: [],
    worker: [],
    queue: [],
  };
  for (const column of LABELLED) {
    tables[column].onForgotten((label) => {
      lists[column][label] = undefined;
    });
  }
  const waitingSlots = new Uint32Array(MAX_WAITING);
  const pendings: Pending[] = Array.from({ length: MAX_WAITING }, () => ({ name: 0, queue: 0 }));
  let waiting = 0;

  const keyOf = (slot: number): number => {
    const time = records.timestamp[slot] as number;
    return Number.isNaN(time) ? NO_KEY : time;
  };

  function listed(column: Labelled, label: number): OrderedSlots {
    let list = lists[column][label];
    if (list === undefined) {
      list = createOrderedSlots(compare);
      lists[column][label] = list;
    }
    return list;
  }

  function enter(column: Labelled, label: number, key: number, slot: number): void {
    if (label === 0) return;
    tables[column].retain(label);
    listed(column, label).insert(key, slot);
  }

  function leave(column: Labelled, label: number, key: number, slot: number): void {
    if (label === 0) return;
    lists[column][label]?.remove(key, slot);
    tables[column].release(label);
  }

  function update(slot: number, pending: Pending): void {
    sorts.remove(slot);
    const folded = fold(slot);
    const isIndexed = records.indexed[slot] === 1;
    const from = keyOf(slot);
    const to = Number.isNaN(folded.timestamp) ? NO_KEY : folded.timestamp;
    const state = folded.kind === KIND.CUSTOM ? folded.state : (records.stateOfKind[folded.kind] as number);
    if (isIndexed && from !== to) all.remove(from, slot);
    if (!isIndexed || from !== to) all.insert(to, slot);
    move('state', records.state, state, isIndexed, from, to, slot);
    move('name', records.name, pending.name, isIndexed, from, to, slot);
    move('worker', records.worker, folded.worker, isIndexed, from, to, slot);
    move('queue', records.queue, pending.queue, isIndexed, from, to, slot);
    records.timestamp[slot] = folded.timestamp;
    const root = records.roots[slot];
    if (root != null && root !== records.ids[slot] && from !== to) roots.move(root, slot, from, to);
    records.indexed[slot] = 1;
    sorts.insert(slot, folded);
    watchEta(slot, folded);
    changed(slot);
  }

  function move(
    column: Labelled,
    labels: Uint32Array,
    label: number,
    isIndexed: boolean,
    from: number,
    to: number,
    slot: number,
  ): void {
    const old = labels[slot] as number;
    if (isIndexed && old === label && from === to) return;
    enter(column, label, to, slot);
    if (isIndexed) leave(column, old, from, slot);
    labels[slot] = label;
  }

  /** Only tasks that wait for their eta can become overdue. */
  function watchEta(slot: number, folded: Folded): void {
    if (etaOf.size > 0) {
      const old = etaOf.get(slot);
      if (old !== undefined) {
        etas.remove(old, slot);
        etaOf.delete(slot);
      }
    }
    const eta = records.extras.size > 0 ? records.extras.get(slot)?.eta : null;
    if (eta == null || folded.kind > KIND.RECEIVED) return;
    etas.insert(eta, slot);
    etaOf.set(slot, eta);
  }

  return {
    all,
    roots,
    sorts,
    etas,
    byParent,
    byGroup,
    byChord,
    keyOf,
    labelsOf: (column) => tables[column],
    labelled: (column, label) => lists[column][label] ?? null,
    setRoot(slot, root) {
      const id = records.ids[slot] as string;
      const old = records.roots[slot] ?? null;
      if (old !== null && old !== id) roots.remove(old, slot, keyOf(slot));
      if (root !== null && root !== id) roots.add(root, slot, keyOf(slot));
    },
    touch(slot) {
      let place = records.waiting[slot] as number;
      if (place === 0) {
        waitingSlots[waiting] = slot;
        place = ++waiting;
        records.waiting[slot] = place;
        const fresh = pendings[place - 1] as Pending;
        fresh.name = records.name[slot] as number;
        fresh.queue = records.queue[slot] as number;
      }
      return pendings[place - 1] as Pending;
    },
    isFull: () => waiting === MAX_WAITING,
    catchUp() {
      for (let at = 0; at < waiting; at++) {
        const slot = waitingSlots[at] as number;
        const pending = pendings[at] as Pending;
        const { name, queue } = pending;
        const heldName = name !== records.name[slot];
        const heldQueue = queue !== records.queue[slot];
        update(slot, pending);
        // What held the text while it waited is no longer needed.
        if (heldName) records.names.release(name);
        if (heldQueue) records.queues.release(queue);
        records.waiting[slot] = 0;
      }
      waiting = 0;
    },
    drop(slot) {
      sorts.remove(slot);
      const key = keyOf(slot);
      all.remove(key, slot);
      for (const column of LABELLED) leave(column, records[column][slot] as number, key, slot);
      const id = records.ids[slot] as string;
      const root = records.roots[slot];
      if (root != null && root !== id) roots.remove(root, slot, key);
      const parent = records.parents[slot];
      if (parent != null) byParent.remove(parent, slot);
      const more = records.extras.get(slot);
      if (more?.groupId != null) byGroup.remove(more.groupId, slot);
      if (more?.chordId != null) byChord.remove(more.chordId, slot);
      const eta = etaOf.get(slot);
      if (eta !== undefined) {
        etas.remove(eta, slot);
        etaOf.delete(slot);
      }
      records.free(slot);
    },
  };
}
