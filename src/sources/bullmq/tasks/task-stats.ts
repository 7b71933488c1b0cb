import type { QueueHistory } from '../../../history/aggregate/queue-history.ts';
import type { Task } from '../../../model.ts';
import { asCount, asScored } from '../../../redis/replies.ts';
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
import { ALL_TASKS } from '../../../source/task-query.ts';
import type { TaskStats, TaskStatsQuery } from '../../../source.ts';
import { type QueueAccess, readFields, readPer } from '../access/queue-access.ts';
import { keyCommand, type QueueRef, taskIdOf } from '../access/queue-reads.ts';
import type { EndedJob, EndedJobs } from '../activity/count-events.ts';
import { readQueueFigures } from '../components/queue-figures.ts';
import { bareTask, flagConsequences, loadKnown, loadTasks } from '../jobs/job-loader.ts';
import type { KnownJob } from '../jobs/job-row.ts';
import { JOB_SETS, setsOf } from '../jobs/job-sets.ts';
import { ROW_BOUNDS } from '../jobs/job-values.ts';
import { createWalk } from '../walk/walk.ts';
import { type JobReads, removedOnes, walkRecorded } from './removed-jobs.ts';
import { MOST_JOBS, readTree } from './task-tree.ts';

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
  const { access, recorded } = reads;
  let knownFrom = Number.NEGATIVE_INFINITY;
  let examinedFrom = Number.NEGATIVE_INFINITY;
  const figures = createStatsAccumulator(query, {
    isWhole: (from) => from >= knownFrom,
    isExamined: (from) => from >= examinedFrom,
  });
  const family = createFamilyCollector();
  const seen = new Set<string>();
  const add = (task: Task): void => {
    seen.add(task.id);
    if (query.callers === true) family.note(task);
    if (passesFilters(task, filter)) figures.add(figuresOf(task, filter.causeOf(task)));
  };
  const { rootId } = filter;
  const { isWhole, readFrom, keptFrom } =
    rootId === null
      ? await eachInWindow(access, keptSince, query, add)
      : await eachInFlow(reads, rootId, query, add);
  examinedFrom = readFrom;
  knownFrom = Math.max(readFrom, Math.min(keptFrom, recordedSince?.getTime() ?? keptFrom));
  const isComplete =
    recorded === null || rootId !== null || (await eachRemoved(reads, query, seen, isWhole, add));
  const stats = await scheduler.run('stats', figures.result());
  // With a store, they are among its counts.
  const samples = recorded === null ? queues.samples(filter.queues) : [];
  const queueDepths = await scheduler.run('stats', depthsOf(samples, statsWindow(query)));
  const callers =
    query.callers === true
      ? await readCallers(access, query, figures.counted, family, isWhole && isComplete)
      : {};
  const known = { ...(isWhole ? stats : withMoreCauses(stats)), ...callers };
  return queueDepths.length === 0 ? known : { ...known, queueDepths };
}

/** Unread jobs may have other causes. */
function withMoreCauses(stats: TaskStats): TaskStats {
  return stats.causes === undefined ? stats : { ...stats, causesTruncated: true };
}

async function eachInFlow(
  reads: JobReads,
  rootId: string,
  { filter }: TaskStatsQuery,
  add: (task: Task) => void,
): Promise<ReadWindow> {
  const most = Math.min(filter.scan, MOST_JOBS);
  const tree = await readTree(reads, rootId, { bounds: ROW_BOUNDS, most });
  for (const task of tree?.tasks ?? []) add(task);
  return { isWhole: tree?.truncated !== true, ...SINCE_EVER };
}

const SINCE_EVER = { readFrom: Number.NEGATIVE_INFINITY, keptFrom: Number.NEGATIVE_INFINITY };

/**
 * Adds the removed jobs of the window.
 *
 * @param known jobs that were read from Redis
 * @param isWhole whether that is all of them
 * @returns whether all were added
 */
