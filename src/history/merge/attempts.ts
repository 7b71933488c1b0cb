/**
 * Which messages belong to which attempt of a task. A task may run more than once: retries, redelivery,
 * `replace()`. Each `received` opens an attempt. What a worker reports belongs to the last attempt that it
 * received before. What the backend reports mostly has no time, so it is attributed by its number of
 * retries. Messages that were sent belong to no attempt: they cause one.
 */
import { KIND_ORDER, type TaskEntry } from './record.ts';

/** One attempt to run a task. */
export interface Attempt {
  /** The message that opened it; `null` where that was missed, or where no worker sends events. */
  readonly received: TaskEntry | null;
  /** Its number, 0 for the first; −1: unknown. */
  readonly retries: number;
  /** Everything that was reported of it, in the order of arrival. */
  readonly entries: readonly TaskEntry[];
}

interface OpenAttempt extends Attempt {
  retries: number;
  readonly entries: TaskEntry[];
  /** Position in the order of arrival of the message that made it known; −1: an event of an unseen attempt. */
  readonly knownSince: number;
}

/** @returns the attempts: first those that were received, by time, then the others in the order of arrival */
export function attemptsOf(entries: readonly TaskEntry[]): readonly Attempt[] {
  const attempts = receivedAttempts(entries);
  const [only] = attempts;
  // Nearly every task has one attempt, which its worker reports from its beginning.
  if (only !== undefined && attempts.length === 1 && isReportedSince(only, entries)) {
    for (const entry of entries) if (entry.kind !== 'sent') only.entries.push(entry);
    return attempts;
  }
  const owners = entries.map((entry) =>
    entry.origin === 'event' && entry.kind !== 'sent' ? attemptOfEvent(attempts, entry) : null,
  );
  for (let position = 0; position < entries.length; position++) {
    const entry = entries[position] as TaskEntry;
    if (entry.origin === 'event' || entry.kind === 'sent') continue;
    owners[position] = attemptOfResult(attempts, entry, position);
  }
  for (let position = 0; position < entries.length; position++) {
    owners[position]?.entries.push(entries[position] as TaskEntry);
  }
  // One that was received is empty if the backend reported it, and another one fits better.
  return attempts.every(hasEntries) ? attempts : attempts.filter(hasEntries);
}

/** Whether everything is a worker's event since it received this attempt. */
function isReportedSince({ received }: OpenAttempt, entries: readonly TaskEntry[]): boolean {
  const since = received === null ? Number.POSITIVE_INFINITY : received.time;
  for (const { kind, origin, time } of entries) {
    if (kind !== 'sent' && (origin === 'result' || time < since)) return false;
  }
  return true;
}

function hasEntries({ entries }: Attempt): boolean {
  return entries.length > 0;
}

function receivedAttempts(entries: readonly TaskEntry[]): OpenAttempt[] {
  const attempts: OpenAttempt[] = [];
  for (let position = 0; position < entries.length; position++) {
    const entry = entries[position] as TaskEntry;
    if (entry.kind === 'received') attempts.push(openAttempt(entry, entry.retries ?? 0, position));
  }
  return attempts.length < 2 ? attempts : attempts.sort((a, b) => timeOf(a) - timeOf(b));
}

function openAttempt(received: TaskEntry | null, retries: number, knownSince: number): OpenAttempt {
  return { received, retries, entries: [], knownSince };
}

/** One whose beginning was not seen comes before everything. */
function timeOf({ received }: Attempt): number {
  return received === null ? Number.NEGATIVE_INFINITY : received.time;
}

/** The last attempt that this worker received before; another worker's where we saw it receive none. */
function attemptOfEvent(attempts: OpenAttempt[], entry: TaskEntry): OpenAttempt {
  let own: OpenAttempt | undefined;
  let any: OpenAttempt | undefined;
  for (const attempt of attempts) {
    const { received } = attempt;
    if (received === entry) return attempt;
    if (received === null || received.time > entry.time) continue;
    any = attempt;
    if (entry.worker !== null && received.worker === entry.worker) own = attempt;
  }
  return own ?? any ?? unseenAttempt(attempts);
}

/** The attempt whose `received` was missed. */
function unseenAttempt(attempts: OpenAttempt[]): OpenAttempt {
  const known = attempts.find(({ received }) => received === null);
  if (known !== undefined) return known;
  const unseen = openAttempt(null, -1, -1);
  attempts.push(unseen);
  return unseen;
}

/** @param position of the entry in the order of arrival */
function attemptOfResult(attempts: OpenAttempt[], entry: TaskEntry, position: number): OpenAttempt {
  const retries = entry.retries ?? 0;
  const [first] = attempts;
  if (attempts.length === 1 && first?.received === null && first.knownSince === -1) {
    // Of this attempt, only the beginning was missed: the worker and the backend report the same one.
    first.retries = Math.max(first.retries, retries);
    return first;
  }
  const isBefore = (attempt: OpenAttempt) =>
    entry.timeSource === 'sender' ? timeOf(attempt) <= entry.time : attempt.knownSince < position;
  const received = attempts.filter((attempt) => attempt.received !== null);
  const sameNumber = received.filter((attempt) => attempt.retries === retries);
  const match = sameNumber.findLast(isBefore) ?? sameNumber[0];
  if (match !== undefined) return match;
  if (entry.timeSource === 'sender') {
    // The backend counts only the retries that we saw, so a later attempt's end may carry a lower number.
    const before = received.findLast(isBefore);
    if (before !== undefined && retries < before.retries) return before;
  }
  // `received` was missed, or is never sent because events are off.
  const known = attempts.findLast((attempt) => attempt.received === null && attempt.retries === retries);
  if (known !== undefined) return known;
  const opened = openAttempt(null, retries, position);
  attempts.push(opened);
  return opened;
}

/** The entry that decides the state of an attempt: the one of the highest kind. */
export function decidingEntry({ entries }: Attempt): TaskEntry {
  return entries.reduce((top, entry) => {
    const higher = KIND_ORDER[entry.kind] - KIND_ORDER[top.kind];
    return higher > 0 || (higher === 0 && isBetter(entry, top)) ? entry : top;
  });
}

/** When the attempt started, as well as it is known. */
export function startedEntry({ entries }: Attempt): TaskEntry | null {
  let best: TaskEntry | null = null;
  for (const entry of entries) {
    if (entry.kind === 'started' && (best === null || isBetter(entry, best))) best = entry;
  }
  return best;
}

/** Of two entries of the same kind a worker's counts more than the backend's, then the later one. */
function isBetter(entry: TaskEntry, than: TaskEntry): boolean {
  if (entry.origin !== than.origin) return entry.origin === 'event';
  return entry.time >= than.time;
}

/** The attempt that the task is in now: the one with the highest number, then the one that changed last. */
export function currentAttempt(attempts: readonly Attempt[]): Attempt | null {
  let current: Attempt | null = null;
  for (const attempt of attempts) {
    if (current === null || isLater(attempt, current)) current = attempt;
  }
  return current;
}

function isLater(attempt: Attempt, than: Attempt): boolean {
  if (attempt.retries !== than.retries) return attempt.retries > than.retries;
  return decidingEntry(attempt).time >= decidingEntry(than).time;
}
