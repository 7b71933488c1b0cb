/** What this instance knows better than the store: tasks that are not written yet. */
import type { Task } from '../../../model.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import type { ReadContext } from '../../../source.ts';
import { applyStep } from '../../merge/merge.ts';
import { copyRecord } from '../../merge/record.ts';
import type { StoredTask } from '../../store.ts';
import type { ReaderContext } from './reader-context.ts';
import { type ColdTask, FIRST_READ, nextReadSize, readStored, rowOf } from './stored-tasks.ts';

/** Unwritten tasks. They can be read until they are written and dropped: whoever finds one gone reads the stored one. */
export interface Overlay {
  readonly ids: Set<string>;
  /** Whether more tasks wait to be written than an overlay has: the store answers for the others. */
  readonly isCut: boolean;
  read(id: string): ColdTask | null;
  row(id: string): Task | null;
}

/** Most tasks of an overlay, the last that changed; fewer if each has to be completed with what is stored of it. */
const MOST = 5_000;
const MOST_COMPLETED = 1_000;
/** Longest wait for what completes them, in milliseconds: a page of the store must still come within the time of a read. */
const COMPLETED_MS = 1_500;
/** Tasks that are completed between two pauses. */
const TASKS_AT_ONCE = 8;

/**
 * Whether the store may know more of a task in memory: others write what this instance does not hear, or memory is being
 * filled. Then the store is the answer, and what this instance has not written yet is added to it.
 */
export function isStoreAhead({ droppedThrough }: Pick<ReaderContext, 'droppedThrough'>): boolean {
  return droppedThrough() === Number.POSITIVE_INFINITY;
}

/** Rejects with an error of the API if the store has to be read and cannot be. */
export async function readOverlay(reader: ReaderContext, context: ReadContext): Promise<Overlay> {
  const { memory } = reader;
  const isPart = isStoreAhead(reader);
  const all = [...reader.unwritten()];
  const ids = new Set(all.slice(-(isPart ? MOST_COMPLETED : MOST)));
  const whole = isPart ? await readWhole(reader, [...ids], context) : new Map<string, ColdTask>();
  const read = (id: string): ColdTask | null => whole.get(id) ?? reader.memory.readTask(id);
  return {
    ids,
    isCut: ids.size < all.length,
    read,
    row(id) {
      const row = whole.has(id) ? null : memory.row(id);
      const cold = row === null ? read(id) : null;
      return cold === null ? row : rowOf(cold, memory);
    },
  };
}

/** The stored ones of these tasks, with what this instance was told of them since. */
async function readWhole(
  reader: ReaderContext,
  ids: readonly string[],
  context: ReadContext,
): Promise<ReadonlyMap<string, ColdTask>> {
  const whole = new Map<string, ColdTask>();
  const end = performance.now() + COMPLETED_MS;
  let size = FIRST_READ;
  for (let at = 0; at < ids.length; ) {
    const asked = ids.slice(at, at + size);
    at += asked.length;
    const stored = await reader.reads.read(
      (session) => session.tasks.find(asked),
      context,
      Math.max(1, end - performance.now()),
    );
    await scheduler.run('list', addWhole(stored), context);
    size = nextReadSize(stored);
  }
  return whole;

  function* addWhole(stored: readonly StoredTask[]): Steps<void> {
    for (const [at, task] of stored.entries()) {
      const known = completed(reader, task, task.texts !== null);
      if (known !== null) whole.set(task.id, known);
      if (at % TASKS_AT_ONCE === TASKS_AT_ONCE - 1) yield;
    }
  }
}

/** A stored task, with what this instance was told of it since. @param isWhole whether its long texts were read, too */
export function completed(
  { memory, stepsOf }: ReaderContext,
  stored: StoredTask,
  isWhole: boolean,
): ColdTask | null {
  const rest = readStored(stored, isWhole);
  const steps = stepsOf(stored.id);
  if (rest === null || steps.length === 0) return rest;
  const record = copyRecord(rest.record);
  for (const step of steps) applyStep(record, step);
  const shortened = rest.shortened.filter((field) => record[field] === rest.record[field]);
  return { record: memory.redacted(record), rootId: rest.rootId, shortened };
}
