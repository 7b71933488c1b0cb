/** The order of a task list, and the positions that its cursors hold. */
import { comparePositions } from '../../select/task-order.ts';
import type { TaskPosition, TaskQuery, TaskSort } from '../../source.ts';
import type { Folded } from '../table/folded.ts';
import type { Records } from '../table/records.ts';

/** How a list is ordered. */
export interface ListOrder {
  /** The present position of a task. */
  positionOf(slot: number): TaskPosition;
  /** Negative where `a` comes first. */
  compare(a: TaskPosition, b: TaskPosition): number;
}

/** @param fold folds one slot */
export function listOrder(
  { sort, order }: TaskQuery,
  records: Records,
  fold: (slot: number) => Folded,
): ListOrder {
  return {
    positionOf: (slot) => ({ key: sortKey(sort, slot, records, fold), id: records.ids[slot] as string }),
    compare: (a, b) => comparePositions(a, b, order),
  };
}

function sortKey(
  sort: TaskSort,
  slot: number,
  records: Records,
  fold: (slot: number) => Folded,
): number | string | null {
  if (sort === 'state') return records.states.text(records.state[slot] as number);
  if (sort === 'name') {
    const name = records.name[slot] as number;
    return name === 0 ? null : records.names.text(name);
  }
  const value = sort === 'timestamp' ? (records.timestamp[slot] as number) : fold(slot)[sort];
  return Number.isNaN(value) ? null : value;
}
