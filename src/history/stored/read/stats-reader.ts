/**
 * Decides how statistics are made: from tasks if all are known, otherwise from rollups. Failures by cause are summed up by
 * the store, which also knows when causes were first seen.
 */
import { type CauseGroup, isNewIn, mostFrequent } from '../../../causes/cause-groups.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import { depthsOf } from '../../../select/queue-depths.ts';
import { type StatsWindow, statsWindow } from '../../../select/task-stats.ts';
import type { Awaitable, ReadContext, TaskStats, TaskStatsQuery } from '../../../source.ts';
import type { CauseCount, CausePart, CauseStep, FailureQuery } from '../../rollup-store.ts';
import type { StoredCause, StoreSession } from '../../store.ts';
import { DAY_MS } from '../rollups/rollup-cells.ts';
import { depthsOfRollups, isCounted, statsOfRollups } from '../rollups/rollup-stats.ts';
import { isStoreAway, type ReaderContext } from './reader-context.ts';
import { isStoreAhead } from './stored-tasks.ts';
import { storeQuery } from './task-pages.ts';

/** Most stored tasks that statistics read; of windows with more, the counts know more. */
const MOST_TASKS = 20_000;

/** @param since since when there are counts; `null`: there are none */
type Read = (query: TaskStatsQuery, context: ReadContext, since: Date | null) => Awaitable<TaskStats>;

interface StatsState {
  readonly view: ReaderContext;
  readonly ofTasks: Read;
}

/** @param ofTasks makes statistics from tasks. Default: from those of memory and store */
export type StatsReader = (
  query: TaskStatsQuery,
  context: ReadContext,
  ofTasks?: Read,
) => Awaitable<TaskStats>;

/** @param ofStored makes statistics from the tasks of memory and store */
export function createStatsReader(view: ReaderContext, ofStored: Read): StatsReader {
  return (query, context, ofTasks = ofStored) => {
    const state: StatsState = { view, ofTasks };
    const { start } = statsWindow(query);
    const oldest = oldestKept(view);
    // Without waiting for the store.
    if (start > view.droppedThrough() && start >= oldest) return taskStats(state, query, context);
    return chosenStats(state, query, context, start >= oldest);
  };
}

function taskStats(state: StatsState, query: TaskStatsQuery, context: ReadContext): Awaitable<TaskStats> {
  const reply = state.ofTasks(query, context, state.view.countedSince());
  const withSource = (stats: TaskStats): Awaitable<TaskStats> => {
    const known: TaskStats = { ...stats, computedFrom: 'tasks', countedSince: tasksSince(state.view, query) };
    const isWhole = known.queueDepths !== undefined && (known.causes ?? []).length === 0;
    return isWhole ? known : withStore(state, query, known, context);
  };
  return 'then' in reply ? reply.then(withSource) : withSource(reply);
}

/** How far back the tasks of a window may be kept, milliseconds since 1970. */
function oldestKept({ now, retention }: ReaderContext): number {
  return now() - retention.taskDays * DAY_MS;
}

/** Since when the counts of a window are known, if they are made from tasks. */
function tasksSince(view: ReaderContext, query: TaskStatsQuery): Date | null {
  const since = view.countedSince();
  const oldest = oldestKept(view);
  return since === null || statsWindow(query).start >= oldest
    ? since
    : new Date(Math.max(since.getTime(), oldest));
}

/** The part that memory alone does not know. */
async function withStore(
  state: StatsState,
  query: TaskStatsQuery,
  stats: TaskStats,
  context: ReadContext,
): Promise<TaskStats> {
  const known = stats.queueDepths === undefined ? await withDepths(state, query, stats, context) : stats;
  const { causes = [] } = known;
  const { view } = state;
  const { reads } = view;
  if (causes.length === 0 || view.session() === null) return known;
  const window = statsWindow(query);
  const ask = (session: StoreSession) => withFirstSeen(session, causes, window, view.countedSince());
  try {
    return { ...known, causes: await reads.read(ask, context) };
  } catch (error) {
    if (!isStoreAway(error)) throw error;
    return known;
  }
}

