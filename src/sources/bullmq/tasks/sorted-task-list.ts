/**
 * Lists tasks in orders other than time. Redis has no such order, so the newest `scan` jobs are read and
 * sorted; if there are more, the next portion follows after them.
 */
import { readMark, writeMark } from '../../../cursor.ts';
import type { Task } from '../../../model.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import { selectTasks } from '../../../select/select-tasks.ts';
import type { TaskPage, TaskPosition, TaskQuery } from '../../../source.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { bareTask, loadKnown, loadTasks } from '../jobs/job-loader.ts';
import type { KnownJob } from '../jobs/job-row.ts';
import { ROW_BOUNDS } from '../jobs/job-values.ts';
import { loadMatching, walkOfQuery } from './task-rows.ts';

const BATCH = 500;

/** Answers `listTasks` for any order but that of time. */
export async function listSorted(
  access: QueueAccess,
  query: TaskQuery,
  options: ReadOptions,
): Promise<TaskPage> {
  const { start, after } = portionOf(query.after);
  const { tasks: all, jobs, end } = await readPortion(access, query, start, options);
  const page = selectTasks(all, { ...query, after, q: null });
  const shown = page.tasks.flatMap(({ id }) => jobs.get(id) ?? []);
  const loaded = await loadTasks(access, shown, ROW_BOUNDS, options);
  const tasks = loaded.map(({ task }) => task);
  const total = start === null && end === null ? page.total : null;
  if (page.next !== null) return { tasks, next: { ...page.next, mark: portionMark(start) }, total };
  const next = end !== null && query.limit > 0 ? { key: null, id: '', mark: portionMark(end) } : null;
  return { tasks, next, total };
}

/** Jobs that are sorted together. */
interface Portion {
  /** Without their values. */
  readonly tasks: readonly Task[];
  /** By task id. */
  readonly jobs: ReadonlyMap<string, KnownJob>;
  /** Where the next portion begins; `null` when there is none. */
  readonly end: TaskPosition | null;
}

async function readPortion(
  access: QueueAccess,
  query: TaskQuery,
  start: TaskPosition | null,
  options: ReadOptions,
): Promise<Portion> {
  const walk = await walkOfQuery(access, query, { after: start, order: 'desc', expected: BATCH }, options);
  const found = new Map<string, KnownJob>();
  const tasks: Task[] = [];
  for (let scanned = 0; ; ) {
    const rows = await walk.next(Math.min(BATCH, query.scan - scanned));
    const last = rows.at(-1);
    if (last === undefined) return { tasks, jobs: found, end: null };
    scanned += rows.length;
    const jobs = await loadKnown(access, rows, options);
    for (const job of jobs) found.set(job.taskId, job);
    const now = Date.now();
    if (query.q === null) tasks.push(...jobs.map((job) => bareTask(access, job, now)));
    else tasks.push(...(await loadMatching(access, jobs, query, jobs.length, options)).map(withoutValues));
    if (scanned < query.scan) continue;
    return { tasks, jobs: found, end: (await walk.hasMore()) ? walk.positionBehind(last) : null };
  }
}

function withoutValues(task: Task): Task {
  return { ...task, args: null, result: null, exception: null, traceback: null };
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
