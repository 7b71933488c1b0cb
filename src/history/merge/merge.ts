/**
 * How messages make a task: pure functions from a record and a message to the next record. A record that
 * does not change is returned as the same object. `precedence.ts` says which message is believed.
 */
import type { TaskChange, TaskFacts } from '../history.ts';
import { addTruncated, copyInto, type Draft, draftOf } from './draft.ts';
import { type Added, addEntry } from './entries.ts';
import { takeCanvas, takeFields } from './fields.ts';
import { takeOutcome, takeTruncated } from './outcome.ts';
import { reporterOf, type Standing, standingOf } from './precedence.ts';
import type { TaskRecord } from './record.ts';

/** A record after a message, and what the message was to it. */
export interface Merged extends Omit<Added, 'entries'> {
  readonly record: TaskRecord;
}

/** Headers and relations are no change in the life of a task, so no other message is later or earlier. */
const NO_CHANGE: Standing = { latestOfKind: true, latestOpening: true, earliestOpening: true };

/** The fields that a header or a relation can set. */
const FILLED = [
  ...(['name', 'queue', 'args', 'kwargs', 'eta', 'expires', 'parentId', 'hasNoParent', 'rootId'] as const),
  ...(['groupId', 'chordId', 'kind', 'stamps'] as const),
] as const;

/**
 * Takes in a message.
 *
 * @param arrivedAt milliseconds since 1970; dates messages without a time
 */
export function merge(record: TaskRecord, change: TaskChange, arrivedAt: number): TaskRecord {
  return mergeChange(record, change, arrivedAt).record;
}

/**
 * Like {@link merge}, and says what the message was to the record.
 *
 * @param scratch a draft to use instead of a new one, which becomes the record that is returned
 */
export function mergeChange(
  record: TaskRecord,
  change: TaskChange,
  arrivedAt: number,
  scratch: Draft | null = null,
): Merged {
  const { entries, entry, outcome, isNews } = addEntry(record.entries, change, arrivedAt);
  const found = asFound(record);
  if (outcome !== 'added') {
    const known = entries === record.entries ? found : { ...found, entries };
    // A queue holds more of a message than its sender's event says.
    return { record: change.stored === true ? fillIn(known, change) : known, entry, outcome, isNews };
  }
  const draft = scratch === null ? draftOf(found) : copyInto(scratch, found);
  const standing = standingOf(record.entries, entry);
  draft.entries = entries;
  takeFields(draft, change, { reporter: reporterOf(entry), standing });
  takeOutcome(draft, change, entry, standing);
  takeTruncated(draft, change);
  return { record: draft, entry, outcome, isNews };
}

/** Takes what the header of the task's message says: it fills in what no message of the task has said. */
export function mergeFacts(record: TaskRecord, facts: TaskFacts): TaskRecord {
  return fillIn(asFound(record), facts);
}

/**
 * Takes what relations say of a task, which counts less than any message of its own.
 *
 * @param canvas ids of its group and of the body of its chord; `null`: no relation names one
 */
export function mergeRelations(
  record: TaskRecord,
  canvas: { readonly groupId: string | null; readonly chordId: string | null },
): TaskRecord {
  const draft = draftOf(record);
  takeCanvas(draft, canvas, { reporter: 'relation', standing: NO_CHANGE });
  return isSame(draft, record) ? record : draft;
}

/** Whatever is said of a task says that it is somewhere. */
function asFound(record: TaskRecord): TaskRecord {
  return record.isMissing ? { ...record, isMissing: false } : record;
}

function fillIn(record: TaskRecord, facts: TaskFacts): TaskRecord {
  const draft = draftOf(record);
  takeFields(draft, facts, { reporter: 'header', standing: NO_CHANGE });
  for (const field of ['args', 'kwargs'] as const) {
    const isTaken = draft[field] !== record[field];
    if (isTaken && facts.truncated?.includes(field) === true) addTruncated(draft, field);
  }
  return isSame(draft, record) ? record : draft;
}

function isSame(draft: Draft, record: TaskRecord): boolean {
  const { group, chord } = record.ranks;
  return (
    FILLED.every((field) => draft[field] === record[field]) &&
    draft.ranks.group === group &&
    draft.ranks.chord === chord
  );
}
