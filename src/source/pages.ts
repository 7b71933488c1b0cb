/** Checks that the answers of a source have the right type, as far as paging needs it. */
import type { TaskEventPage, TaskPage, TaskPosition, TaskSort } from '../source.ts';

/** Fields that are sorted as text; the others are numbers. */
const TEXT_SORTS: ReadonlySet<TaskSort> = new Set(['name', 'state']);

/** Whether a value is a valid page position. @param sort the field that the list is sorted by. Default: any */
export function isTaskPosition(value: unknown, sort?: TaskSort): value is TaskPosition {
  if (typeof value !== 'object' || value === null) return false;
  const { key, id, mark } = value as Partial<Record<keyof TaskPosition, unknown>>;
  const isKey = typeof key === 'string' || (typeof key === 'number' && Number.isFinite(key));
  const isOfSort = sort === undefined || typeof key === (TEXT_SORTS.has(sort) ? 'string' : 'number');
  return (
    (key === null || (isKey && isOfSort)) &&
    typeof id === 'string' &&
    (mark === undefined || typeof mark === 'string')
  );
}

/** Whether a value is a page of tasks. Its rows are not checked. */
export function isTaskPage(page: unknown): page is TaskPage {
  if (typeof page !== 'object' || page === null) return false;
  const { tasks: rows, next, total, cursorExact, endAt } = page as Partial<Record<keyof TaskPage, unknown>>;
  return (
    Array.isArray(rows) &&
    (next === null || isTaskPosition(next)) &&
    (total === null || (Number.isSafeInteger(total) && Number(total) >= 0)) &&
    (cursorExact === undefined || typeof cursorExact === 'boolean') &&
    (endAt === undefined || typeof endAt === 'function')
  );
}

/** Whether a value is a page of the feed. Its items are not checked. */
export function isTaskEventPage(page: unknown): page is TaskEventPage {
  if (typeof page !== 'object' || page === null) return false;
  const { events: list, cursor, gap } = page as Partial<Record<keyof TaskEventPage, unknown>>;
  return Array.isArray(list) && typeof cursor === 'string' && typeof gap === 'boolean';
}
