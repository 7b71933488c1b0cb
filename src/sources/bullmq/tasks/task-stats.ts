import type { QueueHistory } from '../../../history/aggregate/queue-history.ts';
import type { Task } from '../../../model.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import { scheduler } from '../../../scheduler.ts';
import {
  type CallerFigures,
  countCallers,
  createFamilyCollector,
  type FamilyCollector,
  type SentTask,
  UNKNOWN_CALLERS,
} from '../../../select/callers.ts';
import { depthsOf } from '../../../select/queue-depths.ts';
import { statsWindow } from '../../../select/stats-steps.ts';
import { figuresOf } from '../../../select/task-figures.ts';
import { passesFilters } from '../../../select/task-filter.ts';
import { createStatsAccumulator } from '../../../select/task-stats.ts';
import type { TaskStats, TaskStatsQuery } from '../../../source.ts';
import { type QueueAccess, readFields } from '../access/queue-access.ts';
import { splitTaskId } from '../access/queue-reads.ts';
import { flagConsequences } from '../jobs/consequences.ts';
import { bareTask, loadKnown, loadTasks } from '../jobs/job-loader.ts';
import type { KnownJob } from '../jobs/job-row.ts';
import { JOB_SETS, setsOf } from '../jobs/job-sets.ts';
import { ROW_BOUNDS } from '../jobs/job-values.ts';
import { createWalk } from '../walk/walk.ts';
import type { KeptSince } from './kept-since.ts';
import { MOST_JOBS, readFlow } from './task-tree.ts';

const BATCH = 500;
/** Most failed jobs whose texts are read to find their causes. */
const MOST_FAILED = 5_000;

/** How much of a window was read. Times in milliseconds since 1970. */
interface ReadWindow {
  /** Whether all present jobs were read, and all causes. */
  readonly isWhole: boolean;
  /** Of the time before this, not every job was read. */
  readonly readFrom: number;
  /** Of the time before this, jobs may have been removed. */
  readonly keptFrom: number;
}

/** How jobs are read, and which of them were removed. */
export interface JobReads {
  readonly access: QueueAccess;
  readonly keptSince: KeptSince;
}

/** The data from which statistics are made. */
export interface StatsReads extends JobReads {
  /** The queues over time. */
  readonly queues: QueueHistory;
}

/**
 * Answers `getTaskStats` from the jobs that last changed in the window, newest first, up to as many as one
 * answer may look at. If the window holds more, the figures are those of its newest part.
 */
export async function readTaskStats(
  reads: StatsReads,
  query: TaskStatsQuery,
  options: ReadOptions,
): Promise<TaskStats> {
  const { filter } = query;
  const { access, queues } = reads;
  let knownFrom = Number.NEGATIVE_INFINITY;
  let examinedFrom = Number.NEGATIVE_INFINITY;
  const figures = createStatsAccumulator(query, {
    isWhole: (from) => from >= knownFrom,
    isExamined: (from) => from >= examinedFrom,
  });
  const family = createFamilyCollector();
  const { isWhole, readFrom, keptFrom } = await eachTask(reads, query, options, (task) => {
    if (query.callers === true) family.note(task);
    if (passesFilters(task, filter)) figures.add(figuresOf(task, filter.causeOf(task)));
  });
  examinedFrom = readFrom;
  knownFrom = Math.max(readFrom, keptFrom);
  const stats = await scheduler.run('stats', figures.result());
  const samples = queues.samples(query.filter.queues);
  const queueDepths = await scheduler.run('stats', depthsOf(samples, statsWindow(query)));
  const callers =
    query.callers === true ? await readCallers(access, query, figures.counted, family, isWhole, options) : {};
  const known = { ...(isWhole ? stats : withMoreCauses(stats)), ...callers };
  return queueDepths.length === 0 ? known : { ...known, queueDepths };
}

/** Unread jobs may have other causes. */
export function withMoreCauses(stats: TaskStats): TaskStats {
  return stats.causes === undefined ? stats : { ...stats, causesTruncated: true };
}

/** Reads the jobs in Redis that last changed in the window, newest first, and a few others. */
export async function eachTask(
  reads: JobReads,
  query: TaskStatsQuery,
  options: ReadOptions,
  add: (task: Task) => void,
): Promise<ReadWindow> {
  const { filter } = query;
  const { access } = reads;
  if (filter.rootId === null) return eachInWindow(reads, query, options, add);
  const root = await access.find(filter.rootId, options);
  const flow = root === null ? null : await readFlow(access, root, Math.min(filter.scan, MOST_JOBS), options);
  const { tasks } = await tasksOf(access, flow?.jobs ?? [], query, MOST_FAILED, options);
  for (const task of tasks) add(task);
  return { isWhole: flow?.isCut !== true, ...SINCE_EVER };
}

const SINCE_EVER = { readFrom: Number.NEGATIVE_INFINITY, keptFrom: Number.NEGATIVE_INFINITY };

/** Since when a job must have changed, in milliseconds. */
export function windowStart({ minutes, now, filter }: TaskStatsQuery): number {
  return Math.max(now.getTime() - minutes * 60_000, filter.since?.getTime() ?? Number.NEGATIVE_INFINITY);
}

