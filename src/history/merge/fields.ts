/**
 * Takes from a message what the task is: name, arguments, queue, times, relatives. The precedence of each field decides
 * whether the message may set it.
 */
import type { TaskTextField } from '../../model.ts';
import type { TaskChange, TaskFacts } from '../history.ts';
import {
  type Claim,
  type Field,
  OPENING,
  OUTCOME_PRECEDENCE,
  type OutcomeReporter,
  PRECEDENCE,
  RESULT_PRECEDENCE,
  RESULT_RANK,
  type Reporter,
} from './precedence.ts';
import { isSameReport, KIND_ORDER, type MutableRecord, type TaskEntry } from './record.ts';
import { FIELD_ROWS, SAME_FIELDS, type SameField } from './record-fields.ts';

/** Takes the fields that the claimant may set. */
export function takeFields(record: MutableRecord, facts: TaskFacts, by: Claimant): void {
  const { name, args, queue, eta } = facts;
  const { claims } = by;
  if (isGiven(name, by) && wins(claims.name, record.ranks.name, by, record.name === null)) {
    record.name = name;
    record.ranks.name = claims.name.rank;
  }
  // A message with neither arguments nor queue nor eta has no valid keyword arguments or expiry.
  if (by.reporter === 'header' || args !== undefined || queue !== undefined || eta !== undefined) {
    takeMessage(record, facts, by);
  }
  if (facts.parentId !== undefined || facts.rootId !== undefined) takeLineage(record, facts, by);
  takeCanvas(record, facts, by);
  for (const field of SAME_FIELDS) {
    const value = facts[field];
    if (value != null) takeSame(record, field, value, by);
  }
}

function takeSame(record: MutableRecord, field: SameField, value: unknown, by: Claimant): void {
  if (!wins(by.claims.same, 0, by, record[field] === null)) return;
  const { keep } = FIELD_ROWS[field];
  const kept = keep === undefined ? value : keep(value);
  if (kept !== null) Object.assign(record, { [field]: kept });
}

/** Group and chord of a task. */
export function takeCanvas(
  record: MutableRecord,
  { groupId, chordId }: Pick<TaskFacts, 'groupId' | 'chordId'>,
  by: Claimant,
): void {
  const { ranks } = record;
  const { group, chord } = by.claims;
  if (typeof groupId === 'string' && wins(group, ranks.group, by, record.groupId === null)) {
    record.groupId = groupId;
    ranks.group = group.rank;
  }
  if (typeof chordId === 'string' && wins(chord, ranks.chord, by, record.chordId === null)) {
    record.chordId = chordId;
    ranks.chord = chord.rank;
  }
}

/** A header without a name or queue has an empty one. */
function isGiven(text: string | null | undefined, { reporter }: Claimant): text is string {
  return typeof text === 'string' && (text !== '' || reporter !== 'header');
}

function takeMessage(record: MutableRecord, facts: TaskFacts, by: Claimant): void {
  const { args, kwargs, queue, expires } = facts;
  const { ranks } = record;
  const { claims } = by;
  // Before the arguments raise the rank, which also applies to the keyword arguments.
  if (typeof kwargs === 'string' && wins(claims.args, ranks.args, by, record.kwargs === null)) {
    record.kwargs = kwargs;
    if (by.reporter !== 'header') removeTruncated(record, 'kwargs');
  }
  if (typeof args === 'string' && wins(claims.args, ranks.args, by, record.args === null)) {
    record.args = args;
    ranks.args = claims.args.rank;
    if (by.reporter !== 'header') removeTruncated(record, 'args');
  }
  if (isGiven(queue, by) && wins(claims.queue, ranks.queue, by, record.queue === null)) {
    record.queue = queue;
    ranks.queue = claims.queue.rank;
  }
  takeEta(record, facts.eta, by);
  if (typeof expires === 'number' && wins(claims.expires, 0, by, record.expires === null))
    record.expires = expires;
}