/** Counts with the causes of failures, if requested and available from the store. */
async function withCauses(
  { view }: StatsState,
  query: TaskStatsQuery,
  stats: TaskStats,
  context: ReadContext,
): Promise<TaskStats> {
  if ((query.causes ?? 0) === 0) return stats;
  const window = statsWindow(query, stats.stepSeconds);
  const countedSince = view.countedSince();
  const since = tasksSince(view, query);
  const isCut = since !== null && since.getTime() !== countedSince?.getTime();
  const reach = {
    since: countedSince?.getTime() ?? null,
    oldest: isCut ? since.getTime() : Number.NEGATIVE_INFINITY,
  };
  const ask = (session: StoreSession) => causesOfStore(session, query, window, reach, context);
  try {
    return { ...stats, ...(await view.reads.read(ask, context)) };
  } catch (error) {
    if (!isStoreAway(error)) throw error;
    return stats;
  }
}

/** Queues over time: memory knows those that this instance reads, the store also what others have read. */
async function withDepths(
  { view }: StatsState,
  query: TaskStatsQuery,
  stats: TaskStats,
  context: ReadContext,
): Promise<TaskStats> {
  const samples = view.memory.counts.queues.samples(query.filter.queues);
  const known = await scheduler.run('stats', depthsOf(samples, statsWindow(query)), context);
  const isWhole = known.length > 0 && !isStoreAhead(view);
  if (isWhole || view.session() === null) return { ...stats, queueDepths: known };
  try {
    const { stepSeconds, depths } = await view.reads.read(
      (session) => depthsOfRollups(session.rollups, query, view.now(), context),
      context,
    );
    if (stepSeconds !== stats.stepSeconds) return { ...stats, queueDepths: known };
    const stored = new Set(depths.map(({ queue }) => queue));
    return { ...stats, queueDepths: [...depths, ...known.filter(({ queue }) => !stored.has(queue))] };
  } catch (error) {
    if (!isStoreAway(error)) throw error;
    return stats;
  }
}

/** @param mayBeKept whether the tasks of the window are not too old to be stored */
async function chosenStats(
  state: StatsState,
  query: TaskStatsQuery,
  context: ReadContext,
  mayBeKept: boolean,
): Promise<TaskStats> {
  const { view } = state;
  const { reads } = view;
  if (view.session() === null || !isCounted(query)) return taskStats(state, query, context);
  try {
    if (mayBeKept && (await areFew(state, query, context))) return await taskStats(state, query, context);
    const stats = await reads.read(
      (opened) => statsOfRollups(opened.rollups, query, view.now(), context),
      context,
    );
    return await withCauses(state, query, { ...stats, countedSince: view.countedSince() }, context);
  } catch (error) {
    if (!isStoreAway(error)) throw error;
    return taskStats(state, query, context);
  }
}

/** Whether all stored tasks of the window can be read. */
async function areFew(
  { view: { reads } }: StatsState,
  query: TaskStatsQuery,
  context: ReadContext,
): Promise<boolean> {
  const { minutes, now, filter } = query;
  const until = new Date(now.getTime() + 1);
  const since = new Date(now.getTime() - minutes * 60_000);
  const stored = storeQuery({ ...filter, since, until, after: null, sort: 'timestamp', order: 'desc' });
  const count = await reads.read((session) => session.tasks.count(stored, MOST_TASKS + 1), context);
  return count <= MOST_TASKS;
}

/** Causes of one read. */
const AT_ONCE = 100;
/** Most failures by cause, name and worker of one read. */
const MOST_PARTS = 20_000;

type Causes = Required<Pick<TaskStats, 'causes' | 'causesTruncated'>>;
type CauseSession = Pick<StoreSession, 'causes'>;

/** How far back causes are known. Times in milliseconds since 1970. */
interface CauseReach {
  /** Since when the store counts; `null`: it does not. */
  readonly since: number | null;
  /** The failures of tasks before this time are no longer stored. */
  readonly oldest: number;
}

