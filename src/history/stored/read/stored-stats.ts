/** Statistics over the tasks of memory and of a store. */
import { type Steps, scheduler } from '../../../scheduler.ts';
import { passesFilters } from '../../../select/apply-query.ts';
import {
  type CallerFigures,
  countCallers,
  type FamilyNames,
  type SentTask,
  UNKNOWN_CALLERS,
} from '../../../select/callers.ts';
import type { TaskFigures } from '../../../select/task-figures.ts';
import { createStatsAccumulator } from '../../../select/task-stats.ts';
import type { Awaitable, ReadContext, TaskQuery, TaskStats, TaskStatsQuery } from '../../../source.ts';
import type { StoredRelatives, StoredTask } from '../../store.ts';
import { isStoreAway, type ReaderContext } from './reader-context.ts';
import {
  figuresOf,
  isStoreAhead,
  type Overlay,
  readOverlay,
  readStored,
  rowOf,
  scanTasks,
} from './stored-tasks.ts';
import { asksForEngineState, isDecidedHere, storeQuery } from './task-pages.ts';

/** Most stored tasks that are read for one answer. */
const MOST_READ = 20_000;
/** Stored tasks that are summed up between two pauses. */
const TASKS_AT_ONCE = 16;
const MINUTE_MS = 60_000;

/**
 * Sums up the tasks that last changed within the window. Changes before the newest 20,000 stored tasks are unknown; so
 * are tasks that memory has dropped while the store cannot be read.
 */
export function getTaskStats(
  reader: ReaderContext,
  query: TaskStatsQuery,
  context: ReadContext,
): Awaitable<TaskStats> {
  const window = windowOf(query);
  const known = reader.droppedThrough();
  // The caller of a task may have changed long before it.
  const isRecent = query.callers !== true && window.since.getTime() > known;
  const isInMemory = known === Number.NEGATIVE_INFINITY || isRecent;
  return isInMemory
    ? reader.memory.reader.getTaskStats(query, context)
    : sumBoth(reader, query, window, context);
}

/** The tasks of the window, in no particular order. */
function windowOf({ now, minutes, filter }: TaskStatsQuery): TaskQuery & { readonly since: Date } {
  const start = now.getTime() - minutes * MINUTE_MS;
  const since = filter.since !== null && filter.since.getTime() > start ? filter.since : new Date(start);
  return { ...filter, since, after: null, sort: 'timestamp', order: 'desc' };
}

/** Figures of the tasks that are not in memory, by id. */
type ColdFigures = Map<string, TaskFigures>;

async function sumBoth(
  reader: ReaderContext,
  query: TaskStatsQuery,
  window: TaskQuery,
  context: ReadContext,
): Promise<TaskStats> {
  const { memory } = reader;
  const cold: ColdFigures = new Map();
  const asked = { ...window, until: untilOf(reader, query, window) };
  const add = (tasks: readonly StoredTask[]): Promise<void> =>
    Promise.resolve(scheduler.run('stats', addStored(reader, asked, cold, tasks), context));
  // Memory has nothing that the store lacks, but what is not written yet.
  const overlay = isStoreAhead(reader) ? await readOverlay(reader, context) : null;
  const knownFrom = await readStore();
  const statistics = createStatsAccumulator(query, {
    isWhole: (from, to) => from >= knownFrom && memory.isWatched(from, to),
    before: memory.causesBefore,
  });
  const stats = await scheduler.run('stats', sum(), context);
  if (query.callers !== true) return stats;
  return { ...stats, ...(await storedCallers(reader, statistics.counted, context)) };

  /** @returns since when all tasks are known */
  async function readStore(): Promise<number> {
    if (asksForEngineState(window)) return Number.NEGATIVE_INFINITY;
    const since = reader.droppedThrough();
    try {
      const last = await scanTasks(reader, storeQuery(asked), MOST_READ, add, context);
      return last?.timestamp ?? Number.NEGATIVE_INFINITY;
    } catch (error) {
      if (!isStoreAway(error) || overlay !== null || since === Number.POSITIVE_INFINITY) throw error;
      cold.clear();
      return since + 1;
    }
  }

  function* sum(): Steps<TaskStats> {
    if (overlay === null) {
      yield* memory.visit(window, (task) => {
        cold.delete(task.id);
        statistics.add(task.figures());
      });
    }
    if (overlay !== null) yield* addOwn(reader, window, cold, overlay);
    let count = 0;
    for (const [id, figures] of cold) {
      if (overlay !== null || isStillCold(reader, window, id)) statistics.add(figures);
      if (++count % TASKS_AT_ONCE === 0) yield;
    }
    return yield* statistics.result();
  }
}

/** Stored tasks that changed later than all dropped ones are in memory. */
function untilOf(reader: ReaderContext, { now }: TaskStatsQuery, { until }: TaskQuery): Date {
  const last = Math.min(now.getTime(), reader.droppedThrough()) + 1;
  return until !== null && until.getTime() < last ? until : new Date(last);
}

