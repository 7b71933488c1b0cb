/** The order of a task list, and the positions in its cursors. */
import { comparePositions } from '../../select/task-order.ts';
import type { TaskPosition, TaskQuery, TaskSort } from '../../source.ts';
import { readLife } from '../table/record-table.ts';
import type { Records } from '../table/records.ts';

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
