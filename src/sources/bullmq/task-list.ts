import type { Task } from '../../model.ts';
import type { ReadOptions } from '../../redis/reader.ts';
import { selectTasks } from '../../select/select-tasks.ts';
import { passesFilters } from '../../select/task-filter.ts';
import type { TaskPage, TaskPosition, TaskQuery } from '../../source.ts';
import { bareTask, loadKnown, loadTasks } from './job-loader.ts';
import type { KnownJob } from './job-row.ts';
import { setsOf } from './job-sets.ts';
import { ROW_BOUNDS } from './job-values.ts';
import type { QueueAccess } from './queue-access.ts';
import { MOST_JOBS, readFlow } from './task-tree.ts';
import { createWalk, type Walk } from './walk/walk.ts';

const NOTHING: TaskPage = { tasks: [], next: null, total: 0 };
/** Rows that are read at a time where not every one may be listed: few at first, as most may be. */
const FIRST_BATCH = 100;
const BATCH = 500;

/**
 * Answers `listTasks`. By time, without a filter or with one of queue or state, a page reads what it holds
 * (PENDING and RETRY lie in the same sets, so that one of them alone passes over the other). Filters by root
 * and parent read that flow. Everything else looks at no more than `scan` rows for one answer; other orders
 * sort that many at a time.
 */
export async function listTasks(
  access: QueueAccess,
  query: TaskQuery,
  options: ReadOptions,
): Promise<TaskPage> {
  // No job of BullMQ is in a group.
  if (query.groupId !== null) return NOTHING;
  const flow = await flowOf(access, query, options);
  if (flow !== null) return flow;
  // A root that is not there is known to be that of no task; a parent may be gone before its children.
  if (query.rootId !== null) return NOTHING;
  return query.sort === 'timestamp' ? listByTime(access, query, options) : listSorted(access, query, options);
}

async function walkOf(
  access: QueueAccess,
  query: TaskQuery,
  plan: { readonly after: TaskPosition | null; readonly order: 'asc' | 'desc'; readonly expected: number },
  options: ReadOptions,
): Promise<Walk> {
  const all = await access.queues(options);
  const queues = query.queues.length === 0 ? all : all.filter(({ name }) => query.queues.includes(name));
  const [since, until] = [query.since?.getTime() ?? null, query.until?.getTime() ?? null];
  return createWalk(access, { ...plan, queues, sets: setsOf(query.states), since, until }, options);
}

/** How many tasks match, where the sizes of sets tell; `null` otherwise. */
function totalOf({ counts }: Walk, query: TaskQuery): number | null {
  if (!isIndexed(query) || query.names.length > 0) return null;
  const sets = setsOf(query.states);
  return counts.filter(({ set }) => sets.includes(set)).reduce((sum, { count }) => sum + count, 0);
}

/** Whether every row of the sets that are walked matches. */
function isIndexed({ names, workers, states, since, until, q }: TaskQuery): boolean {
  const isWhole =
    states.length === 0 || setsOf(states).every((set) => set.states.every((state) => states.includes(state)));
  return isWhole && names.length + workers.length === 0 && since === null && until === null && q === null;
}

async function listByTime(access: QueueAccess, query: TaskQuery, options: ReadOptions): Promise<TaskPage> {
  const { limit, order, after } = query;
  const isAll = isIndexed(query);
  const walk = await walkOf(access, query, { after, order, expected: limit }, options);
  const total = totalOf(walk, query);
  const found: Task[] = [];
  let scanned = 0;
  let batch = FIRST_BATCH;
  let isFull = limit === 0;
  let next: TaskPosition | null = null;
  while (!isFull && (isAll || scanned < query.scan)) {
    const missing = limit - found.length;
    const rows = await walk.next(
      isAll ? missing : Math.min(Math.max(batch, missing), BATCH, query.scan - scanned),
    );
    batch *= 2;
    if (rows.length === 0) return { tasks: found, next: null, total };
    scanned += rows.length;
    const jobs = await loadKnown(access, rows, options);
    const tasks = await matching(access, jobs, query, limit - found.length, options);
    found.push(...tasks);
    isFull = found.length >= limit;
    const last = isFull ? rows.findIndex(({ taskId }) => taskId === tasks.at(-1)?.id) + 1 : rows.length;
    next = walk.position(last);
    if (last < rows.length) return { tasks: found, next, total };
  }
  if (limit === 0) return { tasks: [], next: null, total };
  return { tasks: found, next: (await walk.hasMore()) ? next : null, total };
}

