import type { FindCause } from '../../causes/find-cause.ts';
import type { TaskCause, TaskTextField } from '../../model.ts';
import type { TaskLife } from '../merge/life.ts';
import type { TaskRecord } from '../merge/record.ts';
import { FACT, type Records } from '../table/records.ts';

/**
 * The cause of a task whose record has been packed. The result is kept as long as the texts: the table may later keep
 * only a part of long ones.
 *
 * @param given the cause found earlier; `undefined`: none was searched
 */
export function causeOf(
  records: Records,
  slot: number,
  record: TaskRecord,
  { state, kind }: Pick<TaskLife, 'state' | 'kind'>,
  find: FindCause,
  given: TaskCause | null | undefined,
): TaskCause | null {
  const facts = records.facts[slot] as number;
  if (state !== 'FAILURE' || kind === 'propagated') {
    records.facts[slot] = facts & ~FACT.CAUSE_FOUND;
    return null;
  }
  if (given === undefined && (facts & FACT.CAUSE_FOUND) !== 0)
    return records.causes.read(records.cause[slot] as number);
  records.facts[slot] = facts | FACT.CAUSE_FOUND;
  if (given !== undefined) return given;
  const { exception, traceback } = record;
  return find({
    exception,
    traceback,
    isExceptionCut: isCut(records, slot, record, 'exception'),
    isTracebackCut: isCut(records, slot, record, 'traceback'),
  });
}

/** Whether the sender has cut the text, or the table keeps only its beginning and nothing else is known. */
function isCut(
  { extras, values }: Records,
  slot: number,
  record: TaskRecord,
  field: Extract<TaskTextField, 'exception' | 'traceback'>,
): boolean {
  if (record.truncated.includes(field)) return true;
  const { text, cut } = values.read(extras.get(slot)?.[field] ?? null);
  return cut && text === record[field];
}
