import type { QueueHistory } from '../../../history/aggregate/queue-history.ts';
import type { Task } from '../../../model.ts';
import { scheduler } from '../../../scheduler.ts';
import { passesFilters } from '../../../select/apply-query.ts';
import {
  type CallerFigures,
  countCallers,
  createFamilyCollector,
  type FamilyCollector,
  type SentTask,
  UNKNOWN_CALLERS,
} from '../../../select/callers.ts';
import { depthsOf } from '../../../select/queue-depths.ts';
import { figuresOf } from '../../../select/task-figures.ts';
import { createStatsAccumulator, statsWindow } from '../../../select/task-stats.ts';
import { ALL_TASKS } from '../../../source/task-query.ts';
import type { TaskQuery, TaskStats, TaskStatsQuery } from '../../../source.ts';
import { readFields } from '../access/hash-reads.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { taskIdOf } from '../access/queue-reads.ts';
import type { KeptSince } from '../activity/kept-jobs.ts';
import { ROW_BOUNDS } from '../jobs/job-hash.ts';
import { bareTask, flagConsequences, loadKnown, loadTasks } from '../jobs/job-loader.ts';
import type { KnownJob } from '../jobs/job-row.ts';
import { JOB_SETS, setsOf } from '../jobs/job-sets.ts';
import { type JobReads, removedOnes, walkRecorded } from './removed-jobs.ts';
import { queuesOf, walkOfQuery } from './task-list.ts';
import { MOST_JOBS, readTree } from './task-tree.ts';

const BATCH = 500;
/** Most failed jobs whose texts are read to find their causes. */
const MOST_FAILED = 5_000;
/** Names have no count if jobs may be missing of more than this share of the window. */
const MOST_REMOVED = 0.1;

/** How much of a window was read. Times in milliseconds since 1970. */
interface ReadWindow {
  /** Whether all present jobs were read, and all causes. */
  readonly isWhole: boolean;
  /** Of the time before this, not every job was read. */
  readonly readFrom: number;
}

/** What jobs are summed up for. */
interface Summing {
  readonly reads: JobReads;
  readonly query: TaskStatsQuery;
  readonly add: (task: Task) => void;
}

/** The data from which statistics are made, besides jobs. */
export interface StatsData {
  readonly keptSince: KeptSince;
  /** The queues over time. */
  readonly queues: QueueHistory;
}

/**
 * Answers `getTaskStats` from the jobs that last changed in the window, newest first, up to as many as one
 * answer may look at. If the window holds more, the figures are those of its newest part.
 *
 * @param recordedSince since when jobs are recorded; `null`: they are not, or not yet
 */
export async function readTaskStats(
  reads: JobReads,
  { keptSince, queues }: StatsData,
  query: TaskStatsQuery,
  recordedSince: Date | null = null,
): Promise<TaskStats> {
  const { filter } = query;
  const { rootId } = filter;
  const { access, recorded } = reads;
  let knownFrom = Number.NEGATIVE_INFINITY;
  let examinedFrom = Number.NEGATIVE_INFINITY;
  const removed = rootId === null ? await removedUntil(access, keptSince, filter, recordedSince) : NEVER;
  const { start, end } = statsWindow(query);
  const figures = createStatsAccumulator(query, {
    isWhole: (from) => from >= knownFrom,
    isExamined: (from) => from >= examinedFrom,
    // Those that a store has are counted.
    hasRemoved: (queue) =>
      recorded === null && (removed.get(queue ?? '') ?? start) > start + MOST_REMOVED * (end - start),
  });
  const family = createFamilyCollector();
  const seen = new Set<string>();
  const add = (task: Task): void => {
    seen.add(task.id);
    if (query.callers === true) family.note(task);
    if (passesFilters(task, filter)) figures.add(figuresOf(task, filter.causeOf(task)));
  };
  const summing: Summing = { reads, query, add };
  const { isWhole, readFrom } =
    rootId === null ? await eachInWindow(summing) : await eachInFlow(summing, rootId);
  examinedFrom = readFrom;
  knownFrom = Math.max(readFrom, ...removed.values());
  const isComplete = recorded === null || rootId !== null || (await eachRemoved(summing, seen, isWhole));
  const stats = await scheduler.run('stats', figures.result());
  // With a store, they are among its counts.
  const samples = recorded === null ? queues.samples(filter.queues) : [];
  const queueDepths = await scheduler.run('stats', depthsOf(samples, statsWindow(query)));
  const callers =
    query.callers === true
      ? await readCallers(access, figures.counted, family, isComplete && isWhole && readsAll(filter))
      : {};
  const known = { ...(isWhole ? stats : withMoreCauses(stats)), ...callers };
  return queueDepths.length === 0 ? known : { ...known, queueDepths };
}

/** Unread jobs may have other causes. */
function withMoreCauses(stats: TaskStats): TaskStats {
  return stats.causes === undefined ? stats : { ...stats, causesTruncated: true };
}

async function eachInFlow({ reads, query, add }: Summing, rootId: string): Promise<ReadWindow> {
  const most = Math.min(query.filter.scan, MOST_JOBS);
  const tree = await readTree(reads, rootId, { bounds: ROW_BOUNDS, most });
  for (const task of tree?.tasks ?? []) add(task);
  return { isWhole: tree?.truncated !== true, readFrom: Number.NEGATIVE_INFINITY };
}

