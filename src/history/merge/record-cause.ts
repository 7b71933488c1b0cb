import { createCauseFinder } from '../../causes/find-cause.ts';
import type { TaskCause, TaskTextField } from '../../model.ts';
import type { TaskLife } from './life.ts';
import type { TaskRecord } from './record.ts';

const find = createCauseFinder(null);

/**
 * The cause of a task, from a record without secrets; `null`: it has none, or its texts do not show one.
 *
 * @param shortened texts of which the record has only the beginning
 */
export function causeOfRecord(
  { exception, traceback, truncated }: TaskRecord,
  { state, kind }: Pick<TaskLife, 'state' | 'kind'>,
  shortened: readonly TaskTextField[],
): TaskCause | null {
  if (state !== 'FAILURE' || kind === 'propagated') return null;
  const isCut = (field: TaskTextField): boolean => truncated.includes(field) || shortened.includes(field);
  return find({
    exception,
    traceback,
    isExceptionCut: isCut('exception'),
    isTracebackCut: isCut('traceback'),
  });
}

/** A kept or stored task, with the cause found in its whole texts. */
interface FoundCause {
  readonly record: TaskRecord;
  readonly shortened: readonly TaskTextField[];
  readonly cause?: TaskCause | null;
}

/** The cause that was found, which a task has only while it has failed; else the one in its record. */
export function causeOfKept({ record, shortened, cause }: FoundCause, life: TaskLife): TaskCause | null {
  return cause !== undefined && life.state === 'FAILURE' && life.kind !== 'propagated'
    ? cause
    : causeOfRecord(record, life, shortened);
}
