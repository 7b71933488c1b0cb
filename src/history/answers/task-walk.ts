/** Walks over indexes in steps. An index may change whenever the work pauses, so each stretch seeks its start. */
import type { Steps } from '../../scheduler.ts';
import { comparePositions } from '../../select/task-order.ts';
import type { TaskPosition, TaskQuery, TaskSort } from '../../source.ts';
import { readLife } from '../table/record-table.ts';
import type { Records } from '../table/records.ts';

/** Most tasks visited between two pauses. */
const STRETCH = 128;
/** Longest search between two pauses, in milliseconds: texts may be long. */
const SEARCH_MS = 1;

/** An index and the order in which it is walked. */
export interface TaskWalk {
  readonly records: Records;
  readonly order: ListOrder;
  /** Whether texts of the visited tasks are searched. */
  readonly isSearch: boolean;
  /** @param after begin after this position; `null`: at the start */
  from(after: TaskPosition | null): Iterable<number>;
}

/** A task, and its position when it was visited. */
export interface Visited {
  readonly slot: number;
  readonly position: TaskPosition;
}

/**
 * Visits the tasks after a position. A task that changes meanwhile may be visited again, or not at all: it is then on
 * another page.
 *
 * @param visit returns false to end the walk before this task
 * @returns the position of the last visited task when `visit` has ended the walk, else `null`
 */
export function* walkTasks(
  walk: TaskWalk,
  after: TaskPosition | null,
  visit: (slot: number) => boolean,
): Steps<TaskPosition | null> {
  for (let start = after; ; ) {
    const isOver = createStretch(walk);
    let last = -1;
    let isPaused = false;
    for (const slot of walk.from(start)) {
      if (!visit(slot)) return last === -1 ? start : walk.order.positionOf(last);
      last = slot;
      isPaused = isOver();
      if (isPaused) break;
    }
    if (!isPaused) return null;
    start = walk.order.positionOf(last);
    yield;
  }
}

/** Visits slots that were copied earlier. Some may belong to other tasks by now. */
export function* visitSlots(
  { records, isSearch }: Pick<TaskWalk, 'records' | 'isSearch'>,
  parts: readonly ArrayLike<number>[],
  visit: (slot: number) => void,
): Steps<void> {
  let isOver = createStretch({ isSearch });
  for (const slots of parts) {
    for (let at = 0; at < slots.length; at++) {
      const slot = slots[at] as number;
      if (records.indexed[slot] === 1) visit(slot);
      if (!isOver()) continue;
      yield;
      isOver = createStretch({ isSearch });
    }
  }
}

/** @returns a function that is called after each visited task, and says whether it is time to pause */
export function createStretch({ isSearch }: Pick<TaskWalk, 'isSearch'>): () => boolean {
  let count = 0;
  const end = isSearch ? performance.now() + SEARCH_MS : 0;
  return () => {
    count += 1;
    return count >= STRETCH || (isSearch && performance.now() >= end);
  };
}

/** Whether the task is still in memory: its slot may belong to another task by now. */
export function isHeld({ indexed, ids }: Records, { slot, position }: Visited): boolean {
  return indexed[slot] === 1 && ids[slot] === position.id;
}

/** How a list is ordered. */
export interface ListOrder {
  /** The present position of a task. */
  positionOf(slot: number): TaskPosition;
  /** Negative where `a` comes first. */
  compare(a: TaskPosition, b: TaskPosition): number;
}

/** @returns the order of this query */
export function listOrder({ sort, order }: TaskQuery, records: Records): ListOrder {
  return {
    positionOf: (slot) => ({ key: sortKey(sort, slot, records), id: records.ids[slot] as string }),
    compare: (a, b) => comparePositions(a, b, order),
  };
}

function sortKey(sort: TaskSort, slot: number, records: Records): number | string | null {
  if (sort === 'state') return records.states.text(records.state[slot] as number);
  if (sort === 'name') {
    const name = records.name[slot] as number;
    return name === 0 ? null : records.names.text(name);
  }
  if (sort !== 'timestamp') return readLife(records, slot)[sort];
  const time = records.timestamp[slot] as number;
  return Number.isNaN(time) ? null : time;
}
