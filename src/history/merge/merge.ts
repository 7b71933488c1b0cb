/**
 * How messages make a task: a message is merged into its record in place. Nothing else merges: what this process was told
 * of a task that a store has is told to the stored record again. `precedence.ts` decides which message sets a field. A
 * message that arrives twice, or that is read again from where it is stored, adds no second entry.
 */
import { isName } from '../changes.ts';
import type { TaskChange, TaskFacts } from '../history.ts';
import {
  addTruncated,
  claimantOf,
  HEADER,
  RELATION,
  takeCanvas,
  takeFields,
  takeOutcome,
  takeTruncated,
} from './fields.ts';
import {
  type EntryKind,
  isSameReport,
  KIND_ORDER,
  type MutableRecord,
  STATE_OF_KIND,
  type TaskEntry,
  type TaskRecord,
  takeProgress,
} from './record.ts';
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

/**
 * Most entries of one task: a hundred attempts, each with what client, worker and backend report. Of more, the oldest but
 * the first are dropped.
 */
const MAX_ENTRIES = 700;

/** The effect of a message on the entries of its task. */
export interface Added {
  /** The message, as an entry. */
  readonly entry: TaskEntry;
  /** `added`: it is a new entry; `improved`: a known entry now says more; `known`: it says nothing new. */
  readonly outcome: 'added' | 'improved' | 'known';
  /** It reports, as it happens, a change that neither its own origin nor the other one has reported yet. */
  readonly isNews: boolean;
  readonly isChanged: boolean;
}

/**
 * Adds a message to the entries, in place.
 *
 * @param arrivedAt milliseconds since 1970; dates messages without a time
 */
function addEntry(entries: TaskEntry[], change: TaskChange, arrivedAt: number): Added {
  const reported = entryOf(change, arrivedAt);
  if (isOutdated(entries, reported)) {
    return { entry: reported, outcome: 'known', isNews: false, isChanged: false };
  }
  const entry = needsNumber(reported)
    ? { ...reported, retries: countRetries(entries), isCounted: true }
    : reported;
  const isNews = !entry.isStored && isFirstReport(entries, entry);
  const at = findRepeated(entries, reported, entry.retries);
  const known = at < 0 ? undefined : entries[at];
  if (known === undefined) {
    entries.push(entry);
    return { entry, outcome: 'added', isNews, isChanged: true };
  }
  const heard = known.isStored && !entry.isStored ? { ...known, isStored: false } : known;
  const better = improve(heard, entry, change.detail);
  entries[at] = better;
  return {
    entry,
    outcome: better === heard ? 'known' : 'improved',
    isNews: isNews && known.isStored,
    isChanged: better !== known,
  };
}

function entryOf(change: TaskChange, arrivedAt: number): TaskEntry {
  const { retries, time, heardAt } = change;
  const kind = kindOf(change);
  const isStored = change.stored === true;
  const detail = change.detail ?? change.exception;
  const isDated = isMoment(time);
  const latest = isMoment(heardAt) ? Math.min(heardAt, arrivedAt) : arrivedAt;
  // A message found in a queue does not show when it was sent.
  const isVague = isStored && (kind === 'sent' || !isMoment(heardAt));
  return {
    kind,
    state: kind === 'custom' ? (change.state ?? STATE_OF_KIND.custom) : null,
    origin: change.origin,
    time: isDated ? time : latest,
    timeSource: isDated ? 'sender' : isVague ? 'reading' : 'arrival',
    isStored,
    retries: typeof retries === 'number' && retries >= 0 ? Math.trunc(retries) : null,
    isCounted: false,
    worker: isName(change.worker) ? change.worker : null,
    detail: typeof detail === 'string' && detail !== '' ? detail : null,
  };
}

/** An unknown type counts as custom. */
function kindOf({ type, tentative, isConsequence }: TaskChange): EntryKind {
  if (type === 'revoked' && tentative === true) return 'revoking';
  if (type === 'failed' && isConsequence === true) return 'propagated';
  return KIND_ORDER[type] === undefined ? 'custom' : type;
}

function isMoment(value: number | null | undefined): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

/** The backend writes the state of a task again and again, without a time and often without a number. */
function isUndatedState({ origin, timeSource, kind }: TaskEntry): boolean {
  return origin === 'result' && timeSource !== 'sender' && kind !== 'sent';
}