function takeEta(record: MutableRecord, eta: number | null | undefined, by: Claimant): void {
  if (typeof eta !== 'number' && (eta !== null || by.reporter === 'header')) return;
  const { ranks } = record;
  const claim = by.claims.eta;
  if (!wins(claim, ranks.eta, by, record.eta === null)) return;
  record.eta = eta;
  // Only a message that opens an attempt knows that there is none.
  if (eta !== null || claim.rank >= OPENING) ranks.eta = claim.rank;
}

function takeLineage(record: MutableRecord, { parentId, rootId, retries }: TaskFacts, by: Claimant): void {
  const claim = by.claims.lineage;
  const heldRank = record.ranks.lineage;
  // Only a message that opens an attempt can remove a parent or root.
  const isOpening = by.reporter === 'sent' || by.reporter === 'received';
  if (parentId !== undefined && wins(claim, heldRank, by, record.parentId === null)) {
    const parent = parentId === record.id ? null : parentId;
    if (parent !== null || isOpening) record.parentId = parent;
    // A retry names the task itself only where there was no parent; `replace()` does so in any case.
    const isNone = parentId === null || (parent === null && (retries ?? 0) > 0);
    if (isNone) record.hasNoParent = true;
  }
  if (rootId !== undefined && wins(claim, heldRank, by, record.rootId === null)) {
    if (rootId !== null || isOpening) record.rootId = rootId;
  }
  if (isOpening && wins(claim, heldRank, by, false)) record.ranks.lineage = OPENING;
}

/** Notes that the sender has cut this text. */
export function addTruncated(record: MutableRecord, field: TaskTextField): void {
  if (!record.truncated.includes(field)) record.truncated = [...record.truncated, field];
}

/** Notes that this text is whole. */
function removeTruncated(record: MutableRecord, field: TaskTextField): void {
  if (record.truncated.includes(field))
    record.truncated = record.truncated.filter((other) => other !== field);
}

/** @param order how the time of the message compares with other messages of the task */
export function takeOutcome(
  record: MutableRecord,
  change: TaskChange,
  entry: TaskEntry,
  order: TimeOrder,
): void {
  const reporter = outcomeReporterOf(change);
  const { kind } = entry;
  const { runtime, result, exception, traceback } = change;
  if (isEnd(entry) && isLastEnd(record, entry)) record.runtime = typeof runtime === 'number' ? runtime : null;
  if (kind === 'succeeded' && typeof result === 'string' && order.isLatestOfKind) {
    takeResult(record, result, reporter);
  }
  if (typeof exception !== 'string' && typeof traceback !== 'string') return;
  const field = kind === 'retried' ? 'retryException' : 'exception';
  const right = OUTCOME_PRECEDENCE[field][reporter];
  if (!wins(right, record.ranks.exception, order, false)) return;
  record.ranks.exception = right.rank;
  if (typeof exception === 'string') record.exception = exception;
  if (typeof traceback === 'string') record.traceback = traceback;
}

/** Only the worker measures the run time, and reports it with the end if at all. */
function isEnd({ kind, origin }: TaskEntry): boolean {
  return origin === 'event' && KIND_ORDER[kind] >= KIND_ORDER.revoked;
}

/** Whether no other run ended later. */
function isLastEnd({ entries }: MutableRecord, entry: TaskEntry): boolean {
  return entries.every((other) => other.time <= entry.time || !isEnd(other));
}

function outcomeReporterOf({ origin, truncated }: TaskChange): OutcomeReporter {
  if (origin === 'result') return 'backend';
  return truncated?.includes('result') === true ? 'cut' : 'worker';
}

function takeResult(record: MutableRecord, result: string, reporter: OutcomeReporter): void {
  const held = record.ranks.result;
  const decision = RESULT_PRECEDENCE[reporter][held];
  if (decision === 'leave') return;
  record.ranks.result = rankAfter(held, reporter);
  if (decision === 'note') return;
  record.result = result;
  if (reporter === 'backend') removeTruncated(record, 'result');
}

