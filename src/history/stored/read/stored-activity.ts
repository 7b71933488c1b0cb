/** The data for rules, if memory lacks tasks that have not ended. */
import { type Steps, scheduler } from '../../../scheduler.ts';
import { shareCalls } from '../../../single-flight.ts';
import { ALL_TASKS } from '../../../source/task-query.ts';
import type { Activity, Awaitable, OpenTaskSummary, ReadContext, TaskGroup } from '../../../source.ts';
import { MINUTE_MS, WIDTH } from '../../aggregate/cells.ts';
import { summarizeOpen } from '../../answers/open-summary.ts';
import { absorbTask } from '../../memory/memory-access.ts';
import { catchUp, createMemoryState } from '../../memory/memory-state.ts';
import type { StoredRollup } from '../../rollup-store.ts';
import type { StoredTask } from '../../store.ts';
import { columnsOf } from '../rollups/rollup-cells.ts';
import { isStoreAway, type ReaderContext } from './reader-context.ts';
import { type ColdTask, readStored, scanTasks } from './stored-tasks.ts';
import { storeQuery } from './task-pages.ts';

/** Most stored tasks that are summed up. */
const MOST_OPEN = 5_000;
/** Tasks that are added between two pauses. */
const TASKS_AT_ONCE = 16;

/** Reads the store for tasks that memory does not hold, and for the counts of others. */
export function getActivity(
  reader: ReaderContext,
  readCounts: () => Promise<void>,
  context: ReadContext,
): Awaitable<Activity> {
  const dropped = reader.droppedThrough();
  if (dropped === Number.NEGATIVE_INFINITY) return reader.memory.reader.getActivity(context);
  return withStored(reader, readCounts, dropped, context);
}

async function withStored(
  reader: ReaderContext,
  readCounts: () => Promise<void>,
  dropped: number,
  context: ReadContext,
): Promise<Activity> {
  const { memory } = reader;
  try {
    if (reader.hearing() !== 'all') await readCounts();
    const { tasks, isCut } = await readOpen(reader, dropped, context);
    const known = withHeard(reader, await memory.reader.getActivity(context));
    const open = await scheduler.run('activity', addOpen(reader, known.open, tasks), context);
    return { ...known, open: { ...open, isWhole: open.isWhole && !isCut } };
  } catch (error) {
    // Memory has recent events, and a part of earlier ones.
    if (!isStoreAway(error) || dropped === Number.POSITIVE_INFINITY) throw error;
    const known = withHeard(reader, await memory.reader.getActivity(context));
    return { ...known, open: { ...known.open, isWhole: false } };
  }
}

/** Without what only an instance knows that receives messages. */
function withHeard({ hearing }: ReaderContext, activity: Activity): Activity {
  if (hearing() !== 'nothing') return activity;
  const { deaths: _, ...known } = activity;
  return { ...known, repeated: null };
}

/** Stored tasks that have not ended, in the order in which they changed, and whether there are more. */
async function readOpen(
  reader: ReaderContext,
  dropped: number,
  context: ReadContext,
): Promise<{ readonly tasks: readonly StoredTask[]; readonly isCut: boolean }> {
  const tasks: StoredTask[] = [];
  const until = Number.isFinite(dropped) ? new Date(dropped + 1) : null;
  const query = storeQuery({ ...ALL_TASKS, limit: 0, until, order: 'asc' }, { isOpen: true });
  const last = await scanTasks(reader, query, MOST_OPEN, (page) => void tasks.push(...page), context);
  return { tasks, isCut: last !== null };
}

/** Adds the tasks that memory does not hold. */
function* addOpen(
  { memory }: ReaderContext,
  known: OpenTaskSummary,
  stored: readonly StoredTask[],
): Steps<OpenTaskSummary> {
  const open = new Map<string, ColdTask>();
  let count = 0;
  for (const task of stored) {
    const cold = open.has(task.id) ? null : readStored(task, false);
    if (cold !== null) open.set(task.id, cold);
    if (++count % TASKS_AT_ONCE === 0) yield;
  }
  const scratch = createMemoryState({
    maxTasks: open.size + 1,
    maxBytes: Number.MAX_SAFE_INTEGER,
    taskDays: 36_500,
    maxEvents: 1,
    now: memory.flags.now,
  });
  for (const [id, task] of open) {
    if (!memory.has(id)) absorbTask(scratch, task, memory.flags.now());
    if (++count % TASKS_AT_ONCE === 0) yield;
  }
  catchUp(scratch);
  const { records, index } = scratch.tables;
  if (records.slots.size === 0) return known;
  const { flags, isOnline } = memory;
  const { missedAt } = scratch.tables.open;
  return sumOfOpen(known, yield* summarizeOpen({ records, index, flags, isOnline, missedAt }));
}