async function eachInWindow(
  { access, keptSince }: JobReads,
  query: TaskStatsQuery,
  options: ReadOptions,
  add: (task: Task) => void,
): Promise<ReadWindow> {
  const { now, filter } = query;
  const all = await access.queues(options);
  const queues = filter.queues.length === 0 ? all : all.filter(({ name }) => filter.queues.includes(name));
  const keptFrom = await keptSince(queues, filter.names, options);
  const walk = await createWalk(
    access,
    {
      queues,
      sets: setsOf(filter),
      engineStates: filter.engineStates,
      order: 'desc',
      after: null,
      since: windowStart(query),
      until: filter.until?.getTime() ?? now.getTime() + 1,
      withTexts: false,
    },
    options,
  );
  let failedLeft = MOST_FAILED;
  let reached = now.getTime();
  for (let left = filter.scan; left > 0; ) {
    const rows = await walk.next(Math.min(BATCH, left));
    if (rows.length === 0) return { isWhole: failedLeft >= 0, readFrom: Number.NEGATIVE_INFINITY, keptFrom };
    left -= rows.length;
    const jobs = await loadKnown(access, rows, false, options);
    reached = jobs.findLast(({ time }) => time !== null)?.time ?? reached;
    const { tasks, failed } = await tasksOf(access, jobs, query, Math.max(0, failedLeft), options);
    failedLeft -= failed;
    for (const task of tasks) add(task);
  }
  const hasMore = await walk.hasMore();
  const readFrom = hasMore ? reached : Number.NEGATIVE_INFINITY;
  return { isWhole: failedLeft >= 0 && !hasMore, readFrom, keptFrom };
}

/**
 * Roots and values are read only if a filter or causes need them.
 *
 * @param most failed jobs whose texts are read for causes
 * @returns the tasks, and the number of failed jobs whose causes were requested
 */
async function tasksOf(
  access: QueueAccess,
  jobs: readonly KnownJob[],
  { filter, now, causes = 0 }: TaskStatsQuery,
  most: number,
  options: ReadOptions,
): Promise<{ readonly tasks: readonly Task[]; readonly failed: number }> {
  if (filter.rootId !== null || filter.q !== null) {
    const loaded = await loadTasks(access, jobs, ROW_BOUNDS, options);
    return { tasks: loaded.map(({ task }) => task), failed: 0 };
  }
  const failed = causes === 0 ? [] : jobs.filter(({ set }) => set.part === 'failed');
  const shown = new Set(failed.slice(0, most));
  const others = jobs.filter((job) => !shown.has(job));
  const bare = others.map((job) => bareTask(access, job, now.getTime()));
  const [loaded, flagged] = await Promise.all([
    loadTasks(access, [...shown], ROW_BOUNDS, options),
    flagConsequences(access, others, bare, options),
  ]);
  return { tasks: [...flagged, ...loaded.map(({ task }) => task)], failed: failed.length };
}

/** Most parents whose names are read, and how many at once. */
const MOST_PARENTS = 5_000;
const PARENTS_AT_ONCE = 500;

/**
 * Parents and children of jobs, by name. Children are those that were seen: they end before their parent does, most of
 * them in the same window.
 *
 * @param jobs those that are summed up
 * @param seen the jobs of the window that were read
 * @param isWhole whether that is all of it
 */
export async function readCallers(
  access: QueueAccess,
  { filter }: TaskStatsQuery,
  jobs: readonly SentTask[],
  seen: FamilyCollector,
  isWhole: boolean,
  options: ReadOptions,
): Promise<CallerFigures> {
  const parents = new Set(jobs.flatMap(({ parentId }) => parentId ?? []));
  const unseen = [...parents].filter((id) => !seen.has(id));
  if (unseen.length > MOST_PARENTS) return UNKNOWN_CALLERS;
  await readNames(access, unseen, seen, options);
  const figures = await scheduler.run('stats', countCallers(jobs, seen));
  // For only some queues or states, not all children are read.
  const isComplete = isWhole && filter.queues.length === 0 && setsOf(filter).length === JOB_SETS.length;
  return isComplete ? figures : { ...figures, callees: null };
}

async function readNames(
  access: QueueAccess,
  ids: readonly string[],
  names: FamilyCollector,
  options: ReadOptions,
): Promise<void> {
  const queues = new Map((await access.queues(options)).map((queue) => [queue.name, queue]));
  for (let at = 0; at < ids.length; at += PARENTS_AT_ONCE) {
    const jobs = ids.slice(at, at + PARENTS_AT_ONCE).flatMap((taskId) => {
      const parts = splitTaskId(taskId);
      const queue = queues.get(parts?.queue ?? '');
      return parts === null || queue === undefined ? [] : { taskId, queue, id: parts.jobId };
    });
    const replies = await readFields(access, jobs, ['name'], options);
    for (const [index, { taskId }] of jobs.entries()) {
      names.note({ id: taskId, name: replies[index]?.[0] ?? null });
    }
  }
}
