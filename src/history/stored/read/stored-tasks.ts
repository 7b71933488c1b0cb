/** Makes tasks of stored records: the same rows that memory makes of them. */
import type { Task, TaskCause, TaskTextField } from '../../../model.ts';
import type { TaskFigures } from '../../../select/task-figures.ts';
import type { ReadContext, TaskPosition, TaskSort } from '../../../source.ts';
import { flagFactsOf, flagsFrom } from '../../answers/task-flags.ts';
import type { MemoryAccess } from '../../memory/memory-access.ts';
import { lifeOf, retriesIn } from '../../merge/life.ts';
import type { TaskRecord } from '../../merge/record.ts';
import { causeOfKept, toFigures, toTask } from '../../merge/task.ts';
import type { StoredQuery, StoredRecord, StoredTask } from '../../store.ts';
import { readKeptTask } from '../record-text.ts';
import type { ReaderContext } from './reader-context.ts';

/** What rows depend on besides their records. */
export type RowContext = Pick<MemoryAccess, 'flags' | 'isRedacted'>;

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
