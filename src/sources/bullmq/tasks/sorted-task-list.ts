/**
 * Lists tasks in orders other than time. Redis has no such order, so the newest `scan` jobs are read and
 * sorted; if there are more, the next portion follows after them.
 */
import { readMark, writeMark } from '../../../cursor.ts';
import type { Task } from '../../../model.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import { passesFilters } from '../../../select/task-filter.ts';
import { comparePositions } from '../../../select/task-order.ts';
import type { PageEnd } from '../../../source/task-query.ts';
import type { TaskPage, TaskPosition, TaskQuery } from '../../../source.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { bareTask, loadTasks } from '../jobs/job-loader.ts';
import { reloadJobs } from '../jobs/job-reload.ts';
import { ROW_BOUNDS } from '../jobs/job-values.ts';
import { type PortionCache, type PortionRow, readPortion } from './sorted-portion.ts';

/** Answers `listTasks` for any order except by time. */
export async function listSorted(
  access: QueueAccess,
  portions: PortionCache,
  query: TaskQuery,
  options: ReadOptions,
): Promise<TaskPage> {
  const { limit, order } = query;
  const { start, after } = portionOf(query.after);
  // The first page shows what is there now; further ones continue in the same order.
  const kept = query.after === null ? null : portions.get(query, start);
  const portion = kept ?? (await readPortion(access, query, start, options));
  if (kept === null) portions.set(query, start, portion);
  const { rows, end } = portion;
  const tasks: Task[] = [];
  const mark = portionMark(start);
  const begin = after === null ? 0 : firstBehind(rows, after, order);
  let at = begin;
  while (tasks.length < limit && at < rows.length) {
    const part = rows.slice(at, at + limit - tasks.length);
    at += part.length;
    tasks.push(...(await loadRows(access, part, query, kept !== null, options)));
  }
  // A page that is kept must not keep the whole portion.
  const passed = rows.slice(begin, at).map(({ key, id }) => ({ key, id, mark }));
  const endAt = (count: number): PageEnd | null => {
    const next = passed.find(({ id }) => id === tasks[count - 1]?.id);
    return next === undefined ? null : { next };
  };
  const total = start === null && end === null ? rows.length : null;
  const last = rows[at - 1];
  if (limit > 0 && last !== undefined && at < rows.length) {
    return { tasks, next: { key: last.key, id: last.id, mark }, total, endAt };
  }
  const next = end !== null && limit > 0 ? { key: null, id: '', mark: portionMark(end) } : null;
  return { tasks, next, total, endAt };
}

/** Index of the first row behind a position. */
function firstBehind(rows: readonly PortionRow[], after: TaskPosition, order: 'asc' | 'desc'): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const row = rows[middle];
    if (row !== undefined && comparePositions(row, after, order) > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** @param isOld whether the jobs may have changed since their portion was read */
async function loadRows(
  access: QueueAccess,
  rows: readonly PortionRow[],
  query: TaskQuery,
  isOld: boolean,
  options: ReadOptions,
): Promise<readonly Task[]> {
  const known = rows.map(({ job }) => job);
  const jobs = isOld ? await reloadJobs(access, known, options) : known;
  const now = Date.now();
  const matching = isOld ? jobs.filter((job) => passesFilters(bareTask(access, job, now), query)) : jobs;
  const loaded = await loadTasks(access, matching, ROW_BOUNDS, options);
  return loaded.map(({ task }) => task);
}

const KIND = 'portion';

/** @param start where the portion begins */
function portionMark(start: TaskPosition | null): string {
  return writeMark(KIND, start === null ? [] : [start.key, start.id, start.mark ?? null]);
}

/** Where the portion begins that a page continues, and the position of that page in it. */
function portionOf(after: TaskPosition | null): {
  readonly start: TaskPosition | null;
  readonly after: TaskPosition | null;
} {
  const parts = after?.mark === undefined ? null : readMark(KIND, after.mark);
  if (after === null || parts === null) return { start: null, after };
  const [key, id, mark] = parts;
  const position = after.id === '' ? null : { key: after.key, id: after.id };
  if (typeof id !== 'string') return { start: null, after: position };
  const start = { key: typeof key === 'number' ? key : null, id };
  return { start: typeof mark === 'string' ? { ...start, mark } : start, after: position };
}
