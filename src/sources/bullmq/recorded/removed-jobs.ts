/** The jobs that have been recorded and are no longer in Redis. */
import type { HistoryReader } from '../../../history/history.ts';
import type { Task, TaskDetail } from '../../../model.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import { asNumber } from '../../../redis/replies.ts';
import { passesConditions } from '../../../select/task-conditions.ts';
import { comparePositions, sortKeyOf } from '../../../select/task-order.ts';
import { ALL_TASKS } from '../../../source/task-query.ts';
import type { ReadContext, TaskPage, TaskPosition, TaskQuery } from '../../../source.ts';
import { type QueueAccess, readFields } from '../access/queue-access.ts';
import { type JobRef, splitTaskId } from '../access/queue-reads.ts';
import { latestLife } from './recorded-lives.ts';

/** Their `engineState`. */
export const REMOVED = 'removed';

/** A part of their list. */
export interface RemovedRows {
  readonly tasks: readonly Task[];
  /** Others may follow behind the bound or behind {@link RemovedRows.reached}. */
  readonly hasMore: boolean;
  /** Where the search was given up before the bound; `null`: it was not. */
  readonly reached: TaskPosition | null;
  /** Nothing that was recorded matches. */
  readonly isEmpty: boolean;
  readonly cursorExact: boolean;
  /** Why they could not be read; `undefined`: they could. */
  readonly failure?: unknown;
}

/** Reads of removed jobs. All but the list reject when the store is needed and cannot be read. */
export interface RemovedJobs {
  /**
   * Their list behind a position.
   *
   * @param bound rows behind it are not needed; `null`: all are
   */
  list(query: TaskQuery, bound: TaskPosition | null, context: ReadContext): Promise<RemovedRows>;
  /** One of them, by the id of its row. The task id of the job means the latest one that had it. */
  find(id: string, context: ReadContext): Promise<TaskDetail | null>;
  /** All recorded jobs that match, including those still in Redis, `most` at most. */
  recorded(query: TaskQuery, most: number, context: ReadContext): AsyncIterable<readonly RecordedJob[]>;
  /** The rows that are no longer in Redis. Each takes one command. */
  gone(rows: readonly RecordedJob[], options: ReadOptions): Promise<readonly Task[]>;
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

/** Recorded rows that are read at once. */
const LEAST_ROWS = 10;
const MOST_ROWS = 500;

export function createRemovedJobs(access: QueueAccess, reader: HistoryReader): RemovedJobs {
  const removed: RemovedJobs = {
    list: (query, bound, context) => listRemoved(removed, reader, query, bound, context),
    async find(id, context) {
      const life = await latestLife(reader, id, context);
      const task = await reader.getTask(life?.id ?? id, context);
      return task && { ...detailOf(task), id };
    },
    recorded: (query, most, context) => walkRecorded(reader, query, most, context),
    async gone(rows, options) {
      const queues = new Map((await access.queues(options)).map((queue) => [queue.name, queue]));
      const refs = rows.map(({ taskId }): JobRef | null => {
        const parts = splitTaskId(taskId);
        const queue = parts === null ? undefined : queues.get(parts.queue);
        return parts === null || queue === undefined ? null : { queue, id: parts.jobId };
      });
      const asked = refs.filter((ref) => ref !== null);
      const replies = await readFields(access, asked, ['timestamp'], options);
      let next = 0;
      return rows.flatMap(({ task, isLater }, index) => {
        const [added = null] = refs[index] === null ? [] : (replies[next++] ?? []);
        if (added === null) return [task];
        // Ids must be unique: the job itself has the id of the first life.
        return isLater && asNumber(added) !== task.sent?.getTime() ? [task] : [];
      });
    },
  };
  return removed;
}

async function listRemoved(
  removed: RemovedJobs,
  reader: HistoryReader,
  query: TaskQuery,
  bound: TaskPosition | null,
  context: ReadContext,
): Promise<RemovedRows> {
  const tasks: Task[] = [];
  let { after } = query;
  let cursorExact = true;
  for (let looked = 0; ; ) {
    const limit = Math.min(Math.max(query.limit - tasks.length, LEAST_ROWS), MOST_ROWS);
    const page = await listRecorded(reader, { ...query, after, limit }, context);
    if ('failure' in page) {
      return { tasks: [], hasMore: true, reached: null, isEmpty: false, cursorExact: false, ...page };
    }
    cursorExact &&= page.cursorExact ?? true;
    const listed = page.tasks.map((task) => recordedJob(task));
    // Their waits are shown less often than they are recorded.
    const rows = listed.filter(({ task }) => passesConditions(task, query));
    const behind = rows.findIndex(({ task }) => bound !== null && isBehind(task, bound, query));
    tasks.push(...(await removed.gone(behind < 0 ? rows : rows.slice(0, behind), context)));
    looked += listed.length;
    const isEmpty = page.total === 0;
    const known = { tasks, isEmpty, cursorExact };
    if (behind >= 0) return { ...known, hasMore: true, reached: null };
    if (page.next === null) return { ...known, hasMore: false, reached: null };
    if (tasks.length >= query.limit) return { ...known, hasMore: true, reached: null };
    after = page.next;
    if (looked >= query.scan) return { ...known, hasMore: true, reached: after };
  }
}

/** Without the store, the jobs in Redis are still listed. */
async function listRecorded(
  reader: HistoryReader,
  query: TaskQuery,
  context: ReadContext,
): Promise<TaskPage | { readonly failure: unknown }> {
  try {
    return await reader.listTasks(recordedQuery(query), context);
  } catch (failure) {
    context.signal.throwIfAborted();
    return { failure };
  }
}

function isBehind(task: Task, bound: TaskPosition, { sort, order }: TaskQuery): boolean {
  return comparePositions({ key: sortKeyOf(task, sort), id: task.id }, bound, order) > 0;
}

async function* walkRecorded(
  reader: HistoryReader,
  query: TaskQuery,
  most: number,
  context: ReadContext,
): AsyncGenerator<readonly RecordedJob[], void, undefined> {
  let { after } = query;
  for (let left = most; left > 0; ) {
    const page = await reader.listTasks(
      recordedQuery({ ...query, after, limit: Math.min(left, MOST_ROWS) }),
      context,
    );
    yield page.tasks.map((task) => recordedJob(task));
    if (page.next === null) return;
    after = page.next;
    left -= page.tasks.length;
  }
}

/** Recorded tasks have no state of the engine, and are searched as they are shown. */
function recordedQuery(query: TaskQuery): TaskQuery {
  const conditions = query.conditions.filter(({ field }) => field !== 'engineState');
  return { ...query, engineStates: [], conditions, search: (task) => query.search(rowOf(task)) };
}

/** Selects all recorded jobs of a flow. */
export function flowQuery(rootId: string): TaskQuery {
  return { ...ALL_TASKS, rootId, limit: MOST_ROWS, scan: MOST_ROWS };
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
