/**
 * Makes tasks of stored records, the same rows that memory makes of them, or of what this instance knows better than the
 * store: tasks that are not written yet.
 */
import type { Task, TaskCause, TaskTextField } from '../../../model.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import type { TaskFigures } from '../../../select/task-figures.ts';
import type { ReadContext, TaskPosition, TaskSort } from '../../../source.ts';
import { flagFactsOf, flagsFrom } from '../../answers/rows.ts';
import type { MemoryAccess } from '../../memory/memory-access.ts';
import { lifeOf, retriesIn } from '../../merge/life.ts';
import { applyStep } from '../../merge/merge.ts';
import { copyRecord, type TaskRecord } from '../../merge/record.ts';
import { causeOfKept, toFigures, toTask } from '../../merge/task.ts';
import type { StoredQuery, StoredRecord, StoredTask } from '../../store.ts';
import { readKeptTask } from '../record-text.ts';
import type { ReaderContext } from './reader-context.ts';

/** What rows depend on besides their records. */
type RowContext = Pick<MemoryAccess, 'flags' | 'isRedacted'>;

/** A task that is not in memory. */
export interface ColdTask {
  readonly record: TaskRecord;
  readonly rootId: string | null;
  /** Texts of which only the beginning was read. */
  readonly shortened: readonly TaskTextField[];
  /** As found in whole texts. Default: derived from the record. */
  readonly cause?: TaskCause | null;
}

/**
 * @param isWhole whether its long texts were read, too
 * @returns `null`: another version of the library wrote it, which this one cannot read
 */
export function readStored(task: StoredTask, isWhole: boolean): ColdTask | null {
  const kept = readKeptTask(task);
  if (kept === null) return null;
  const { record, rootId, shortened } = kept;
  const found = kept.cause === undefined ? {} : { cause: kept.cause };
  if (isWhole || shortened.length === 0) return { record, rootId, shortened: NOTHING, ...found };
  // Rows mark cut texts that they show, see rowOf().
  const truncated = record.truncated.filter((field) => !shortened.includes(field));
  return { record: { ...record, truncated }, rootId, shortened, ...found };
}

const NOTHING: ColdTask['shortened'] = [];

/** @returns the row of a task */
export function rowOf(task: ColdTask, { flags, isRedacted }: RowContext): Task {
  const { record, rootId, shortened } = task;
  const life = lifeOf(record.entries, record.runtime);
  const isSuccess = life.state === 'SUCCESS';
  const row = toTask(record, {
    life,
    rootId,
    flags: flagsFrom(flagFactsOf(life, record.eta), life.worker, record.isMissing, flags),
    cause: causeOfKept(task, life),
    shortened: shortened.filter((field) => isShown(field, isSuccess)),
    isRedacted,
  });
  return Object.freeze(row);
}

/** Results are shown of tasks that succeeded, errors of all others. */
function isShown(field: TaskTextField, isSuccess: boolean): boolean {
  return field === 'result' ? isSuccess : isSuccess ? field === 'args' || field === 'kwargs' : true;
}

/** @returns what statistics are made of */
export function figuresOf(task: ColdTask): TaskFigures {
  const { record } = task;
  const life = lifeOf(record.entries, record.runtime);
  const { id, name, queue, parentId, eta, isMissing } = record;
  const isEndUnseen = life.state !== 'PENDING' && isMissing;
  const facts = { id, name, queue, parentId, isEndUnseen, cause: causeOfKept(task, life) };
  return toFigures(life, facts, eta, retriesIn(record.entries));
}

/** The position of a stored task in a list, by the columns that the store sorts by. */
export function positionOf(task: StoredTask, sort: TaskSort): TaskPosition {
  return { key: task[sort], id: task.id };
}

/** Tasks of the first read, whose size is unknown. A record may take 15 kB. */
export const FIRST_READ = 100;
/** The fewest and most of a later one. */
const FEWEST_READ = 50;
const MOST_READ = 1_000;
/** Characters of the records of one read, roughly. */
const READ_CHARACTERS = 500_000;

/**
 * @param tasks that were read last; records of one source are alike
 * @param bounds replace those for answers, of which several are read at the same time
 */
export function nextReadSize(
  tasks: readonly Pick<StoredRecord, 'record'>[],
  bounds: { readonly characters: number; readonly most: number } = {
    characters: READ_CHARACTERS,
    most: MOST_READ,
  },
): number {
  const read = tasks.reduce((sum, { record }) => sum + record.length, 0);
  const fitting = Math.floor((bounds.characters * tasks.length) / Math.max(1, read));
  return Math.max(FEWEST_READ, Math.min(bounds.most, fitting));
}

/**
 * Reads the tasks of a list in its order, up to `most`. The next page is read while one is processed.
 *
 * @param take is called with each page
 * @returns the last task if there may be more; `null`: the list has ended
 */
export async function scanTasks(
  { reads }: ReaderContext,
  query: StoredQuery,
  most: number,
  take: (tasks: readonly StoredTask[]) => Promise<void> | void,
  context: ReadContext,
): Promise<StoredTask | null> {
  const read = (after: StoredQuery['after'], limit: number): Promise<readonly StoredTask[]> => {
    const page = reads.read((session) => session.tasks.list({ ...query, after, limit }), context);
    // It may fail before it is awaited.
    page.catch(() => {});
    return page;
  };
  let size = Math.min(FIRST_READ, most);
  let next = read(query.after, size);
  for (let count = 0; ; ) {
    const tasks = await next;
    const last = tasks.at(-1);
    count += tasks.length;
    const isEnd = last === undefined || tasks.length < size;
    if (!isEnd && count < most) {
      size = Math.min(nextReadSize(tasks), most - count);
      next = read({ key: last[query.sort], id: last.id }, size);
    }
    await take(tasks);
    if (isEnd) return null;
    if (count >= most) return last;
  }
}

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
