/** The jobs that have been recorded and are no longer in Redis, and one list of them and of those in Redis. */
import type { HistoryReader } from '../../../history/history.ts';
import type { Task, TaskDetail } from '../../../model.ts';
import { asNumber } from '../../../redis/replies.ts';
import { comparePositions, passesConditions, sortKeyOf } from '../../../select/apply-query.ts';
import type { ReadContext, TaskPage, TaskPosition, TaskQuery } from '../../../source.ts';
import { readFields } from '../access/hash-reads.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { mayPass } from '../jobs/job-sets.ts';
import { latestLife } from '../recorded/recorded-lives.ts';

/** Reads of the jobs in Redis and of the recorded ones, for one request. */
export interface JobReads {
  readonly access: QueueAccess;
  /** Rejects when the store is needed and cannot be read; `null`: there is none. */
  readonly recorded: HistoryReader | null;
  readonly context: ReadContext;
}

/** A job that has been recorded. */
export interface RecordedJob {
  /** The row that is shown after its removal. */
  readonly task: Task;
  /** The id that it had as a job. */
  readonly taskId: string;
  /** It was added anew under an id that had been used before. */
  readonly isLater: boolean;
}

/** The `engineState` of removed jobs. */
const REMOVED = 'removed';
/** Recorded rows that are read at once. */
const LEAST_ROWS = 10;
const MOST_ROWS = 500;

/** A removed job, by the id of its row. The task id of the job means the latest one that had it. */
export async function findRemoved({ recorded, context }: JobReads, id: string): Promise<TaskDetail | null> {
  if (recorded === null) return null;
  const life = await latestLife(recorded, id, context);
  const task = await recorded.getTask(life?.id ?? id, context);
  return task && { ...detailOf(task), id };
}

/** Those of the recorded jobs that are no longer in Redis. Each takes one command. */
export async function removedOnes(
  { access }: JobReads,
  rows: readonly RecordedJob[],
): Promise<readonly Task[]> {
  const refs = await access.find(rows.map(({ taskId }) => taskId));
  const replies = await readFields(
    access,
    refs.filter((ref) => ref !== null),
    ['timestamp'],
  );
  let next = 0;
  return rows.flatMap(({ task, isLater }, index) => {
    const [added = null] = refs[index] === null ? [] : (replies[next++] ?? []);
    if (added === null) return [task];
    // Ids must be unique: the job itself has the id of the first life.
    return isLater && asNumber(added) !== task.sent?.getTime() ? [task] : [];
  });
}

/** All recorded jobs that match, including those still in Redis, `most` at most. */
export async function* walkRecorded(
  { recorded, context }: JobReads,
  query: TaskQuery,
  most: number,
): AsyncGenerator<readonly RecordedJob[], void, undefined> {
  if (recorded === null) return;
  let { after } = query;
  for (let left = most; left > 0; ) {
    const part = recordedQuery({ ...query, after, limit: Math.min(left, MOST_ROWS) });
    const page = await recorded.listTasks(part, context);
    yield page.tasks.map((task) => recordedJob(task));
    if (page.next === null) return;
    after = page.next;
    left -= page.tasks.length;
  }
}

/** Lists the jobs in Redis. @param large of lists by time: which of a large set come */
export type ListLive = (
  access: QueueAccess,
  query: TaskQuery,
  large: 'newest' | 'newest by time',
) => Promise<TaskPage>;

/**
 * Lists the jobs in Redis and the removed ones. Both lists continue behind the last row that was shown, whichever it is
 * of. `total` is known if one page has all rows, or nothing that was recorded matches.
 */
export async function listWithRemoved(
  reads: JobReads,
  recorded: HistoryReader,
  query: TaskQuery,
  listLive: ListLive,
): Promise<TaskPage> {
  const { engineStates, after, limit, order } = query;
  const { access } = reads;
  const isAskedFor = engineStates.length === 0 || engineStates.includes(REMOVED);
  if (!isAskedFor || !mayPass(query, 'engineState', [REMOVED])) {
    return listLive(access, query, 'newest');
  }
  const live = await listLive(access, query, 'newest by time');
  const removed = await listRemoved(reads, recorded, query, live.next).catch((failure: unknown) => {
    reads.context.signal.throwIfAborted();
    return { failure };
  });
  if ('failure' in removed) return withoutStore(live, removed.failure, query);
  const end = nearest(live.next, removed.end, order);
  const rows = [...live.tasks, ...removed.tasks]
    .map((task) => ({ task, at: positionOf(task, query) }))
    .filter(({ at }) => end === null || comparePositions(at, end, order) <= 0)
    .sort((a, b) => comparePositions(a.at, b.at, order));
  const shown = rows.slice(0, limit);
  const hasMore = limit > 0 && (end !== null || rows.length > limit);
  const last = shown.length < limit ? end : (shown.at(-1)?.at ?? null);
  const cursorExact = live.cursorExact !== false && removed.cursorExact;
  const isAll = after === null && limit > 0 && !hasMore && cursorExact;
  const total = isAll ? shown.length : removed.isEmpty ? live.total : null;
  return { tasks: shown.map(({ task }) => task), next: hasMore ? last : null, total, cursorExact };
}

