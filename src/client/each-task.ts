/** Reads a whole list of tasks while they change. */
import type { TaskBody, TasksBody } from '../wire.ts';
import { MonitorClientError } from './request.ts';

/** Parameters of `tasks()`, which are those of `/api/tasks/`. */
export interface TaskListQuery {
  readonly limit?: number;
  readonly cursor?: string | null;
  readonly state?: string | readonly string[];
  readonly engine_state?: string | readonly string[];
  readonly name?: string | readonly string[];
  readonly worker?: string | readonly string[];
  readonly queue?: string | readonly string[];
  readonly cause?: string | readonly string[];
  readonly root_id?: string;
  readonly parent_id?: string;
  readonly group_id?: string;
  /** All of these texts must match. This and the following members up to `since` may have 20 values in all. */
  readonly q?: string | readonly string[];
  /** None of these texts may match. */
  readonly not_q?: string | readonly string[];
  readonly source?: string | readonly string[];
  readonly task_id?: string | readonly string[];
  /** A prefix, like all `…_prefix`. With `task_id`, either may match; the same applies to the others. */
  readonly task_id_prefix?: string | readonly string[];
  readonly name_prefix?: string | readonly string[];
  readonly worker_prefix?: string | readonly string[];
  readonly queue_prefix?: string | readonly string[];
  readonly not_state?: string | readonly string[];
  readonly not_engine_state?: string | readonly string[];
  readonly not_name?: string | readonly string[];
  readonly not_name_prefix?: string | readonly string[];
  readonly not_worker?: string | readonly string[];
  readonly not_worker_prefix?: string | readonly string[];
  readonly not_queue?: string | readonly string[];
  readonly not_queue_prefix?: string | readonly string[];
  readonly not_cause?: string | readonly string[];
  readonly not_source?: string | readonly string[];
  readonly not_task_id?: string | readonly string[];
  readonly not_task_id_prefix?: string | readonly string[];
  /** Seconds. A task without a run time is in no range. */
  readonly runtime_gt?: number;
  readonly runtime_gte?: number;
  readonly runtime_lt?: number;
  readonly runtime_lte?: number;
  /** Seconds. */
  readonly wait_gt?: number;
  readonly wait_gte?: number;
  readonly wait_lt?: number;
  readonly wait_lte?: number;
  readonly retries_gt?: number;
  readonly retries_gte?: number;
  readonly retries_lt?: number;
  readonly retries_lte?: number;
  readonly since?: string | Date;
  readonly until?: string | Date;
  readonly sort?: 'timestamp' | 'received' | 'started' | 'finished' | 'runtime' | 'name' | 'state';
  readonly order?: 'asc' | 'desc';
  /** Length of the statistics in minutes, at most 129,600. Adds `stats` to the answer. */
  readonly stats?: number;
  /** Length of one step of the statistics in seconds, a multiple of 60. Default: a suitable length. */
  readonly stats_step?: number;
  /** End of the statistics' window. Default: now. */
  readonly stats_until?: string | Date;
  /** Adds percentiles to each step of the statistics, and histograms. Default: false. */
  readonly stats_percentiles?: boolean;
  /** Adds which tasks sent the tasks of the single `name`, and which tasks these sent. Default: false. */
  readonly stats_callers?: boolean;
  /** Adds up to this number of failure causes to the statistics, at most 1,000. */
  readonly stats_causes?: number;
}

/** How late the monitor may learn of a change, in milliseconds. */
const LATENESS_MS = 10_000;
/** Maximum number of passes: a walk has to end even if tasks arrive all the time. */
const MOST_PASSES = 20;
/** Maximum number of restarts. During an upgrade, instances may issue cursors that others do not know. */
const MOST_RESTARTS = 5;

/**
 * All tasks of a list, each once. A task that changes moves to the front of the list, before the current page. After
 * the last page, tasks changed since the first one are therefore read again, until this finds no new task.
 */
export async function* eachTask(
  readPage: (query: TaskListQuery) => Promise<TasksBody>,
  query: TaskListQuery,
): AsyncGenerator<TaskBody> {
  const seen = new Set<string>();
  const asked = timeOf(query.since) ?? Number.NEGATIVE_INFINITY;
  const until = timeOf(query.until) ?? Number.POSITIVE_INFINITY;
  let since: number | null = null;
  let begunAt: number | null = null;
  for (let pass = 0; pass < MOST_PASSES; pass += 1) {
    let next: number | null = null;
    let hasMissed = pass === 0;
    let isExact = true;
    const part: TaskListQuery =
      since === null ? query : { ...query, since: new Date(Math.max(since, asked)) };
    for await (const page of pagesOf(readPage, part)) {
      next ??= Date.parse(page.generated_at) - LATENESS_MS;
      begunAt ??= Date.parse(page.generated_at);
      isExact &&= page.cursor_exact;
      for (const task of page.tasks) {
        const key = JSON.stringify([task.source, task.task_id]);
        // Another instance of the monitor repeats tasks that the previous one has listed.
        if (seen.has(key)) continue;
        seen.add(key);
        // A task that was sent later was not missed: such tasks may arrive without end.
        if (task.sent === null || Date.parse(task.sent) < begunAt) hasMissed = true;
        yield task;
      }
    }
    // What an inexact walk has missed may be anywhere in the list.
    since = isExact ? next : null;
    if (!hasMissed || (next ?? until) >= until) return;
  }
}

/** The pages of a list. If its cursor has expired, because the monitor was upgraded, it is read again from its start. */
async function* pagesOf(
  readPage: (query: TaskListQuery) => Promise<TasksBody>,
  query: TaskListQuery,
): AsyncGenerator<TasksBody> {
  let cursor: string | null = null;
  let restarts = 0;
  for (;;) {
    const page: TasksBody | null = await readPage({ ...query, cursor }).catch((error: unknown) => {
      const isExpired = error instanceof MonitorClientError && error.code === 'cursor_expired';
      if (isExpired && cursor !== null && restarts < MOST_RESTARTS) return null;
      throw error;
    });
    cursor = page?.next_cursor ?? null;
    if (page === null) restarts += 1;
    else yield page;
    if (page !== null && cursor === null) return;
  }
}

/** Milliseconds since 1970; `null` for none. */
function timeOf(time: string | Date | undefined): number | null {
  if (time === undefined) return null;
  const text = String(time);
  const parsed = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1_000 : new Date(time).getTime();
  return Number.isNaN(parsed) ? null : parsed;
}