function rankAfter(held: number, reporter: OutcomeReporter): number {
  if (held === RESULT_RANK.CUT || reporter === 'cut') return RESULT_RANK.CUT;
  return reporter === 'worker' ? RESULT_RANK.WORKER : Math.max(held, RESULT_RANK.BACKEND);
}

/** Notes which texts the sender has cut. Another message may have reported the whole text, which is then kept. */
export function takeTruncated(record: MutableRecord, change: TaskChange): void {
  for (const field of change.truncated ?? []) {
    if (isHeld(record, field, change)) addTruncated(record, field);
  }
}

function isHeld(record: MutableRecord, field: TaskTextField, change: TaskChange): boolean {
  if (field === 'exception' || field === 'traceback') return true;
  return record[field] === null || record[field] === change[field];
}

/** The claims of one reporter; `null` for a field that it may not set. */
type Claims = Readonly<Record<Field, Claim | null>>;

/** How the time of a message compares with those of the other messages of its task. */
interface TimeOrder {
  readonly isLatestOfKind: boolean;
  readonly isLatestOpening: boolean;
  readonly isEarliestOpening: boolean;
}

/** A message that claims fields of a task. */
interface Claimant extends TimeOrder {
  readonly reporter: Reporter;
  readonly claims: Claims;
}

/** The table by reporter, since a message has one reporter and many fields. */
const CLAIMS: Readonly<Record<Reporter, Claims>> = {
  sent: claimsOf('sent'),
  received: claimsOf('received'),
  event: claimsOf('event'),
  read: claimsOf('read'),
  header: claimsOf('header'),
  relation: claimsOf('relation'),
};

/** The header of a task's message. */
export const HEADER = unordered('header');
/** Another task, or a group. */
export const RELATION = unordered('relation');

function claimsOf(reporter: Reporter): Claims {
  const claims = Object.entries(PRECEDENCE).map(([field, rule]) => [field, rule[reporter] ?? null]);
  return Object.fromEntries(claims) as Claims;
}

/** A message that is not a change in the life of a task has no later or earlier message. */
function unordered(reporter: Reporter): Claimant {
  return {
    reporter,
    claims: CLAIMS[reporter],
    isLatestOfKind: true,
    isLatestOpening: true,
    isEarliestOpening: true,
  };
}

/**
 * @param entries of the task
 * @param entry the message
 */
export function claimantOf(entries: readonly TaskEntry[], entry: TaskEntry): Claimant {
  const reporter = reporterOf(entry);
  let isLatestOfKind = true;
  let isLatestOpening = true;
  let isEarliestOpening = true;
  for (const other of entries) {
    const { kind, origin, time } = other;
    if (origin === 'event' && !other.isStored && (kind === 'sent' || kind === 'received')) {
      if (time > entry.time) isLatestOpening = false;
      if (time < entry.time) isEarliestOpening = false;
    }
    // A message read from storage happened at some earlier time.
    if (time > entry.time && other.timeSource !== 'reading' && isSameReport(other, entry))
      isLatestOfKind = false;
  }
  return { reporter, claims: CLAIMS[reporter], isLatestOfKind, isLatestOpening, isEarliestOpening };
}

function reporterOf({ kind, origin, isStored }: TaskEntry): 'sent' | 'received' | 'event' | 'read' {
  if (origin === 'result' || isStored) return 'read';
  return kind === 'sent' || kind === 'received' ? kind : 'event';
}

/** @returns whether a claim replaces a present value of this rank */
function wins(
  claim: Claim | null | undefined,
  heldRank: number,
  order: TimeOrder,
  isUnknown: boolean,
): claim is Claim {
  if (claim == null || claim.rank < heldRank) return false;
  if (claim.rank > heldRank && claim.isStrict !== true && claim.tie !== 'if unknown') return true;
  switch (claim.tie) {
    case 'last':
      return true;
    case 'first':
      return false;
    case 'if unknown':
      return isUnknown;
    case 'latest of its kind':
      return order.isLatestOfKind;
    case 'latest opening':
      return order.isLatestOpening;
    case 'earliest opening':
      return order.isEarliestOpening;
  }
}
