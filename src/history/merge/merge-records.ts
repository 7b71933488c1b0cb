/**
 * Merges what two instances know about one task. Both have folded messages of the same task, some of them the same; the
 * result is what an instance that had received all of them would know.
 */
import type { TaskTextField } from '../../model.ts';
import { mergeEntries } from './merge-entries.ts';
import { OPENING, RESULT_RANK } from './precedence.ts';
import { laterProgress } from './progress.ts';
import { KIND_ORDER, type MutableRecord, type Ranks, type TaskEntry, type TaskRecord } from './record.ts';
import { SAME_FIELDS } from './record-fields.ts';

/** Which of two values of the same rank is kept: that of the record with the later (or earlier) message of a kind. */
type Tie = (entries: readonly TaskEntry[], rank: number) => number;

/** Fields that are claimed together. */
interface Claim {
  readonly rank: keyof Ranks;
  readonly fields: readonly (keyof TaskRecord)[];
  /** The higher number is kept. */
  readonly tie: Tie;
  /** From this rank on, a field that is not known is known to have no value. */
  readonly isCertainFrom?: number;
}

const isLive = ({ origin, isStored }: TaskEntry): boolean => origin === 'event' && !isStored;
const isOpening = (entry: TaskEntry): boolean =>
  isLive(entry) && (entry.kind === 'sent' || entry.kind === 'received');
const isRead = (entry: TaskEntry): boolean => !isLive(entry);
const isDated = ({ timeSource }: TaskEntry): boolean => timeSource !== 'reading';
const isEnd = ({ kind }: TaskEntry): boolean => KIND_ORDER[kind] >= KIND_ORDER.revoked;

const latestOpening: Tie = (entries, rank) => latest(entries, rank >= OPENING ? isOpening : () => true);
const earliestOpening: Tie = (entries, rank) =>
  rank >= OPENING ? -earliest(entries, isOpening) : latest(entries, () => true);

/** Retries have the ranks 1 and 2, ends 3 and 4; those of workers are even. */
function latestFailure(entries: readonly TaskEntry[], rank: number): number {
  const isOfOrigin = ({ origin }: TaskEntry): boolean => (origin === 'event') === (rank % 2 === 0);
  if (rank <= 2) return latest(entries, (entry) => isOfOrigin(entry) && entry.kind === 'retried');
  return latestOf(
    entries,
    ({ kind }) => FAILED.has(kind),
    (entry) => isOfOrigin(entry) && isEnd(entry),
  );
}

const FAILED: ReadonlySet<TaskEntry['kind']> = new Set(['failed', 'propagated']);

/** The fields that have a rank, as `precedence.ts` describes them. */
const CLAIMS: readonly Claim[] = [
  {
    rank: 'name',
    fields: ['name'],
    tie: (entries, rank) =>
      rank === 4
        ? latest(entries, (entry) => isLive(entry) && entry.kind === 'sent')
        : rank === 3
          ? latestOf(entries, isDated, isRead)
          : latestOf(entries, isOpening, isLive),
  },
  { rank: 'args', fields: ['args', 'kwargs'], tie: latestOpening },
  {
    rank: 'queue',
    fields: ['queue'],
    tie: (entries, rank) =>
      rank >= OPENING
        ? latest(entries, (entry) => isLive(entry) && entry.kind === 'sent')
        : latest(entries, () => true),
  },
  { rank: 'eta', fields: ['eta'], tie: latestOpening, isCertainFrom: OPENING },
  { rank: 'lineage', fields: ['parentId', 'rootId'], tie: earliestOpening, isCertainFrom: OPENING },
  { rank: 'group', fields: ['groupId'], tie: (entries) => latest(entries, () => true) },
  { rank: 'chord', fields: ['chordId'], tie: (entries) => latest(entries, () => true) },
  { rank: 'exception', fields: ['exception', 'traceback'], tie: latestFailure },
];

/** Every text, with the claim it belongs to. */
const TEXTS: readonly TaskTextField[] = ['args', 'kwargs', 'result', 'exception', 'traceback'];

/**
 * @param one and other of the same task; their order makes no difference
 * @returns a record of its own
 */
export function mergeRecords(one: TaskRecord, other: TaskRecord): MutableRecord {
  const entries = mergeEntries(one.entries, other.entries);
  const isOneLater = latest(one.entries, () => true) >= latest(other.entries, () => true);
  const [later, earlier] = isOneLater ? [one, other] : [other, one];
  const record: MutableRecord = { ...later, entries, ranks: { ...later.ranks } };
  const truncated = new Set<TaskTextField>();
  for (const claim of CLAIMS) takeClaim(record, claim, later, earlier, truncated);
  takeResult(record, later, earlier, truncated);
  takeOthers(record, later, earlier);
  record.truncated = TEXTS.filter((field) => truncated.has(field));
  record.isMissing = isMissing(record, one, other);
  return record;
}

function takeClaim(
  record: MutableRecord,
  { rank, fields, tie, isCertainFrom = Number.POSITIVE_INFINITY }: Claim,
  later: TaskRecord,
  earlier: TaskRecord,
  truncated: Set<TaskTextField>,
): void {
  const [high, low] = [later.ranks[rank], earlier.ranks[rank]];
  const order = high - low || compare(tie(later.entries, high), tie(earlier.entries, low));
  const [first, second] = order >= 0 ? [later, earlier] : [earlier, later];
  record.ranks[rank] = Math.max(high, low);
  for (const field of fields) {
    const isCertain = first.ranks[rank] >= isCertainFrom;
    const from = takenFrom(field, first, second, order === 0, isCertain);
    Object.assign(record, { [field]: from[field] });
    if (isText(field) && isTruncated(field, from, first, second)) truncated.add(field);
  }
}

