/**
 * Merges the entries of one task that two instances have collected. Both may have received the same messages, with
 * different times if a message carries none.
 */
import { findSinceReceived, isSameReport, isUndatedState, MAX_ENTRIES } from './entries.ts';
import type { TaskEntry } from './record.ts';

/** How late a message without a time may arrive, and how far apart two instances may receive it, in milliseconds. */
const DELAY_MS = 1_000;

/**
 * @param a and b in the order of their arrival
 * @returns the entries of both, each message once; whether `a` or `b` comes first makes no difference but for the order
 *   of messages that arrived at the same time
 */
export function mergeEntries(a: readonly TaskEntry[], b: readonly TaskEntry[]): TaskEntry[] {
  const isBase = isLonger(a, b);
  const [base, more] = isBase ? [a, b] : [b, a];
  const entries = renumber(base, more);
  const others = renumber(more, base);
  const baseEnd = lastEnd(base);
  const moreEnd = lastEnd(more);
  const kept = entries.filter((entry) => !isOutdated(entry, baseEnd, moreEnd));
  for (const entry of others) {
    const at = find(kept, entry);
    if (at >= 0) kept[at] = together(kept[at] as TaskEntry, entry);
    else if (!isOutdated(entry, moreEnd, baseEnd)) kept.splice(positionOf(kept, entry), 0, entry);
  }
  if (kept.length > MAX_ENTRIES) kept.splice(1, kept.length - MAX_ENTRIES);
  return kept;
}

function isLonger(a: readonly TaskEntry[], b: readonly TaskEntry[]): boolean {
  if (a.length !== b.length) return a.length > b.length;
  const at = a.findIndex((entry, index) => entry.time !== b[index]?.time);
  const [one, other] = [a[at], b[at]];
  if (one !== undefined && other !== undefined) return one.time > other.time;
  return JSON.stringify(a) >= JSON.stringify(b);
}

/** Numbers that an instance has counted are too low by the retries that only the other one received. */
function renumber(entries: readonly TaskEntry[], others: readonly TaskEntry[]): TaskEntry[] {
  const missed = missedRetries(entries, others);
  if (missed === 0) return [...entries];
  return entries.map((entry) =>
    entry.isCounted && entry.retries !== null ? { ...entry, retries: entry.retries + missed } : entry,
  );
}

function missedRetries(entries: readonly TaskEntry[], others: readonly TaskEntry[]): number {
  const first = earliest(entries.filter(({ isCounted }) => isCounted));
  if (first === null) return 0;
  const before = others.filter((other) => other.time < first.time);
  const retries = before.filter((other) => other.kind === 'retried' && isUndatedState(other)).length;
  // A second RETRY in a row is the first one again.
  const last = latest(before.filter(({ origin }) => origin === 'result'));
  const isAgain = first.kind === 'retried' && isUndatedState(first) && last?.kind === 'retried';
  return isAgain ? retries - 1 : retries;
}

function earliest(entries: readonly TaskEntry[]): TaskEntry | null {
  return entries.reduce<TaskEntry | null>(
    (first, entry) => (first === null || entry.time < first.time ? entry : first),
    null,
  );
}

function latest(entries: readonly TaskEntry[]): TaskEntry | null {
  return entries.reduce<TaskEntry | null>(
    (last, entry) => (last === null || entry.time >= last.time ? entry : last),
    null,
  );
}

/** When the backend reported an end after which nothing was received; −Infinity: it did not. */
function lastEnd(entries: readonly TaskEntry[]): number {
  let endedAt = Number.NEGATIVE_INFINITY;
  let receivedAt = Number.NEGATIVE_INFINITY;
  for (const { kind, origin, timeSource, time } of entries) {
    if (kind === 'received') receivedAt = Math.max(receivedAt, time);
    else if (origin === 'result' && timeSource === 'sender') endedAt = Math.max(endedAt, time);
  }
  return endedAt > receivedAt ? endedAt : Number.NEGATIVE_INFINITY;
}

/**
 * Whether an undated state came after an end that only the other instance knew of: it repeats an earlier state.
 *
 * @param ownEnd last end that the instance of the entry knew
 * @param otherEnd last end that the other one knew
 */
function isOutdated(entry: TaskEntry, ownEnd: number, otherEnd: number): boolean {
  return (
    Number.isFinite(otherEnd) &&
    !Number.isFinite(ownEnd) &&
    isUndatedState(entry) &&
    entry.time > otherEnd + DELAY_MS
  );
}

/** @returns the position of the entry that reports the same message; −1: there is none */
function find(entries: readonly TaskEntry[], entry: TaskEntry): number {
  const same = entries.findIndex(
    (other) =>
      other.time === entry.time &&
      other.worker === entry.worker &&
      (other.timeSource === 'sender') === (entry.timeSource === 'sender') &&
      isSameReport(other, entry),
  );
  if (same >= 0 || entry.timeSource === 'sender') return same;
  if (isUndatedState(entry)) {
    return entries.findLastIndex((other) => other.retries === entry.retries && isSameReport(other, entry));
  }
  if (entry.isStored) return findSinceReceived(entries.slice(0, positionOf(entries, entry)), entry);
  return entries.findIndex(
    (other) =>
      other.timeSource === 'arrival' &&
      other.worker === entry.worker &&
      Math.abs(other.time - entry.time) < DELAY_MS &&
      isSameReport(other, entry),
  );
}

/** After everything that had arrived by then. */
function positionOf(entries: readonly TaskEntry[], { time }: TaskEntry): number {
  return entries.findLastIndex((other) => other.time <= time) + 1;
}

/** Two reports of one message as one: the better time, and what is known of the rest. */
function together(one: TaskEntry, other: TaskEntry): TaskEntry {
  const [first, second] = isBetterTime(other, one) ? [other, one] : [one, other];
  const retries = one.isCounted && other.isCounted ? Math.max(one.retries ?? 0, other.retries ?? 0) : null;
  const numbered = first.isCounted && !second.isCounted && second.retries !== null ? second : first;
  return {
    ...first,
    retries: retries ?? numbered.retries ?? second.retries,
    isCounted: numbered.retries === null ? second.isCounted : numbered.isCounted,
    isStored: one.isStored && other.isStored,
    worker: first.worker ?? second.worker,
    detail: detailOf(first, second),
  };
}

function isBetterTime(entry: TaskEntry, than: TaskEntry): boolean {
  if (entry.timeSource === than.timeSource) return entry.time < than.time;
  return rankOf(entry) < rankOf(than);
}

function rankOf({ timeSource }: TaskEntry): number {
  return timeSource === 'sender' ? 0 : timeSource === 'arrival' ? 1 : 2;
}

/** The value of the message that arrived last, since later messages of an undated state replace earlier ones. */
function detailOf(first: TaskEntry, second: TaskEntry): string | null {
  if (first.detail === null || second.detail === null) return first.detail ?? second.detail;
  // A RETRY without a number that arrives again is the same one.
  if (first.kind === 'retried' && first.isCounted) return first.detail;
  if (first.time !== second.time && first.timeSource !== 'sender') return second.detail;
  return [first.detail, second.detail].sort().at(-1) ?? null;
}
