/** The data for rules, if memory lacks tasks that have not ended. */
import { type Steps, scheduler } from '../../../scheduler.ts';
import { ALL_TASKS } from '../../../source/task-query.ts';
import type { Activity, Awaitable, OpenTaskSummary, ReadContext } from '../../../source.ts';
import { summarizeOpen } from '../../answers/open-summary.ts';
import { absorbTask } from '../../memory/absorb-task.ts';
import { catchUp, createMemoryState } from '../../memory/memory-state.ts';
import type { StoredTask } from '../../store.ts';
import { sumOfOpen } from './open-sums.ts';
import type { ReaderContext } from './reader-context.ts';
import { storeQuery } from './store-query.ts';
import { isStoreAway } from './store-reads.ts';
import { type ColdTask, readStored } from './stored-rows.ts';
import { scanTasks } from './task-scan.ts';

/** Most stored tasks that are summed up. */
const MOST_OPEN = 5_000;
/** Tasks that are added between two pauses. */
const TASKS_AT_ONCE = 16;

/** Reads the store for tasks that memory does not hold, and for the counts of others. */
export function getActivity(reader: ReaderContext, context: ReadContext): Awaitable<Activity> {
  const dropped = reader.droppedThrough();
  if (dropped === Number.NEGATIVE_INFINITY) return reader.memory.reader.getActivity(context);
  return withStored(reader, dropped, context);
}

async function withStored(reader: ReaderContext, dropped: number, context: ReadContext): Promise<Activity> {
  const { memory } = reader;
  try {
    if (reader.hearing() !== 'all') await reader.readCounts();
    const { tasks, isCut } = await readOpen(reader, dropped, context);
    const known = await memory.reader.getActivity(context);
    const open = await scheduler.run('activity', addOpen(reader, known.open, tasks), context);
    return { ...known, open: { ...open, isWhole: open.isWhole && !isCut } };
  } catch (error) {
    // Memory has recent events, and a part of earlier ones.
    if (!isStoreAway(error) || dropped === Number.POSITIVE_INFINITY) throw error;
    const known = await memory.reader.getActivity(context);
    return { ...known, open: { ...known.open, isWhole: false } };
  }
}

/** Stored tasks that have not ended, in the order in which they changed, and whether there are more. */
async function readOpen(
  reader: ReaderContext,
  dropped: number,
  context: ReadContext,
): Promise<{ readonly tasks: readonly StoredTask[]; readonly isCut: boolean }> {
  const tasks: StoredTask[] = [];
  const until = Number.isFinite(dropped) ? new Date(dropped + 1) : null;
  const query = storeQuery({ ...ALL_TASKS, limit: 0, scan: 0, until, order: 'asc' }, { isOpen: true });
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
    ...{ maxTasks: open.size + 1, maxBytes: Number.MAX_SAFE_INTEGER, maxAgeMs: Number.MAX_SAFE_INTEGER },
    ...{ maxEvents: 1, now: memory.flags.now },
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