function* addStored(
  { memory }: ReaderContext,
  query: TaskQuery,
  cold: ColdFigures,
  tasks: readonly StoredTask[],
): Steps<void> {
  for (const [at, task] of tasks.entries()) {
    if (at % TASKS_AT_ONCE === TASKS_AT_ONCE - 1) yield;
    const known = readStored(task, false);
    if (known === null) continue;
    if (!isDecidedHere(query) || passesFilters(rowOf(known, memory), query))
      cold.set(task.id, figuresOf(known));
  }
}

/** Tasks that are not written yet are newer than the stored ones. */
function* addOwn(
  { memory }: ReaderContext,
  query: TaskQuery,
  cold: ColdFigures,
  { ids, read }: Overlay,
): Steps<void> {
  let count = 0;
  for (const id of ids) {
    const task = read(id);
    if (task !== null && passesFilters(rowOf(task, memory), query)) cold.set(id, figuresOf(task));
    else if (task !== null) cold.delete(id);
    if (++count % TASKS_AT_ONCE === 0) yield;
  }
}

/**
 * Memory has newer versions of tasks that it did not list; a task that was loaded into memory since then has not
 * changed.
 */
function isStillCold({ memory }: ReaderContext, query: TaskQuery, id: string): boolean {
  const row = memory.has(id) ? memory.row(id) : null;
  return row === null || passesFilters(row, query);
}

/** For more tasks, relatives are not searched. */
const MOST_TASKS = 20_000;
/** Most tasks sent by them that are read from the store. */
const MOST_SENT = 20_000;
/** Tasks that are processed between two pauses. */
const PARENTS_AT_ONCE = 128;
/** Tasks whose relatives are read at once. */
const BATCH = 1_000;

type Cold = Pick<StoredRelatives, 'id' | 'name' | 'parentId'>;

/** @returns `null` where there are too many of them, or while the store cannot be read */
async function storedCallers(
  reader: ReaderContext,
  tasks: readonly SentTask[],
  context: ReadContext,
): Promise<CallerFigures> {
  if (tasks.length > MOST_TASKS) return UNKNOWN_CALLERS;
  try {
    const parents = await readParents(reader, tasks, context);
    const sent = await readSent(reader, tasks, context);
    const figures = await scheduler.run('stats', count(), context);
    return sent === null ? { ...figures, callees: null } : figures;

    function* count(): Steps<CallerFigures> {
      return yield* countCallers(tasks, yield* namesIn(reader, parents, sent ?? []));
    }
  } catch (error) {
    if (!isStoreAway(error)) throw error;
    return UNKNOWN_CALLERS;
  }
}

/** The stored parents that memory does not know. */
async function readParents(
  { memory, reads }: ReaderContext,
  tasks: readonly SentTask[],
  context: ReadContext,
): Promise<readonly Cold[]> {
  const ids = new Set(tasks.flatMap(({ parentId }) => parentId ?? []));
  const asked = [...ids].filter((id) => !memory.has(id));
  const parents: Cold[] = [];
  for (let at = 0; at < asked.length; at += BATCH) {
    const batch = asked.slice(at, at + BATCH);
    parents.push(...(await reads.read((session) => session.tasks.relatives(batch), context)));
  }
  return parents;
}

/** The stored tasks that these sent. @returns `null`: there are too many */
async function readSent(
  { reads }: ReaderContext,
  tasks: readonly SentTask[],
  context: ReadContext,
): Promise<readonly Cold[] | null> {
  const sent: Cold[] = [];
  for (let at = 0; at < tasks.length; at += BATCH) {
    const batch = tasks.slice(at, at + BATCH).map(({ id }) => id);
    const most = MOST_SENT + 1 - sent.length;
    const found = await reads.read((session) => session.tasks.linked('parentId', batch, most), context);
    sent.push(...found);
    if (found.length >= most) return null;
  }
  return sent;
}

function* namesIn(
  { memory }: ReaderContext,
  parents: readonly Cold[],
  sent: readonly Cold[],
): Steps<FamilyNames> {
  const { family } = memory;
  const names = new Map<string, string | null>();
  for (const { id, name } of parents) {
    names.set(id, name);
    if (names.size % PARENTS_AT_ONCE === 0) yield;
  }
  const byParent = new Map<string, Cold[]>();
  for (const [at, task] of sent.entries()) {
    if (at % PARENTS_AT_ONCE === 0) yield;
    if (task.parentId === null) continue;
    const others = byParent.get(task.parentId);
    if (others === undefined) byParent.set(task.parentId, [task]);
    else others.push(task);
  }
  return {
    nameOf: (id) => (memory.has(id) ? family.nameOf(id) : (names.get(id) ?? null)),
    *namesSentBy(id) {
      yield* family.namesSentBy(id);
      // The tasks in memory are newer.
      for (const task of byParent.get(id) ?? []) if (!memory.has(task.id)) yield task.name;
    },
  };
}
