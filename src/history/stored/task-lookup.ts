/** Reads and absorbs the stored data of tasks that are about to be written. */

import { runInSlices } from '../../scheduler/in-slices.ts';
import type { Steps } from '../../scheduler.ts';
import type { MemoryAccess } from '../memory/tap.ts';
import type { TaskRecord } from '../merge/record.ts';
import { type StoredTask, type TaskStore, WHOLE_AT_ONCE } from '../store.ts';
import type { CauseNotes } from './cause-notes.ts';
import { createPauses } from './pauses.ts';
import { readKeptTask } from './record-text.ts';
import type { StoreCalls } from './store-calls.ts';
import type { StoreClock } from './store-clock.ts';
import { rememberVersion, type TaskBacklog } from './task-backlog.ts';

const DAY_MS = 24 * 60 * 60_000;

/** Parameters of writing tasks. */
export interface TaskWriterContext {
  readonly backlog: TaskBacklog;
  readonly access: MemoryAccess;
  readonly calls: StoreCalls;
  readonly clock: StoreClock;
  readonly causes: CauseNotes;
}

/** One batch. */
export interface Batch {
  /** Ids that are not written yet. */
  open: readonly string[];
  /** The stored data of the tasks that were looked up. */
  readonly stored: Map<string, TaskRecord>;
}

/**
 * Reads the stored data of these tasks. If many have long texts, most of them leave the batch and wait for the next
 * one.
 */
export async function lookUp(
  context: TaskWriterContext,
  store: TaskStore,
  batch: Batch,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  const { backlog, calls, clock } = context;
  const found = await calls.ask('write', () => store.find(ids));
  const day = dayAt(clock);
  for (const id of ids) rememberVersion(backlog, id, { day, version: 0 });
  const long = await runInSlices('store', takeIn(context, batch, found, false));
  if (long.length === 0) return;
  const whole = await calls.ask('write', () => store.read(long.slice(0, WHOLE_AT_ONCE)));
  await runInSlices('store', takeIn(context, batch, whole, true));
  for (const id of long.slice(WHOLE_AT_ONCE)) {
    backlog.versions.delete(id);
    backlog.writing.delete(id);
  }
  batch.open = batch.open.filter((id) => backlog.writing.has(id));
}

/** The number of a day, by the clock of the database. */
export function dayAt(clock: StoreClock): number {
  return Math.floor(clock.now() / DAY_MS);
}

/**
 * @param isWhole whether the long texts of the tasks were read, too
 * @returns the ids of those with long texts, which were not absorbed
 */
function* takeIn(
  { backlog, access }: TaskWriterContext,
  { stored }: Batch,
  found: readonly StoredTask[],
  isWhole: boolean,
): Steps<readonly string[]> {
  const pauses = createPauses();
  const long: string[] = [];
  for (const task of found) {
    const { id, day, version, rootId } = task;
    const kept = readKeptTask(task);
    if (!isWhole && kept !== null && kept.shortened.length > 0) {
      long.push(id);
      continue;
    }
    const known = backlog.versions.get(id);
    // Two instances that first wrote it at midnight have stored it twice.
    if (known === undefined || known.version === 0 || known.day < day)
      rememberVersion(backlog, id, { day, version });
    // One that memory has dropped meanwhile is lost.
    if (kept === null || !access.has(id)) continue;
    const { record } = kept;
    stored.set(id, record);
    access.absorbTask({ record, rootId }, task.timestamp ?? 0, backlog.steps.get(id) ?? []);
    if (pauses.isDue()) {
      yield;
      pauses.begin();
    }
  }
  return long;
}