/** Those that pass all filters, up to so many. */
async function matching(
  access: QueueAccess,
  jobs: readonly KnownJob[],
  query: TaskQuery,
  most: number,
  options: ReadOptions,
): Promise<readonly Task[]> {
  const bare = { ...query, q: null };
  const now = Date.now();
  const passed = jobs.filter((job) => passesFilters(bareTask(access, job, now), bare));
  const found: Task[] = [];
  // Where only some of them match the text, values are read a few at a time.
  const step = query.q === null ? most : 100;
  for (let from = 0; from < passed.length && found.length < most; from += step) {
    const loaded = await loadTasks(access, passed.slice(from, from + step), ROW_BOUNDS, options);
    found.push(...loaded.map(({ task }) => task).filter((task) => query.q === null || query.search(task)));
  }
  return found.slice(0, most);
}

/** Tasks of the flow of a root or a parent, the nearest {@link MOST_JOBS} of it: read, then filtered and sorted. */
async function flowOf(access: QueueAccess, query: TaskQuery, options: ReadOptions): Promise<TaskPage | null> {
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

/** Sorts so many rows at a time, as they come by time: all of them, where there are no more. */
async function listSorted(access: QueueAccess, query: TaskQuery, options: ReadOptions): Promise<TaskPage> {
  const { start, after } = portionOf(query.after);
  const walk = await walkOf(access, query, { after: start, order: 'desc', expected: BATCH }, options);
  const known = new Map<string, KnownJob>();
  const bare: Task[] = [];
  let scanned = 0;
  while (scanned < query.scan) {
    const rows = await walk.next(Math.min(BATCH, query.scan - scanned));
    if (rows.length === 0) break;
    scanned += rows.length;
    const jobs = await loadKnown(access, rows, options);
    for (const job of jobs) known.set(job.taskId, job);
    if (query.q === null) bare.push(...jobs.map((job) => bareTask(access, job, Date.now())));
    else bare.push(...(await matching(access, jobs, query, jobs.length, options)).map(withoutValues));
  }
  const rest = await walk.hasMore();
  const page = selectTasks(bare, { ...query, after, q: null });
  const jobs = page.tasks.flatMap(({ id }) => known.get(id) ?? []);
  const loaded = await loadTasks(access, jobs, ROW_BOUNDS, options);
  const isWhole = start === null && !rest;
  const tasks = loaded.map(({ task }) => task);
  if (page.next !== null)
    return { tasks, next: { ...page.next, mark: portionMark(start) }, total: isWhole ? page.total : null };
  const next = rest && query.limit > 0 ? { key: null, id: '', mark: portionMark(walk.position()) } : null;
  return { tasks, next, total: isWhole ? page.total : null };
}

function withoutValues(task: Task): Task {
  return { ...task, args: null, result: null, exception: null, traceback: null };
}

const PORTION = 'portion ';

function portionMark(start: TaskPosition | null): string {
  return PORTION + JSON.stringify(start === null ? [] : [start.key, start.id, start.mark ?? null]);
}

/** Where the rows begin that are sorted together, and the place among them. */
function portionOf(after: TaskPosition | null): {
  readonly start: TaskPosition | null;
  readonly after: TaskPosition | null;
} {
  if (after === null || !after.mark?.startsWith(PORTION)) return { start: null, after };
  const place = after.id === '' ? null : { key: after.key, id: after.id };
  try {
    const [key, id, mark]: readonly unknown[] = JSON.parse(after.mark.slice(PORTION.length));
    if (typeof id !== 'string') return { start: null, after: place };
    const start = { key: typeof key === 'number' ? key : null, id };
    return { start: typeof mark === 'string' ? { ...start, mark } : start, after: place };
  } catch {
    return { start: null, after: place };
  }
}