async function eachRemoved(
  reads: JobReads,
  query: TaskStatsQuery,
  known: ReadonlySet<string>,
  isWhole: boolean,
  add: (task: Task) => void,
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
async function eachInWindow(
  access: QueueAccess,
  keptSince: KeptSince,
  query: TaskStatsQuery,
  add: (task: Task) => void,
): Promise<ReadWindow> {
  const { now, filter } = query;
  const all = await access.queues();
  const queues = filter.queues.length === 0 ? all : all.filter(({ name }) => filter.queues.includes(name));
  const keptFrom = await keptSince(access, queues, filter.names);
  const walk = await createWalk(access, {
    queues,
    sets: setsOf(filter),
    engineStates: filter.engineStates,
    order: 'desc',
    after: null,
    since: windowStart(query),
    until: filter.until?.getTime() ?? now.getTime() + 1,
    withTexts: false,
    large: 'all',
  });
  let failedLeft = MOST_FAILED;
  let reached = now.getTime();
  for (let left = filter.scan; left > 0; ) {
    const rows = await walk.next(Math.min(BATCH, left));
    if (rows.length === 0) return { isWhole: failedLeft >= 0, readFrom: Number.NEGATIVE_INFINITY, keptFrom };
    left -= rows.length;
    const jobs = await loadKnown(access, rows, false);
    reached = jobs.findLast(({ time }) => time !== null)?.time ?? reached;
    const { tasks, failed } = await tasksOf(access, jobs, query, Math.max(0, failedLeft));
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
  { filter }: TaskStatsQuery,
  jobs: readonly SentTask[],
  seen: FamilyCollector,
  isWhole: boolean,
): Promise<CallerFigures> {
  const parents = new Set(jobs.flatMap(({ parentId }) => parentId ?? []));
  const unseen = [...parents].filter((id) => !seen.has(id));
  if (unseen.length > MOST_PARENTS) return UNKNOWN_CALLERS;
  await readNames(access, unseen, seen);
  const figures = await scheduler.run('stats', countCallers(jobs, seen));
  // For only some queues or states, not all children are read.
  const isComplete = isWhole && filter.queues.length === 0 && setsOf(filter).length === JOB_SETS.length;
  return isComplete ? figures : { ...figures, callees: null };
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

/**
 * BullMQ counts in `id` every job that it adds. Where it has fewer now, some were removed, usually the ones that
 * succeeded first. Failed jobs are often kept for longer and prove nothing about the others.
 *
 * If events report jobs that ended after the kept ones, and none of a name is left, jobs are removed when they end:
 * then nothing is known about any time. A single job may have been removed by hand.
 *
 * @param names of jobs that matter; none: all
 * @returns milliseconds since 1970; `-Infinity`: no job was ever removed; `Infinity`: never known
 */
export type KeptSince = (
  access: QueueAccess,
  queues: readonly QueueRef[],
  names: readonly string[],
) => Promise<number>;

/** Jobs of a name that end with this many others of it, and are gone, were not removed by hand. */
const ENOUGH_ENDED = 2;
/** The end of a job may be dated this much before the event that reports it. */
const LATE_MS = 2_000;

const PARTS = ['completed', 'failed'] as const;

/** The result of one read of a queue. */
interface Kept {
  readonly queue: QueueRef;
  /** Number of jobs that were added to it. */
  readonly added: number;
  /** When the oldest job of each set ended; `null`: there is none. */
  readonly oldest: Readonly<Record<EndedJob['part'], number | null>>;
}

/** @param endedJobs the latest jobs of a queue that ended, by name and outcome, from the events that were read */
export function createKeptSince(endedJobs: (queue: QueueRef) => Iterable<EndedJobs>): KeptSince {
  /** Numbers of added jobs when a removed job was found. Jobs do not come back. */
  const removedAt = new Map<string, number>();

  async function hasRemoved(access: QueueAccess, all: readonly Kept[]): Promise<readonly Kept[]> {
    const unknown = all.filter(({ queue, added }) => (removedAt.get(queue.name) ?? Infinity) > added);
    const figures = await readQueueFigures(
      access,
      unknown.map(({ queue }) => queue),
    );
    for (const { queue, added } of unknown) {
      const kept = Object.values(figures.get(queue)?.counts ?? {}).reduce((sum, count) => sum + count, 0);
      // A user without the right to GET gets no number: as if nothing had been removed.
      if (added > kept) removedAt.set(queue.name, added);
      else removedAt.delete(queue.name);
    }
    return all.filter(({ queue }) => removedAt.has(queue.name));
  }

  return async (access, queues, names) => {
    // The number of added jobs is read first: a job added meanwhile must not look like a removed one.
    const all = await readKept(access, queues);
    const removing = await hasRemoved(access, all);
    if (await removesAny(access, removing, endedJobs, names)) return Number.POSITIVE_INFINITY;
    const times = removing.map(({ oldest }) => oldest.completed ?? Number.POSITIVE_INFINITY);
    return Math.max(Number.NEGATIVE_INFINITY, ...times);
  };
}

async function readKept(access: QueueAccess, queues: readonly QueueRef[]): Promise<readonly Kept[]> {
  const read = await readPer(access, queues, (queue) => [
    { queue, command: ['GET', queue.key('id')], isOptional: true },
    ...PARTS.map((part) => keyCommand(queue, 'ZRANGE', part, 0, 0, 'WITHSCORES')),
  ]);
  return [...read].map(([queue, [added, completed, failed]]) => {
    const oldest = {
      completed: asScored(completed)[0]?.score ?? null,
      failed: asScored(failed)[0]?.score ?? null,
    };
    return { queue, added: asCount(added), oldest };
  });
}

/** Whether jobs of a name are gone that ended after others which are kept. */
async function removesAny(
  access: QueueAccess,
  kept: readonly Kept[],
  endedJobs: (queue: QueueRef) => Iterable<EndedJobs>,
  names: readonly string[],
): Promise<boolean> {
  const groups = kept.flatMap(({ queue, oldest }) =>
    [...endedJobs(queue)].flatMap(({ name, jobs }) => {
      if (names.length > 0 && name !== null && !names.includes(name)) return [];
      const keys = jobs.filter(({ part, time }) => time > (oldest[part] ?? 0) + LATE_MS);
      return keys.length < ENOUGH_ENDED ? [] : [{ queue, keys: keys.map(({ jobId }) => queue.key(jobId)) }];
    }),
  );
  const replies = await access.read(
    groups.map(({ queue, keys }) => ({ queue, command: ['EXISTS', ...keys] })),
  );
  return replies.some((reply) => asCount(reply) === 0);
}