/** The page of Redis alone. Another page follows, which fails without the store, so the list does not appear complete. */
function withoutStore({ tasks, next }: TaskPage, failure: unknown, query: TaskQuery): TaskPage {
  const last = tasks.at(-1);
  if (last === undefined && query.limit > 0) throw failure;
  return { tasks, next: next ?? (last ? positionOf(last, query) : null), total: null, cursorExact: false };
}

/**
 * Lists removed jobs.
 *
 * @param bound rows behind it are not needed; `null`: all are
 * @returns `end`: rows behind it were not read; `null`: there are none. `isEmpty`: nothing that was recorded matches
 */
async function listRemoved(
  reads: JobReads,
  recorded: HistoryReader,
  query: TaskQuery,
  bound: TaskPosition | null,
): Promise<Pick<TaskPage, 'tasks'> & { end: TaskPosition | null; isEmpty: boolean; cursorExact: boolean }> {
  const tasks: Task[] = [];
  let { after } = query;
  let cursorExact = true;
  for (let looked = 0; ; ) {
    const limit = Math.min(Math.max(query.limit - tasks.length, LEAST_ROWS), MOST_ROWS);
    const page = await recorded.listTasks(recordedQuery({ ...query, after, limit }), reads.context);
    cursorExact &&= page.cursorExact ?? true;
    // Their waits are shown less often than they are recorded.
    const rows = page.tasks.map(recordedJob).filter(({ task }) => passesConditions(task, query));
    const isNeeded = ({ task }: RecordedJob): boolean =>
      bound === null || comparePositions(positionOf(task, query), bound, query.order) <= 0;
    const needed = rows.filter(isNeeded);
    tasks.push(...(await removedOnes(reads, needed)));
    looked += page.tasks.length;
    const known = { tasks, isEmpty: page.total === 0, cursorExact };
    if (needed.length < rows.length) return { ...known, end: bound };
    if (page.next === null) return { ...known, end: null };
    after = page.next;
    if (tasks.length >= query.limit || looked >= query.scan) {
      return { ...known, end: { key: after.key, id: after.id } };
    }
  }
}

function positionOf(task: Task, { sort }: TaskQuery): TaskPosition {
  return { key: sortKeyOf(task, sort), id: task.id };
}

function nearest(a: TaskPosition | null, b: TaskPosition | null, order: 'asc' | 'desc'): TaskPosition | null {
  if (a === null || b === null) return a ?? b;
  return comparePositions(a, b, order) <= 0 ? a : b;
}

/** Recorded tasks have no state of the engine, and are searched as they are shown. */
function recordedQuery(query: TaskQuery): TaskQuery {
  const conditions = query.conditions.filter(({ field }) => field !== 'engineState');
  return { ...query, engineStates: [], conditions, search: (task) => query.search(rowOf(task)) };
}

function recordedJob(task: Task): RecordedJob {
  const { id, groupId = null } = task;
  return { task: rowOf(task), taskId: groupId ?? id, isLater: groupId !== null };
}

/** A recorded task as the row of a job. */
function rowOf(task: Task): Task {
  return {
    ...shown(task),
    kwargs: null,
    truncated: (task.truncated ?? []).filter((field) => field !== 'kwargs'),
  };
}

function detailOf(task: TaskDetail): TaskDetail {
  // BullMQ's workers start a job as soon as they take it.
  const timeline = task.timeline?.filter(({ state }) => state !== 'RECEIVED') ?? [];
  return { ...task, ...shown(task), timeline, options: task.kwargs };
}

function shown(task: Task): Task {
  const { retries, waitSeconds } = task;
  return {
    ...task,
    engineState: REMOVED,
    eta: null,
    groupId: null,
    waitSeconds: (retries ?? 0) > 0 ? null : (waitSeconds ?? null),
  };
}
