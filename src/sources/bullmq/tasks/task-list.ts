import { readMark, writeMark } from '../../../cursor.ts';
import type { Task } from '../../../model.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import { selectTasks } from '../../../select/select-tasks.ts';
import { passesConditions } from '../../../select/task-conditions.ts';
import { passesFilters } from '../../../select/task-filter.ts';
import { comparePositions } from '../../../select/task-order.ts';
import type { PageEnd } from '../../../source/task-query.ts';
import type { TaskPage, TaskPosition, TaskQuery } from '../../../source.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { findJobs } from '../jobs/find-jobs.ts';
import { bareTask, loadKnown, loadTasks, reloadJobs } from '../jobs/job-loader.ts';
import { setsOf } from '../jobs/job-sets.ts';
import { ROW_BOUNDS } from '../jobs/job-values.ts';
import type { SequenceRow } from '../walk/job-sequence.ts';
import { type PortionCache, type PortionRow, readPortion } from './sorted-portion.ts';
import { loadMatching, showsMostJobs, walkOfQuery } from './task-rows.ts';
import { MOST_JOBS, readFlow } from './task-tree.ts';

const NOTHING: TaskPage = { tasks: [], next: null, total: 0 };
/** Bounds of the rows that are read at a time when filters may drop some of them. */
const LEAST_BATCH = 10;
const LARGEST_BATCH = 500;

/**
 * Answers `listTasks`. By time, without a filter or with one of queue or state, a page reads only the jobs that it
 * shows. (PENDING and RETRY share their sets, so that a filter of one of them drops the other.) Filters by id look these
 * jobs up; filters by root and parent read that flow. Everything else looks at up to `scan` rows for one answer; other
 * orders sort that many at a time.
 */
export async function listTasks(
  access: QueueAccess,
  portions: PortionCache,
  query: TaskQuery,
  options: ReadOptions,
): Promise<TaskPage> {
  // BullMQ has no groups.
  if (query.groupId !== null) return NOTHING;
  const ids = idsIn(query);
  if (ids !== null) return listNamed(access, ids, query, options);
  const flow = await listFlow(access, query, options);
  if (flow !== null) return flow;
  // No job has a root that does not exist; a parent may be removed before its children.
  if (query.rootId !== null) return NOTHING;
  return query.sort === 'timestamp'
    ? listByTime(access, query, options)
    : listSorted(access, portions, query, options);
}

/** The ids of which a query accepts no others; `null`: it accepts any. */
function idsIn({ conditions }: TaskQuery): readonly string[] | null {
  for (const condition of conditions) {
    if (condition.field !== 'id' || condition.isNegated || condition.prefixes.length > 0) continue;
    return [...new Set(condition.values)];
  }
  return null;
}

/** A few jobs are looked up: a walk would examine its share of all others first. */
async function listNamed(
  access: QueueAccess,
  ids: readonly string[],
  query: TaskQuery,
  options: ReadOptions,
): Promise<TaskPage> {
  const refs = await Promise.all(ids.map((id) => access.find(id, options)));
  const found = await findJobs(
    access,
    refs.filter((ref) => ref !== null),
    true,
    options,
  );
  const jobs = found.filter((job) => job !== null);
  const loaded = await loadTasks(access, jobs, ROW_BOUNDS, options);
  return selectTasks(
    loaded.map(({ task }) => task),
    query,
  );
}

async function listByTime(access: QueueAccess, query: TaskQuery, options: ReadOptions): Promise<TaskPage> {
  const { limit, order, after, scan } = query;
  const isWhole = matchesWholeSets(query);
  const withTexts = showsMostJobs(query);
  const walk = await walkOfQuery(access, query, { after, order, withTexts }, options);
  const tasks: Task[] = [];
  // The walk knows positions in its last batch only, so a page of several batches has no other ends.
  let onlyBatch: readonly SequenceRow[] | null = null;
  const endAt = (count: number): PageEnd | null => {
    const row = onlyBatch?.find(({ taskId }) => taskId === tasks[count - 1]?.id);
    return row === undefined ? null : { next: walk.positionBehind(row) };
  };
  const pageWith = async (next: TaskPosition | null): Promise<TaskPage> => {
    return { tasks, next, total: isWhole ? await walk.count() : null, endAt };
  };
  let last: SequenceRow | undefined;
  for (let scanned = 0; tasks.length < limit && (isWhole || scanned < scan); ) {
    const missing = limit - tasks.length;
    const most = isWhole ? missing : Math.min(rowsFor(missing, tasks.length, scanned), scan - scanned);
    const rows = await walk.next(most);
    onlyBatch = scanned === 0 ? rows : null;
    if (rows.length === 0) return pageWith(null);
    scanned += rows.length;
    const jobs = await loadKnown(access, rows, withTexts, options);
    tasks.push(...(await loadMatching(access, jobs, query, missing, options)));
    last = tasks.length < limit ? rows.at(-1) : rows.find(({ taskId }) => taskId === tasks.at(-1)?.id);
    if (last !== rows.at(-1) && last !== undefined) {
      return pageWith(walk.positionBehind(last));
    }
  }
  if (last === undefined || !(await walk.hasMore())) return pageWith(null);
  return pageWith(walk.positionBehind(last));
}

/** How many rows to read for the tasks that are missing, if as many match as before. */
function rowsFor(missing: number, found: number, scanned: number): number {
  const share = scanned === 0 ? 1 : found / scanned;
  return Math.min(Math.max(Math.ceil(missing / share), LEAST_BATCH), LARGEST_BATCH);
}

/** Whether all jobs of the sets that are listed match. */
function matchesWholeSets(query: TaskQuery): boolean {
  const { states, since, until, q } = query;
  const isWhole =
    states.length === 0 || setsOf(query).every((set) => set.states.every((state) => states.includes(state)));
  return isWhole && showsMostJobs(query) && since === null && until === null && q === null;
}

/** The flow of a root or a parent, its nearest {@link MOST_JOBS} jobs: read whole, then filtered and sorted. */
async function listFlow(
  access: QueueAccess,
  query: TaskQuery,
  options: ReadOptions,
): Promise<TaskPage | null> {
  const id = query.rootId ?? query.parentId;
  const top = id === null ? null : await access.find(id, options);
  const flow = top === null ? null : await readFlow(access, top, Math.min(query.scan, MOST_JOBS), options);
  if (flow === null) return null;
  const loaded = await loadTasks(access, flow.jobs, ROW_BOUNDS, options);
  const page = selectTasks(
    loaded.map(({ task }) => task),
    query,
  );
  return flow.isCut ? { ...page, total: null } : page;
}

/**
 * Answers `listTasks` for any order except by time. Redis has no such order, so the newest `scan` jobs are read and
 * sorted; if there are more, the next portion follows after them.
 */
async function listSorted(
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

/** Redis has no index of causes: they are matched like a searched text, by the rows of failed jobs. */
export function searchCauses(query: TaskQuery): TaskQuery {
  const { causes, causeOf, states, q, search } = query;
  const conditions = query.conditions.filter(({ field }) => field === 'cause');
  if (causes.length + conditions.length === 0) return query;
  return Object.freeze({
    ...query,
    causes: [],
    conditions: query.conditions.filter(({ field }) => field !== 'cause'),
    states: causes.length > 0 && states.length === 0 ? ['FAILURE'] : states,
    q: q ?? '',
    search: (task: Parameters<TaskQuery['search']>[0]) =>
      (causes.length === 0 || causes.includes(causeOf(task)?.id ?? '')) &&
      passesConditions(task, { conditions, causeOf }) &&
      search(task),
  });
}