/** The record whose value of a field is kept. @param isTie whether no rule decides, and the second may know more */
function takenFrom(
  field: keyof TaskRecord,
  first: TaskRecord,
  second: TaskRecord,
  isTie: boolean,
  isCertain = false,
): TaskRecord {
  const [value, other] = [first[field], second[field]];
  if (value === other || other === null) return first;
  if (value === null) return isCertain && !isTie ? first : second;
  if (isText(field)) {
    const isCut = first.truncated.includes(field);
    if (isCut && !second.truncated.includes(field) && (isTie || startsWith(other, value))) return second;
    if (isCut !== second.truncated.includes(field)) return first;
    if (isCut && startsWith(other, value)) return second;
  }
  return isTie && String(other) > String(value) ? second : first;
}

function isText(field: keyof TaskRecord): field is TaskTextField {
  return (TEXTS as readonly string[]).includes(field);
}

function startsWith(whole: unknown, part: unknown): boolean {
  return typeof whole === 'string' && typeof part === 'string' && whole.startsWith(part);
}

function isTruncated(field: TaskTextField, from: TaskRecord, first: TaskRecord, second: TaskRecord): boolean {
  if (from.truncated.includes(field)) return true;
  // For an exception, this mark is permanent; for any other text, it applies only to that text.
  const isKept = field === 'exception' || field === 'traceback';
  return (
    isKept && first[field] === second[field] && (from === first ? second : first).truncated.includes(field)
  );
}

/** By {@link RESULT_PRECEDENCE}: the text of the last end, and of those of one end that of the event unless it was cut. */
function takeResult(
  record: MutableRecord,
  later: TaskRecord,
  earlier: TaskRecord,
  truncated: Set<TaskTextField>,
): void {
  const [high, low] = [later.ranks.result, earlier.ranks.result];
  const isCut = high === RESULT_RANK.CUT || low === RESULT_RANK.CUT;
  record.ranks.result = isCut ? RESULT_RANK.CUT : Math.max(high, low);
  const order = lastSuccess(later, earlier, isCut) || (isCut ? 0 : high - low);
  const [first, second] = order >= 0 ? [later, earlier] : [earlier, later];
  const from = takenFrom('result', first, second, order === 0);
  record.result = from.result;
  if (from.truncated.includes('result')) truncated.add('result');
}

/** Which of two records knows the later success, of those that the same origin has reported to both. */
function lastSuccess(a: TaskRecord, b: TaskRecord, isCut: boolean): number {
  for (const origin of ['event', 'result'] as const) {
    const isSuccess = (entry: TaskEntry): boolean => entry.kind === 'succeeded' && entry.origin === origin;
    const [one, other] = [latest(a.entries, isSuccess), latest(b.entries, isSuccess)];
    if (Number.isFinite(one) && Number.isFinite(other) && one !== other) return one - other;
    // The text of an event counts more than that of the backend, unless it was cut.
    if (!isCut && Number.isFinite(one) !== Number.isFinite(other)) return 0;
  }
  return 0;
}

/** Fields that are equal in every message, and fields that the last one decides. */
function takeOthers(record: MutableRecord, later: TaskRecord, earlier: TaskRecord): void {
  const isOneOpening = latestOpening(later.entries, OPENING) >= latestOpening(earlier.entries, OPENING);
  const [opened, before] = isOneOpening ? [later, earlier] : [earlier, later];
  record.expires = opened.expires ?? before.expires;
  for (const field of SAME_FIELDS) Object.assign(record, { [field]: later[field] ?? earlier[field] });
  record.progress = laterProgress(later.progress, earlier.progress);
  record.hasNoParent = later.hasNoParent || earlier.hasNoParent;
  const isOwnEnd = (entry: TaskEntry): boolean => entry.origin === 'event' && isEnd(entry);
  const [one, other] = [latest(later.entries, isOwnEnd), latest(earlier.entries, isOwnEnd)];
  record.runtime =
    one === other ? (later.runtime ?? earlier.runtime) : one > other ? later.runtime : earlier.runtime;
}

/** The value of the record that has more messages, since each message clears it. */
function isMissing({ entries }: TaskRecord, one: TaskRecord, other: TaskRecord): boolean {
  const isOneWhole = one.entries.length === entries.length;
  const isOtherWhole = other.entries.length === entries.length;
  if (isOneWhole === isOtherWhole) return one.isMissing && other.isMissing;
  return isOneWhole ? one.isMissing : other.isMissing;
}

/** The difference, also between infinite numbers. */
function compare(one: number, other: number): number {
  return one === other ? 0 : one - other;
}

/** The time of the last entry that passes; −Infinity: none does. */
function latest(entries: readonly TaskEntry[], passes: (entry: TaskEntry) => boolean): number {
  let time = Number.NEGATIVE_INFINITY;
  for (const entry of entries) if (entry.time > time && passes(entry)) time = entry.time;
  return time;
}

/** The time of the last entry that passes, of the preferred ones if there are any. */
function latestOf(
  entries: readonly TaskEntry[],
  isPreferred: (entry: TaskEntry) => boolean,
  passes: (entry: TaskEntry) => boolean,
): number {
  const time = latest(entries, (entry) => passes(entry) && isPreferred(entry));
  return Number.isFinite(time) ? time : latest(entries, passes);
}

function earliest(entries: readonly TaskEntry[], passes: (entry: TaskEntry) => boolean): number {
  let time = Number.POSITIVE_INFINITY;
  for (const entry of entries) if (entry.time < time && passes(entry)) time = entry.time;
  return time;
}
