/** Running tasks, for the list of workers. */

import type { JudgedQueue, Known } from '../findings/finding.ts';
import { type JudgedTask, judgeRunning, type RunningTasks } from '../findings/judge-running.ts';
import type { Monitor } from '../http/monitor.ts';
import type { Task } from '../model.ts';
import type { Steps } from '../scheduler.ts';
import { shareCalls } from '../single-flight.ts';
import { ALL_TASKS } from '../source/task-query.ts';
import type { Activity, TaskQuery, TaskSource } from '../source.ts';
import { addTo } from '../values.ts';
import type { TaskBody, UnassignedTasksBody, WorkerBody, WorkersBody } from '../wire.ts';
import {
  type Parts,
  partsByName,
  readActivity,
  readPart,
  readQueues,
  rowsOf,
  type SourceReads,
  shownOf,
} from './situation.ts';

/** How long running tasks are reused, in milliseconds: a source is read once in this time, whatever the load. */
export const RUNNING_HOLD_MS = 1_000;
/** Maximum number of rows that are read for the arguments of running tasks. */
const MOST_ROWS = 1_000;
/** Shares of an answer's time limit: a slow source must not hide the workers. */
const SHARE_OF_ACTIVITY = 0.6;
const SHARE_OF_ROWS = 0.3;

/** What one source reports about running tasks. */
interface SourceRunning {
  readonly activity: Known<Activity>;
  readonly queues: Known<readonly JudgedQueue[]>;
  /** By id, as lists show them. */
  readonly rows: ReadonlyMap<string, TaskBody>;
}

/** By the name of the source. */
export type RunningBySource = ReadonlyMap<string, SourceRunning>;

/** Creates the reader of the running tasks of all sources. It never rejects: what cannot be read is unknown. */
export function createRunningReader(monitor: Monitor): () => Promise<RunningBySource> {
  const readers = [...partsByName(monitor.sources)].map(([name, parts]) => ({
    name,
    read: shareCalls(() => readRunning(monitor, name, parts), RUNNING_HOLD_MS),
  }));
  return async () =>
    new Map(await Promise.all(readers.map(async ({ name, read }) => [name, await read()] as const)));
}

async function readRunning(monitor: Monitor, name: string, parts: Parts): Promise<SourceRunning> {
  const { timeoutMs } = monitor.options;
  const reads: SourceReads = {
    monitor,
    name,
    failures: [],
    key: 'running',
    timeoutMs: Math.floor(timeoutMs * SHARE_OF_ACTIVITY),
  };
  const [activity, queues] = await Promise.all([
    readActivity(reads, parts.experimental),
    readQueues(reads, parts.queues),
  ]);
  const rows = await readRows(
    { ...reads, timeoutMs: Math.floor(timeoutMs * SHARE_OF_ROWS) },
    parts.tasks,
    activity,
  );
  return { activity, queues: shownOf(queues), rows };
}

/** Running tasks as lists show them, without secrets. */
async function readRows(
  reads: SourceReads,
  part: TaskSource | undefined,
  activity: Known<Activity>,
): Promise<ReadonlyMap<string, TaskBody>> {
  const running = activity?.open.running ?? [];
  const { options, serializer } = reads.monitor;
  if (running.length === 0) return new Map();
  // Called inside `readPart`, which reports errors: these may be a host's data.
  const query = (): TaskQuery => ({
    ...ALL_TASKS,
    limit: Math.min(MOST_ROWS, options.limits.page),
    scan: options.limits.scan,
    states: [...new Set(running.map(({ state = 'STARTED' }) => state))],
    sort: 'started',
    order: 'asc',
  });
  const rows = await readPart(
    reads,
    part,
    'listTasks',
    (one, context) => one.listTasks(query(), context),
    (page) => rowsOf(reads, page.tasks, (task: Task) => serializer.taskRow(task, reads.name), MOST_ROWS),
  );
  return new Map((rows?.shown ?? []).map((row) => [row.task_id, row]));
}

/**
 * Workers with their running tasks, and running tasks without a worker.
 *
 * @param most maximum number of tasks per worker
 * @param now milliseconds since 1970
 */
export function* addRunning(
  monitor: Monitor,
  workers: readonly WorkerBody[],
  bySource: RunningBySource,
  most: number,
  now: number,
): Steps<Required<Pick<WorkersBody, 'workers' | 'unassigned'>>> {
  const shown: WorkerBody[] = [];
  const unassigned: UnassignedTasksBody[] = [];
  for (const [source, known] of bySource) {
    const own = workers.filter((worker) => worker.source === source);
    const running = yield* judge(monitor, source, known, own, now);
    const byWorker = groupByWorker(running);
    const list = (tasks: readonly JudgedTask[]): TaskList => ({
      running: tasks.slice(0, most).flatMap((judged) => {
        const row = known.rows.get(judged.task.id) ?? null;
        return monitor.serializer.runningTask(judged, row) ?? [];
      }),
      running_total: running?.isWhole ? tasks.length : null,
    });
    for (const worker of own) {
      shown.push(withRunning(worker, list(byWorker.get(worker.hostname) ?? []), running));
      byWorker.delete(worker.hostname);
      yield;
    }
    const others = [...byWorker.values()].flat().sort((a, b) => a.task.startedAt - b.task.startedAt);
    if (others.length > 0) unassigned.push({ source, ...list(others) });
    yield;
  }
  return { workers: shown, unassigned };
}

/** `null`: unknown, because the source does not report it, or its report is invalid. */
function* judge(
  monitor: Monitor,
  source: string,
  { activity, queues }: SourceRunning,
  workers: readonly WorkerBody[],
  now: number,
): Steps<RunningTasks | null> {
  try {
    return yield* judgeRunning({ activity, queues, workers }, now);
  } catch (error) {
    monitor.report(error, { code: 'source_invalid', source, call: 'getActivity' });
    return null;
  }
}

type TaskList = Pick<UnassignedTasksBody, 'running' | 'running_total'>;

/** An empty list that may be incomplete is shown as unknown. */
function withRunning(worker: WorkerBody, list: TaskList, running: RunningTasks | null): WorkerBody {
  const isUnknown = list.running.length === 0 && list.running_total === null;
  const isJudged = running?.judgesWorkers === true && worker.concurrency !== null;
  return {
    ...worker,
    running: isUnknown ? null : list.running,
    running_total: list.running_total,
    stuck: isJudged ? running.stuckWorkers.has(worker.hostname) : null,
  };
}

function groupByWorker(running: RunningTasks | null): Map<string | null, JudgedTask[]> {
  const groups = new Map<string | null, JudgedTask[]>();
  for (const judged of running?.tasks ?? []) addTo(groups, judged.task.worker, judged);
  return groups;
}
