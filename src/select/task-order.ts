import type { Task } from '../model.ts';
import type { TaskPosition, TaskSort } from '../source.ts';

/** The value that a task is sorted by: milliseconds, seconds or text; `null` when it has none. */
export function sortKeyOf(task: Task, sort: TaskSort): number | string | null {
  const value = task[sort];
  if (value == null) return null;
  const key = value instanceof Date ? value.getTime() : value;
  return Number.isNaN(key) ? null : key;
}

/** Compares two positions: by key in the given order, `null` last in both orders, equal keys by id ascending. */
export function comparePositions(a: TaskPosition, b: TaskPosition, order: 'asc' | 'desc'): number {
  if (a.key !== b.key) {
    if (a.key === null) return 1;
    if (b.key === null) return -1;
    return (a.key < b.key ? -1 : 1) * (order === 'asc' ? 1 : -1);
  }
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
