import type { Task } from '../../../model.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import { selectTasks } from '../../../select/select-tasks.ts';
import type { PageEnd } from '../../../source/task-query.ts';
import type { TaskPage, TaskPosition, TaskQuery } from '../../../source.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { findJobs } from '../jobs/find-jobs.ts';
import { loadKnown, loadTasks } from '../jobs/job-loader.ts';
import { setsOf } from '../jobs/job-sets.ts';
import { ROW_BOUNDS } from '../jobs/job-values.ts';
import type { SequenceRow } from '../walk/job-sequence.ts';
import type { PortionCache } from './sorted-portion.ts';
import { listSorted } from './sorted-task-list.ts';
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