/** Jobs may be missing that ended before these times, by the name of their queue, in milliseconds since 1970. */
async function removedUntil(
  access: QueueAccess,
  keptSince: KeptSince,
  filter: TaskQuery,
  recordedSince: Date | null,
): Promise<ReadonlyMap<string, number>> {
  const kept = await keptSince(access, await queuesOf(access, filter), filter.names);
  const recorded = recordedSince?.getTime() ?? Number.POSITIVE_INFINITY;
  return new Map([...kept].map(([queue, time]) => [queue, Math.min(time, recorded)]));
}

const NEVER: ReadonlyMap<string, number> = new Map();

/**
 * Adds the removed jobs of the window.
 *
 * @param known jobs that were read from Redis
 * @param isWhole whether that is all of them
 * @returns whether all were added
 */
async function eachRemoved(
  { reads, query, add }: Summing,
  known: ReadonlySet<string>,
  isWhole: boolean,
): Promise<boolean> {
  const { now, filter, callers } = query;
  const { after, sort, order } = ALL_TASKS;
  const until = filter.until ?? new Date(now.getTime() + 1);
  // Children have other names.
  const names = callers === true ? [] : filter.names;
  const window = { ...filter, after, sort, order, names, since: new Date(windowStart(query)), until };
  let left = filter.scan;
  for await (const rows of walkRecorded(reads, window, filter.scan)) {
    left -= rows.length;
    const others = rows.filter(({ task }) => !known.has(task.id));
    // If all jobs of the window have been read, the others are gone.
    const gone = isWhole ? others.map(({ task }) => task) : await removedOnes(reads, others);
    for (const task of gone) add(task);
  }
  return left > 0;
}

/** Since when a job must have changed, in milliseconds. */
function windowStart({ minutes, now, filter }: TaskStatsQuery): number {
  return Math.max(now.getTime() - minutes * 60_000, filter.since?.getTime() ?? Number.NEGATIVE_INFINITY);
}

/** Reads the jobs in Redis that last changed in the window, newest first, and a few others. */
async function eachInWindow({ reads: { access }, query, add }: Summing): Promise<ReadWindow> {
  const { now, filter } = query;
  const until = filter.until ?? new Date(now.getTime() + 1);
  const window = { ...filter, since: new Date(windowStart(query)), until };
  const plan = { order: 'desc', after: null, withTexts: false, large: 'all' } as const;
  const walk = await walkOfQuery(access, window, plan);
  let failedLeft = MOST_FAILED;
  let reached = now.getTime();
  for (let left = filter.scan; left > 0; ) {
    const rows = await walk.next(Math.min(BATCH, left));
    if (rows.length === 0) return { isWhole: failedLeft >= 0, readFrom: Number.NEGATIVE_INFINITY };
    left -= rows.length;
    const jobs = await loadKnown(access, rows, false);
    reached = jobs.findLast(({ time }) => time !== null)?.time ?? reached;
    const { tasks, failed } = await tasksOf(access, jobs, query, Math.max(0, failedLeft));
    failedLeft -= failed;
    for (const task of tasks) add(task);
  }
  const hasMore = await walk.hasMore();
  const readFrom = hasMore ? reached : Number.NEGATIVE_INFINITY;
  return { isWhole: failedLeft >= 0 && !hasMore, readFrom };
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
): Promise<{ readonly tasks: readonly Task[]; readonly failed: number }> {
  if (filter.q !== null) {
    return { tasks: await loadTasks(access, jobs, ROW_BOUNDS), failed: 0 };
  }
  const failed = causes === 0 ? [] : jobs.filter(({ set }) => set.part === 'failed');
  const shown = new Set(failed.slice(0, most));
  const others = jobs.filter((job) => !shown.has(job));
  const bare = others.map((job) => bareTask(access, job, now.getTime()));
  const [loaded, flagged] = await Promise.all([
    loadTasks(access, [...shown], ROW_BOUNDS),
    flagConsequences(access, others, bare),
  ]);
  return { tasks: [...flagged, ...loaded], failed: failed.length };
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
async function readCallers(
  access: QueueAccess,
  jobs: readonly SentTask[],
  seen: FamilyCollector,
  isWhole: boolean,
): Promise<CallerFigures> {
  const parents = new Set(jobs.flatMap(({ parentId }) => parentId ?? []));
  const unseen = [...parents].filter((id) => !seen.has(id));
  if (unseen.length > MOST_PARENTS) return UNKNOWN_CALLERS;
  await readNames(access, unseen, seen);
  const figures = await scheduler.run('stats', countCallers(jobs, seen));
  return isWhole ? figures : { ...figures, callees: null };
}

/** For only some queues or states, not all children are read. */
function readsAll(filter: TaskQuery): boolean {
  return filter.queues.length === 0 && setsOf(filter).length === JOB_SETS.length;
}

async function readNames(access: QueueAccess, ids: readonly string[], names: FamilyCollector): Promise<void> {
  for (let at = 0; at < ids.length; at += PARENTS_AT_ONCE) {
    const found = await access.find(ids.slice(at, at + PARENTS_AT_ONCE));
    const jobs = found.filter((job) => job !== null);
    const replies = await readFields(access, jobs, ['name']);
    for (const [index, { queue, id }] of jobs.entries()) {
      names.note({ id: taskIdOf(queue.name, id), name: replies[index]?.[0] ?? null });
    }
  }
}