/** Most running tasks that are listed. */
const MOST_RUNNING = 2_000;
/** Maximum number of ids listed for a group. */
const MOST_EXAMPLES = 3;

/** @param earlier the summary whose tasks changed first, so that they are listed first */
function sumOfOpen(later: OpenTaskSummary, earlier: OpenTaskSummary): OpenTaskSummary {
  const running = [...earlier.running, ...later.running].sort((a, b) => a.startedAt - b.startedAt);
  return {
    running: running.slice(0, MOST_RUNNING),
    isWhole: earlier.isWhole && later.isWhole && running.length <= MOST_RUNNING,
    lost: sumBy([...earlier.lost, ...later.lost], ({ worker }) => worker),
    overdue: sumOf(earlier.overdue, later.overdue),
    missing: sumOf(earlier.missing ?? null, later.missing ?? null),
    waiting: sumBy([...earlier.waiting, ...later.waiting], ({ queue }) => queue),
  };
}

function sumBy<Group extends TaskGroup>(
  groups: readonly Group[],
  keyOf: (group: Group) => string | null,
): readonly Group[] {
  const sums = new Map<string | null, Group>();
  for (const group of groups) sums.set(keyOf(group), sumOf(sums.get(keyOf(group)) ?? null, group));
  return [...sums.values()];
}

function sumOf<Group extends TaskGroup>(earlier: Group | null, later: Group): Group;
function sumOf(earlier: TaskGroup | null, later: TaskGroup | null): TaskGroup | null;
function sumOf(earlier: TaskGroup | null, later: TaskGroup | null): TaskGroup | null {
  if (earlier === null || later === null) return earlier ?? later;
  const times = [earlier.since, later.since].filter((time) => time !== null);
  return {
    ...later,
    count: earlier.count + later.count,
    since: times.length === 0 ? null : Math.min(...times),
    states: [...new Set([...earlier.states, ...later.states])],
    examples: [...earlier.examples, ...later.examples].slice(0, MOST_EXAMPLES),
  };
}

/** The number of minutes whose counts are judged. */
const MINUTES = 24 * 60;
/** Minutes of one read. */
const MINUTES_AT_ONCE = 120;
/** Minutes that may still change. */
const OPEN_MINUTES = 5;
/** Most cells of one read. */
const MOST_CELLS = 20_000;
/** Between two reads, in milliseconds: counts are written every 10 s. */
const READ_MS = 5_000;

/**
 * @returns loads what was counted since the last time, once for concurrent calls; rejects with what the store throws
 */
export function createStoredCounts(reader: Pick<ReaderContext, 'reads' | 'memory'>): () => Promise<void> {
  /** All minutes before this one have been loaded. */
  let from = Number.NEGATIVE_INFINITY;
  return shareCalls(async () => {
    const to = Math.floor(Date.now() / MINUTE_MS) + 1;
    const first = Math.max(from, to - MINUTES);
    for (let start = first; start < to; start += MINUTES_AT_ONCE) {
      const cells = await read(reader, start, Math.min(to, start + MINUTES_AT_ONCE));
      await scheduler.run('activity', absorb(reader, cells));
    }
    from = to - OPEN_MINUTES;
  }, READ_MS);
}

function read(
  { reads }: Pick<ReaderContext, 'reads'>,
  from: number,
  to: number,
): Promise<readonly StoredRollup[]> {
  const all = { names: [], queues: [], workers: [] };
  const query = { level: 1, span: 60, from: from * MINUTE_MS, to: to * MINUTE_MS, ...all } as const;
  // No caller's signal ends it: others may wait for it, too.
  return reads.read((session) => session.rollups.read(query, MOST_CELLS), {
    signal: new AbortController().signal,
  });
}

/** Counts of several instances for one name and minute are added. They are adjacent. */
function* absorb({ memory }: Pick<ReaderContext, 'memory'>, cells: readonly StoredRollup[]): Steps<void> {
  const sums = new Map<string, { readonly cell: StoredRollup; readonly columns: Float64Array }>();
  for (const cell of cells) {
    const key = `${cell.start} ${cell.name}`;
    const columns = columnsOf(cell);
    const known = sums.get(key);
    if (known === undefined) sums.set(key, { cell, columns });
    else {
      for (let column = 0; column < WIDTH; column++) {
        known.columns[column] = (known.columns[column] as number) + (columns[column] as number);
      }
    }
    yield;
  }
  for (const { cell, columns } of sums.values()) {
    memory.counts.absorb(cell.name, cell.start / MINUTE_MS, columns, Date.now());
    yield;
  }
}
