/** Makes tasks of stored records: the same rows that memory makes of them. */
import type { Task, TaskCause, TaskTextField } from '../../../model.ts';
import type { TaskFigures } from '../../../select/task-figures.ts';
import type { TaskPosition, TaskSort } from '../../../source.ts';
import { flagFactsOf, flagsFrom } from '../../answers/task-flags.ts';
import type { MemoryView } from '../../memory/memory-view.ts';
import { lifeOf, retriesIn } from '../../merge/life.ts';
import type { TaskRecord } from '../../merge/record.ts';
import { causeOfKept } from '../../merge/record-cause.ts';
import { toFigures, toTask } from '../../merge/task.ts';
import type { StoredTask } from '../../store.ts';
import { readKeptTask } from '../record-text.ts';

/** What rows depend on besides their records. */
export type RowContext = Pick<MemoryView, 'flags' | 'isRedacted'>;

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