/** Whether the backend repeats an earlier state: its messages are ordered only by their arrival. */
function isOutdated(entries: readonly TaskEntry[], entry: TaskEntry): boolean {
  if (!isUndatedState(entry)) return false;
  let endedAt = Number.NEGATIVE_INFINITY;
  let receivedAt = Number.NEGATIVE_INFINITY;
  let last: TaskEntry | null = null;
  for (const other of entries) {
    if (other.kind === 'received') receivedAt = Math.max(receivedAt, other.time);
    else if (other.origin === 'result' && other.timeSource === 'sender') {
      endedAt = Math.max(endedAt, other.time);
    }
    if (other.origin === 'result') last = other;
  }
  // After an end the backend can only report an attempt that was received later.
  if (endedAt > receivedAt) return true;
  // Without a number, a second RETRY in a row is the first one again.
  return entry.retries === null && entry.kind === 'retried' && last?.kind === 'retried';
}

/** Results without a number of retries are counted, except for a message found in its queue. */
function needsNumber({ retries, origin, kind, isStored, timeSource }: TaskEntry): boolean {
  if (retries !== null || origin === 'event') return false;
  return !(kind === 'sent' && isStored && timeSource !== 'sender');
}

/** How many retries the backend has reported so far. */
function countRetries(entries: readonly TaskEntry[]): number {
  return entries.filter((other) => other.kind === 'retried' && isUndatedState(other)).length;
}

/**
 * Whether this origin reports the change before the other one does. Each origin reports each change
 * once, so the one that has reported it as often as the other is the first with the next.
 */
function isFirstReport(entries: readonly TaskEntry[], entry: TaskEntry): boolean {
  // Most tasks are reported by one origin only.
  if (entries.every(({ origin }) => origin === entry.origin)) return true;
  let lead = 1;
  for (const other of entries) {
    if (!other.isStored && isSameState(other, entry)) lead += other.origin === entry.origin ? 1 : -1;
  }
  return lead > 0;
}

function isSameState(a: TaskEntry, b: TaskEntry): boolean {
  if (a.kind === b.kind) return a.state === b.state;
  // A custom state is never the same as one of Celery's, whatever its name.
  return a.state === null && b.state === null && STATE_OF_KIND[a.kind] === STATE_OF_KIND[b.kind];
}

/**
 * @param retries the number of the attempt, reported or counted
 * @returns the position of the entry that the message repeats; −1: it repeats none
 */
function findRepeated(entries: readonly TaskEntry[], entry: TaskEntry, retries: number | null): number {
  if (entry.timeSource === 'sender') return findSameTime(entries, entry);
  // An event without a time that was not stored cannot be recognized.
  if (!entry.isStored && !isUndatedState(entry)) return -1;
  if (!isUndatedState(entry)) return findSinceReceived(entries, entry);
  return entries.findLastIndex((other) => other.retries === retries && isSameReport(other, entry));
}

function findSameTime(entries: readonly TaskEntry[], entry: TaskEntry): number {
  for (let at = entries.length - 1; at >= 0; at--) {
    const other = entries[at] as TaskEntry;
    if (other.time === entry.time && other.worker === entry.worker && isSameReport(other, entry)) return at;
  }
  return -1;
}

/** The last report of the same attempt. Each `received` begins another one, unless its number says otherwise. */
function findSinceReceived(entries: readonly TaskEntry[], entry: TaskEntry): number {
  let found = -1;
  for (let at = 0; at < entries.length; at++) {
    const other = entries[at] as TaskEntry;
    if (entry.retries !== null && other.retries !== entry.retries) continue;
    if (other.kind === 'received' && entry.kind !== 'sent') found = -1;
    if (isSameReport(other, entry)) found = at;
  }
  return found;
}

/**
 * A message that reports the same may show that the task never ran, and one without a time may give a better time or
 * another detail.
 */
function improve(known: TaskEntry, entry: TaskEntry, detail: string | null | undefined): TaskEntry {
  let better = known;
  if (entry.kind === 'propagated' && known.kind !== 'propagated') better = { ...known, kind: 'propagated' };
  if (entry.timeSource === 'sender') return better;
  const isVague = known.timeSource === 'reading';
  const isBetter = isVague === (entry.timeSource === 'reading') ? entry.time < known.time : isVague;
  if (isBetter) {
    const timeSource = known.timeSource === 'sender' ? 'sender' : entry.timeSource;
    better = { ...better, time: entry.time, timeSource };
  }
  if (typeof detail === 'string' && detail !== known.detail) better = { ...better, detail };
  return better;
}
