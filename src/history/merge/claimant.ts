/** Decides by the precedence of each field whether a message may set it. */
import { type Claim, type Field, PRECEDENCE, type Reporter } from './precedence.ts';
import { isSameReport, type TaskEntry } from './record.ts';

/** The claims of one reporter; `null` for a field that it may not set. */
type Claims = Readonly<Record<Field, Claim | null>>;

/** How the time of a message compares with those of the other messages of its task. */
export interface TimeOrder {
  readonly isLatestOfKind: boolean;
  readonly isLatestOpening: boolean;
  readonly isEarliestOpening: boolean;
}

/** A message that claims fields of a task. */
export interface Claimant extends TimeOrder {
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
export function wins(
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
