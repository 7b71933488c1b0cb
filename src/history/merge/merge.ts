/**
 * How messages make a task: a message is merged into its record in place. Nothing else merges: what this process was told
 * of a task that a store has is told to the stored record again. `precedence.ts` decides which message sets a field.
 */
import type { TaskChange, TaskFacts } from '../history.ts';
import { claimantOf, HEADER, RELATION } from './claimant.ts';
import { type Added, addEntry, MAX_ENTRIES } from './entries.ts';
import { addTruncated, takeCanvas, takeFields, takeOutcome, takeTruncated } from './fields.ts';
import { takeProgress } from './progress.ts';
import type { MutableRecord, TaskRecord } from './record.ts';
import { HEADER_FIELDS } from './record-fields.ts';

/**
 * Merges a message into a record.
 *
 * @param arrivedAt milliseconds since 1970; dates messages without a time
 */
export function applyChange(record: MutableRecord, change: TaskChange, arrivedAt: number): Added {
  const { entries } = record;
  const added = addEntry(entries, change, arrivedAt);
  // A result that is read again from storage does not show where the task is now.
  const isReadAgain =
    change.origin === 'result' &&
    change.stored === true &&
    change.type !== 'sent' &&
    added.outcome !== 'added';
  const wasMissing = !isReadAgain && markFound(record);
  const { entry, outcome } = added;
  if (outcome === 'added') {
    const by = claimantOf(entries, entry);
    takeFields(record, change, by);
    takeOutcome(record, change, entry, by);
    takeTruncated(record, change);
    takeProgress(record, change.progress, entry);
    if (entries.length > MAX_ENTRIES) entries.splice(1, 1);
    return added;
  }
  // A message in a queue contains more than its sender's event.
  const isFilled = change.stored === true && fillIn(record, change);
  const isFurther = takeProgress(record, change.progress, entry);
  return wasMissing || isFilled || isFurther ? { ...added, isChanged: true } : added;
}

/**
 * Fills in fields of the header of the task's message that no message of the task has set.
 *
 * @returns whether the record has changed
 */
export function applyFacts(record: MutableRecord, facts: TaskFacts): boolean {
  const wasMissing = markFound(record);
  return fillIn(record, facts) || wasMissing;
}

/**
 * Sets what relations show about a task, which has a lower rank than any message of its own.
 *
 * @param canvas ids of its group and of the body of its chord; `null`: no relation names one
 * @returns whether the record has changed
 */
export function applyRelations(
  record: MutableRecord,
  canvas: { readonly groupId: string | null; readonly chordId: string | null },
): boolean {
  const before = { ...record, ranks: { ...record.ranks } };
  takeCanvas(record, canvas, RELATION);
  return isFilledIn(before, record);
}

/** What a history was told of a task. */
export type RecordStep =
  | { readonly change: TaskChange; readonly arrivedAt: number }
  | { readonly facts: TaskFacts }
  | { readonly isMissing: boolean };

/** Tells a record the same again. */
export function applyStep(record: MutableRecord, step: RecordStep): void {
  if ('change' in step) applyChange(record, step.change, step.arrivedAt);
  else if ('facts' in step) applyFacts(record, step.facts);
  else record.isMissing = step.isMissing;
}

/** A task with any message is not missing. @returns whether it was missing */
function markFound(record: MutableRecord): boolean {
  const wasMissing = record.isMissing;
  record.isMissing = false;
  return wasMissing;
}

function fillIn(record: MutableRecord, facts: TaskFacts): boolean {
  const before = { ...record, ranks: { ...record.ranks } };
  takeFields(record, facts, HEADER);
  for (const field of ['args', 'kwargs'] as const) {
    const isTaken = record[field] !== before[field];
    if (isTaken && facts.truncated?.includes(field) === true) addTruncated(record, field);
  }
  return isFilledIn(before, record);
}

function isFilledIn(before: TaskRecord, after: TaskRecord): boolean {
  return (
    HEADER_FIELDS.some((field) => before[field] !== after[field]) ||
    before.ranks.group !== after.ranks.group ||
    before.ranks.chord !== after.ranks.chord
  );
}
