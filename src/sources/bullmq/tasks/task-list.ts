/** Answers `listTasks` from the jobs in Redis. */
import type { Task } from '../../../model.ts';
import { scheduler, sortInSteps } from '../../../scheduler.ts';
import { comparePositions, passesConditions, passesFilters, sortKeyOf } from '../../../select/apply-query.ts';
import { selectTasks } from '../../../select/pages.ts';
import type { PageEnd } from '../../../source/task-query.ts';
import type { TaskPage, TaskPosition, TaskQuery } from '../../../source.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { QueueRef } from '../access/queue-reads.ts';
import { ROW_BOUNDS } from '../jobs/job-hash.ts';
import { bareTask, type FoundJob, findTasks, loadKnown, loadTasks } from '../jobs/job-loader.ts';
import type { KnownJob } from '../jobs/job-row.ts';
import { setsOf } from '../jobs/job-sets.ts';
import { createWalk, type WalkPlan } from '../walk/walk.ts';
import { type JobReads, type ListLive, listWithRemoved } from './removed-jobs.ts';
import { MOST_JOBS, readTree } from './task-tree.ts';

const NOTHING: TaskPage = { tasks: [], next: null, total: 0 };
/** Bounds of the rows that are read at a time when filters may drop some of them. */
const LEAST_BATCH = 10;
const LARGEST_BATCH = 500;
/** Jobs whose values are read at a time when only some of them contain the searched text. */
const SEARCHED_AT_ONCE = 100;

/** Answers `listTasks`. Filters by root and parent read that flow. */
export async function listTasks(reads: JobReads, query: TaskQuery): Promise<TaskPage> {
  const { groupId, rootId, parentId, scan } = query;
  // BullMQ has no groups.
  if (groupId !== null) return NOTHING;
  const top = rootId ?? parentId;
  if (top === null) return listAll(reads, query);
  const flow = await readTree(reads, top, { bounds: ROW_BOUNDS, most: Math.min(scan, MOST_JOBS) });
  if (flow !== null) {
    const page = selectTasks(flow.tasks, query);
    return flow.truncated === true ? { ...page, total: null } : page;
  }
  // No job has a root that does not exist; a parent may be removed before its children.
  return rootId !== null ? NOTHING : listAll(reads, query);
}

/** The jobs in Redis, and with a store also the removed ones. */
function listAll(reads: JobReads, query: TaskQuery): Promise<TaskPage> {
  const { access, recorded } = reads;
  if (recorded === null) return listLive(access, query, 'newest');
  return listWithRemoved(reads, recorded, query, listLive);
}

/**
 * Lists the jobs in Redis. By time, without a filter or with one of queue or state, a page reads only the jobs that it
 * shows, and the newest of sets that time does not sort. (PENDING and RETRY share their sets, so that a filter of one of
 * them drops the other.) Filters by id look these jobs up. Everything else looks at up to `scan` rows for one answer.
 */
const listLive: ListLive = async (access, query, large) => {
  const ids = idsIn(query);
  // A few jobs are looked up: a walk would examine its share of all others first.
  if (ids !== null) return selectTasks(await findTasks(access, ids, true, ROW_BOUNDS), query);
  return query.sort === 'timestamp' ? listByTime(access, query, large) : listSorted(access, query);
};

/** The ids of which a query accepts no others; `null`: it accepts any. */
function idsIn({ conditions }: TaskQuery): readonly string[] | null {
  for (const condition of conditions) {
    if (condition.field !== 'id' || condition.isNegated || condition.prefixes.length > 0) continue;
    return [...new Set(condition.values)];
  }
  return null;
}