/** Failures by cause in a window, which begins with its first step. Rejects with what the store throws. */
export async function causesOfStore(
  session: CauseSession,
  { causes: most = 0, filter }: TaskStatsQuery,
  window: StatsWindow,
  { since, oldest }: CauseReach,
  context: ReadContext,
): Promise<Causes> {
  const { names, queues, workers } = filter;
  const query: FailureQuery = { from: window.first, to: window.end + 1, names, queues, workers };
  // One more shows that there are more.
  const listed = await session.causes.counts(query, most + 1);
  const causes: CauseGroup[] = [];
  for (let at = 0; at < Math.min(most, listed.length); at += AT_ONCE) {
    const wanted = listed.slice(at, Math.min(at + AT_ONCE, most));
    const ids = wanted.map(({ cause }) => cause);
    const [parts, steps, texts] = await Promise.all([
      session.causes.parts(query, ids, MOST_PARTS),
      session.causes.steps(query, ids, { first: window.first, ms: window.stepSeconds * 1_000 }),
      session.causes.describe(ids),
    ]);
    const groups = groupsOf({ wanted, parts, steps, texts, window, since });
    causes.push(...(await scheduler.run('stats', groups, context)));
  }
  return {
    causes,
    causesTruncated: listed.length > most || window.first < oldest,
  };
}

/** The same causes, with what the store knows about the time before. Rejects with what the store throws. */
async function withFirstSeen(
  session: CauseSession,
  causes: readonly CauseGroup[],
  window: StatsWindow,
  countedSince: Date | null,
): Promise<readonly CauseGroup[]> {
  const since = countedSince?.getTime() ?? null;
  const stored = await session.causes.describe(causes.map(({ id }) => id));
  const firsts = new Map(stored.map(({ id, firstSeen }) => [id, firstSeen]));
  return causes.map((group) => {
    const first = Math.min(
      group.firstSeen?.getTime() ?? Number.POSITIVE_INFINITY,
      firsts.get(group.id) ?? Number.POSITIVE_INFINITY,
    );
    if (!Number.isFinite(first)) return group;
    return { ...group, firstSeen: new Date(first), isNew: isNewIn(window, first, since) };
  });
}

/** The data that was read about some causes. */
interface ReadCauses {
  readonly wanted: readonly CauseCount[];
  readonly parts: readonly CausePart[];
  readonly steps: readonly CauseStep[];
  readonly texts: readonly StoredCause[];
  readonly window: StatsWindow;
  readonly since: number | null;
}

function* groupsOf({ wanted, parts, steps, texts, window, since }: ReadCauses): Steps<CauseGroup[]> {
  const described = new Map(texts.map((cause) => [cause.id, cause]));
  const sums = new Map(wanted.map(({ cause }) => [cause, newSums(window.count)]));
  for (const part of parts) {
    addPart(sums.get(part.cause), part);
    yield;
  }
  for (const { cause, step, count } of steps) {
    const activity = sums.get(cause)?.activity;
    if (activity?.[step] !== undefined) activity[step] += count;
    yield;
  }
  const groups: CauseGroup[] = [];
  for (const { cause: id, count } of wanted) {
    const { names, workers, last, sample, activity } = sums.get(id) ?? newSums(window.count);
    const { exception = null, message = null, frame = null, firstSeen = null } = described.get(id) ?? {};
    groups.push({
      id,
      exception,
      message,
      frame,
      count,
      sample,
      activity,
      firstSeen: firstSeen === null ? null : new Date(firstSeen),
      lastSeen: Number.isFinite(last) ? new Date(last) : null,
      names: mostFrequent(names),
      workers: mostFrequent(workers),
      isNew: firstSeen === null ? null : isNewIn(window, firstSeen, since),
    });
    yield;
  }
  return groups;
}

/** The data about one cause. */
interface Sums {
  readonly names: Map<string, number>;
  readonly workers: Map<string, number>;
  readonly activity: number[];
  last: number;
  sample: string | null;
  sampleAt: number;
}

function newSums(steps: number): Sums {
  const never = Number.NEGATIVE_INFINITY;
  return {
    names: new Map(),
    workers: new Map(),
    activity: new Array<number>(steps).fill(0),
    last: never,
    sample: null,
    sampleAt: never,
  };
}

function addPart(sums: Sums | undefined, { name, worker, count, last, sample }: CausePart): void {
  if (sums === undefined) return;
  if (name !== null) sums.names.set(name, (sums.names.get(name) ?? 0) + count);
  if (worker !== null) sums.workers.set(worker, (sums.workers.get(worker) ?? 0) + count);
  sums.last = Math.max(sums.last, last);
  if (last > sums.sampleAt || (last === sums.sampleAt && sample < (sums.sample ?? sample))) {
    sums.sample = sample;
    sums.sampleAt = last;
  }
}
