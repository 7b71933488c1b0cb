/**
 * One list of the jobs in Redis and of the removed ones. Both are in the same order, so a page takes the first rows of
 * both. A cursor has the position in the list of Redis, and that up to which removed jobs have been listed.
 */
import { readMark, writeMark } from '../../../cursor.ts';
import type { Task } from '../../../model.ts';
import { comparePositions, sortKeyOf } from '../../../select/task-order.ts';
import type { ReadContext, TaskPage, TaskPosition, TaskQuery } from '../../../source.ts';
import { mayPass } from '../jobs/job-sets.ts';
import { REMOVED, type RemovedJobs, type RemovedRows } from './removed-jobs.ts';

/** How far both lists have been read. */
interface Progress {
  /** `ended`: Redis has no more. */
  readonly live: TaskPosition | 'ended' | null;
  /** Removed jobs behind it have not been listed. */
  readonly removed: TaskPosition | null;
}

const NO_PAGE: TaskPage = { tasks: [], next: null, total: 0 };

/**
 * Lists jobs of both kinds. `total` is known if one page has all rows, or nothing that was recorded matches.
 *
 * @param listLive lists the jobs that are in Redis
 */
export async function listMerged(
  removed: RemovedJobs,
  listLive: (query: TaskQuery) => Promise<TaskPage>,
  query: TaskQuery,
  context: ReadContext,
): Promise<TaskPage> {
  const { engineStates, after, limit } = query;
  const isAskedFor = engineStates.length === 0 || engineStates.includes(REMOVED);
  if (!isAskedFor || !mayPass(query, 'engineState', [REMOVED])) return listLive(query);
  const from = readProgress(after);
  const page = from.live === 'ended' ? NO_PAGE : await listLive({ ...query, after: from.live });
  const bound = boundOf(page, query);
  const rows = await removed.list({ ...query, after: from.removed }, bound, context);
  if (rows.failure !== undefined) return withoutStore(page, rows.failure, from, query);
  const { tasks, taken } = mergeRows(page, rows, query);
  const cursorExact = (page.cursorExact ?? true) && rows.cursorExact;
  const live = await behindLive(page, taken, from.live, query, listLive);
  const isEnd = live === 'ended' && !rows.hasMore && tasks.length - taken === rows.tasks.length;
  if (isEnd || limit === 0) {
    const isWhole = after === null && limit > 0;
    const total = isWhole ? tasks.length : rows.isEmpty ? page.total : null;
    return { tasks, next: null, total, cursorExact };
  }
  const shown = tasks.map((task) => positionOf(task, query));
  const searched = tasks.length < limit ? [rows.reached ?? bound] : [];
  const behind = furthest([...shown, ...searched, from.removed], query);
  const next = writeProgress(shown.at(-1) ?? behind, { live, removed: behind });
  return { tasks, next, total: rows.isEmpty ? page.total : null, cursorExact };
}

/** The page of Redis alone. Removed jobs follow once they can be read, so the list does not appear complete. */
function withoutStore(page: TaskPage, failure: unknown, from: Progress, query: TaskQuery): TaskPage {
  const { tasks, next } = page;
  const last = tasks.at(-1);
  if (last === undefined && query.limit > 0) throw failure;
  const to = { live: next ?? 'ended', removed: from.removed } as const;
  return {
    tasks,
    next: last === undefined ? null : writeProgress(positionOf(last, query), to),
    total: null,
    cursorExact: false,
  };
}

/** Up to where removed jobs belong to a page: not behind what has been read of Redis. */
function boundOf({ tasks, next }: TaskPage, query: TaskQuery): TaskPosition | null {
  if (next === null) return null;
  // Where a list in an order that Redis does not have is sorted anew, there is no position.
  const end = next.id === '' ? null : { key: next.key, id: next.id };
  return furthest([...tasks.map((task) => positionOf(task, query)), end], query);
}

/** @returns the rows of a page, and how many of them are of Redis */
function mergeRows(
  { tasks: live }: TaskPage,
  { tasks: removed, reached }: RemovedRows,
  query: TaskQuery,
): { readonly tasks: readonly Task[]; readonly taken: number } {
  const tasks: Task[] = [];
  let [taken, next] = [0, 0];
  while (tasks.length < query.limit) {
    const [a, b] = [live[taken], removed[next]];
    const isRemovedFirst = a === undefined || (b !== undefined && compare(b, a, query) < 0);
    const task = isRemovedFirst ? b : a;
    if (task === undefined) break;
    // Removed jobs that have not been looked at may come before it.
    const isUnsure = b === undefined && reached !== null;
    if (isUnsure && comparePositions(positionOf(task, query), reached, query.order) > 0) break;
    tasks.push(task);
    if (isRemovedFirst) next += 1;
    else taken += 1;
  }
  return { tasks, taken };
}

/** Where the list of Redis continues behind so many rows of a page. */
async function behindLive(
  page: TaskPage,
  taken: number,
  from: Progress['live'],
  query: TaskQuery,
  listLive: (query: TaskQuery) => Promise<TaskPage>,
): Promise<Progress['live']> {
  if (from === 'ended' || taken === page.tasks.length) return page.next ?? 'ended';
  if (taken === 0) return from;
  const end = page.endAt?.(taken) ?? (await listLive({ ...query, after: from, limit: taken }));
  return end.next ?? 'ended';
}

function positionOf(task: Task, { sort }: TaskQuery): TaskPosition {
  return { key: sortKeyOf(task, sort), id: task.id };
}

function compare(a: Task, b: Task, query: TaskQuery): number {
  return comparePositions(positionOf(a, query), positionOf(b, query), query.order);
}

/** The later position. */
function furthest(positions: readonly (TaskPosition | null)[], { order }: TaskQuery): TaskPosition | null {
  return positions.reduce(
    (last, one) => (last === null || (one !== null && comparePositions(one, last, order) > 0) ? one : last),
    null,
  );
}

const KIND = 'merged';

/** The mark of Redis' own list stands behind the others, so that it is not escaped once more. */
function writeProgress(at: TaskPosition | null, { live, removed }: Progress): TaskPosition {
  const own = live === 'ended' || live === null ? live : [live.key, live.id, live.mark !== undefined];
  const mark = writeMark(KIND, [own, removed === null ? null : [removed.key, removed.id]]);
  const rest = live === 'ended' ? '' : (live?.mark ?? '');
  return { key: at?.key ?? null, id: at?.id ?? '', mark: `${mark}\n${rest}` };
}

/** A position that no merged list has issued is that of a row, in both lists. */
function readProgress(after: TaskPosition | null): Progress {
  const [text = '', ...rest] = after?.mark?.split('\n') ?? [];
  const parts = readMark(KIND, text);
  if (after === null || parts === null)
    return { live: after, removed: after && { key: after.key, id: after.id } };
  const [own, removed] = parts;
  if (own === 'ended' || own === null) return { live: own, removed: readPosition(removed) };
  const live = readPosition(own);
  const hasMark = Array.isArray(own) && own[2] === true;
  return {
    live: live !== null && hasMark ? { ...live, mark: rest.join('\n') } : live,
    removed: readPosition(removed),
  };
}

/** Clients can send anything, so each part is checked. */
function readPosition(value: unknown): TaskPosition | null {
  const [key, id]: readonly unknown[] = Array.isArray(value) ? value : [];
  if (typeof id !== 'string') return null;
  return { key: typeof key === 'number' || typeof key === 'string' ? key : null, id };
}
