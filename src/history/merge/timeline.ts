/** The changes in the life of a task as its page lists them: oldest first, each change once. */
import type { TaskChangeEntry } from '../../model.ts';
import { type Attempt, attemptsOf } from './attempts.ts';
import { lifeOf } from './life.ts';
import { KIND_ORDER, stateOf, type TaskEntry } from './record.ts';

interface Step {
  readonly entry: TaskEntry;
  /** Steps of a lower number come first, whatever their time. */
  readonly order: number;
}

/** More than there are kinds of entries, so that no kind reaches the numbers of the next attempt. */
const ORDERS_PER_ATTEMPT = 16;

/** @param entries in the order of arrival */
export function timelineOf(entries: readonly TaskEntry[]): TaskChangeEntry[] {
  const attempts = attemptsOf(entries);
  const { finished } = lifeOf(entries, null);
  const ordered = inOrder(attempts);
  const steps: Step[] = [];
  for (const [position, entry] of entries.entries()) {
    if (entry.kind !== 'sent' || isRepeatedMessage(entries, position)) continue;
    const caused = attemptCausedBy(entry, attempts);
    // A message is sent before the attempt that it causes.
    const number = caused === null ? ordered.length : ordered.indexOf(caused);
    steps.push({ entry, order: number * ORDERS_PER_ATTEMPT });
  }
  for (const [number, attempt] of ordered.entries()) {
    for (const entry of attempt.entries) {
      if (isReportedByWorker(entry, attempt)) continue;
      // Within an attempt by kind, since the clocks of one change differ by milliseconds.
      steps.push({ entry, order: number * ORDERS_PER_ATTEMPT + KIND_ORDER[entry.kind] });
    }
  }
  steps.sort((a, b) => a.order - b.order || a.entry.time - b.entry.time);
  return steps.map(({ entry }) => ({
    state: stateOf(entry),
    timestamp: shownTime(entry, finished),
    worker: entry.worker,
    detail: entry.detail,
  }));
}

/** A change without a time has that of its arrival, unless that cannot be right. */
function shownTime({ time, timeSource }: TaskEntry, finished: number | null): Date | null {
  if (timeSource === 'sender') return new Date(time);
  return timeSource === 'reading' || (finished !== null && time > finished) ? null : new Date(time);
}

function inOrder(attempts: readonly Attempt[]): readonly Attempt[] {
  if (attempts.length < 2) return attempts;
  return attempts
    .map((attempt) => ({ attempt, start: startOf(attempt) }))
    .sort((a, b) => a.start - b.start)
    .map(({ attempt }) => attempt);
}

/** The time of the first entry, by a sender's clock where there is one. */
function startOf({ entries }: Attempt): number {
  let start = Number.POSITIVE_INFINITY;
  for (const { time, timeSource } of entries) {
    if ((timeSource === 'sender' || start === Number.POSITIVE_INFINITY) && time < start) start = time;
  }
  return start;
}

/**
 * The attempt that this message was received as: of those with its number the nearest in time. Where none
 * was received, the first message causes the first attempt, and a retry the next one.
 */
function attemptCausedBy(sent: TaskEntry, attempts: readonly Attempt[]): Attempt | null {
  const retries = sent.retries ?? 0;
  let nearest: Attempt | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const attempt of attempts) {
    for (const entry of attempt.entries) {
      if (entry.kind !== 'received' || (entry.retries ?? 0) !== retries) continue;
      // Of two that are equally near, the one that came after it.
      const distance = Math.abs(entry.time - sent.time) + (entry.time < sent.time ? 0.001 : 0);
      if (distance >= least) continue;
      nearest = attempt;
      least = distance;
    }
  }
  return nearest ?? (retries === 0 ? (attempts[0] ?? null) : null);
}

/** Whether a message found in its queue is one that its sender reported, or that was found there before. */
function isRepeatedMessage(entries: readonly TaskEntry[], position: number): boolean {
  const entry = entries[position] as TaskEntry;
  if (entry.timeSource !== 'reading') return false;
  return entries.some(
    (other, at) =>
      other.kind === 'sent' &&
      (other.retries ?? 0) === (entry.retries ?? 0) &&
      (at < position || other.timeSource !== 'reading'),
  );
}

/** Whether the worker reported the same change of this attempt as the backend. */
function isReportedByWorker(entry: TaskEntry, { entries }: Attempt): boolean {
  if (entry.origin === 'event') return false;
  return entries.some((other) => {
    if (other.origin === 'result') return false;
    if (entry.kind === 'revoking' && other.kind === 'revoked') return true;
    return other.kind === entry.kind && other.state === entry.state;
  });
}