async function listByTime(
  access: QueueAccess,
  query: TaskQuery,
  large: WalkPlan['large'],
): Promise<TaskPage> {
  const { limit, order, after, scan } = query;
  const isWhole = matchesWholeSets(query);
  const withTexts = showsMostJobs(query);
  const walk = await walkOfQuery(access, query, { after, order, withTexts, large });
  const tasks: Task[] = [];
  const ends: TaskPosition[] = [];
  let last: TaskPosition | null = null;
  for (let scanned = 0; tasks.length < limit && (isWhole || scanned < scan); ) {
    const missing = limit - tasks.length;
    const most = isWhole ? missing : Math.min(rowsFor(missing, tasks.length, scanned), scan - scanned);
    const rows = await walk.next(most);
    if (rows.length === 0) break;
    scanned += rows.length;
    const jobs = await loadKnown(access, rows, withTexts);
    const found = await loadMatching(access, jobs, query, missing);
    const positions = new Map(rows.map(({ taskId, position }) => [taskId, position]));
    tasks.push(...found);
    ends.push(...found.map(({ id }) => positions.get(id) ?? { key: null, id }));
    last = (tasks.length < limit ? rows.at(-1)?.position : ends.at(-1)) ?? null;
    if (tasks.length === limit && found.at(-1)?.id !== rows.at(-1)?.taskId) return page(last);
  }
  return page(last !== null && (await walk.hasMore()) ? last : null);

  async function page(next: TaskPosition | null): Promise<TaskPage> {
    const total = isWhole ? await walk.count() : null;
    const endAt = (count: number): PageEnd => ({ next: ends[count - 1] ?? null });
    return { tasks, next, total, cursorExact: !walk.isCut, endAt };
  }
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

/** Whether no filter drops a large part of the jobs before their texts are needed. */
function showsMostJobs({ names, workers, parentId, conditions }: TaskQuery): boolean {
  return names.length + workers.length + conditions.length === 0 && parentId === null;
}

/** The queues of a query; all if it names none. */
export async function queuesOf(
  access: QueueAccess,
  { queues }: Pick<TaskQuery, 'queues'>,
): Promise<readonly QueueRef[]> {
  const all = await access.queues();
  return queues.length === 0 ? all : all.filter(({ name }) => queues.includes(name));
}

/** A walk over the sets of the queues and states of a query. */
export async function walkOfQuery(
  access: QueueAccess,
  query: TaskQuery,
  plan: Pick<WalkPlan, 'after' | 'order' | 'withTexts' | 'large'>,
) {
  const queues = await queuesOf(access, query);
  const [since, until] = [query.since?.getTime() ?? null, query.until?.getTime() ?? null];
  const { engineStates } = query;
  return createWalk(access, { ...plan, queues, sets: setsOf(query), engineStates, since, until });
}

/**
 * Loads the jobs that pass all filters of the query, in their order.
 *
 * @param most how many to load at most
 */
async function loadMatching(
  access: QueueAccess,
  jobs: readonly KnownJob[],
  query: TaskQuery,
  most: number,
): Promise<readonly Task[]> {
  const withoutText = { ...query, q: null };
  const passes = (task: Task): boolean => passesFilters(task, withoutText);
  const now = Date.now();
  // Where all pass, no task without its texts is made for the filters alone.
  const isWhole = matchesWholeSets(query);
  const passed = isWhole ? jobs : jobs.filter((job) => passes(bareTask(access, job, now)));
  const found: Task[] = [];
  const step = query.q === null ? most : SEARCHED_AT_ONCE;
  for (let from = 0; from < passed.length && found.length < most; from += step) {
    const loaded = await loadTasks(access, passed.slice(from, from + step), ROW_BOUNDS);
    const matching = isWhole ? loaded.filter(passes) : loaded;
    found.push(...matching.filter((task) => query.q === null || query.search(task)));
  }
  return found.slice(0, most);
}

/**
 * Answers `listTasks` for any order except by time. Redis has no such order, so each page reads the newest `scan` jobs
 * and sorts them; older ones are not listed.
 */
async function listSorted(access: QueueAccess, query: TaskQuery): Promise<TaskPage> {
  const { limit, order, after, scan } = query;
  const withTexts = query.q !== null && showsMostJobs(query);
  const walk = await walkOfQuery(access, query, { after: null, order: 'desc', withTexts, large: 'all' });
  const matching: SortedRow[] = [];
  let loading: Promise<readonly SortedRow[]> = Promise.resolve([]);
  for (let left = scan; left > 0; ) {
    const found = await walk.next(Math.min(LARGEST_BATCH, left));
    matching.push(...(await loading));
    loading = matchingRows(access, found, query, withTexts);
    // The next jobs are found meanwhile. If that fails, these are not awaited.
    loading.catch(() => {});
    if (found.length === 0) break;
    left -= found.length;
  }
  const isWhole = !(await walk.hasMore());
  matching.push(...(await loading));
  const compare = (a: SortedRow, b: SortedRow): number => comparePositions(a, b, order);
  const rows = await scheduler.run('sort', sortInSteps(matching, compare), access.options);
  const begin = after === null ? 0 : rows.findIndex((row) => comparePositions(row, after, order) > 0);
  const shown = begin < 0 ? [] : rows.slice(begin, begin + limit);
  const tasks = await loadTasks(
    access,
    shown.map(({ job }) => job),
    ROW_BOUNDS,
  );
  const last = shown.at(-1);
  return {
    tasks,
    next: last === undefined || last === rows.at(-1) ? null : { key: last.key, id: last.id },
    total: isWhole ? rows.length : matchesWholeSets(query) ? await walk.count() : null,
    cursorExact: isWhole,
  };
}

/** A matching job without its texts, at its position in the list. */
interface SortedRow extends TaskPosition {
  readonly job: KnownJob;
}

/** Those of the jobs that match. */
async function matchingRows(
  access: QueueAccess,
  found: readonly FoundJob[],
  query: TaskQuery,
  withTexts: boolean,
): Promise<readonly SortedRow[]> {
  const { q, sort } = query;
  const jobs = await loadKnown(access, found, withTexts);
  const searched = q === null ? null : await loadMatching(access, jobs, query, jobs.length);
  const ids = searched === null ? null : new Set(searched.map(({ id }) => id));
  const now = Date.now();
  return jobs.flatMap((job) => {
    const task = bareTask(access, job, now);
    const matches = ids === null ? passesFilters(task, query) : ids.has(task.id);
    return matches ? [{ key: sortKeyOf(task, sort), id: task.id, job: { ...job, values: null } }] : [];
  });
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
