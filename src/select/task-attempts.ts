import type { TaskAttempt, TaskChangeEntry } from '../model.ts';

/** States in which an attempt has ended. */
const ENDS: ReadonlySet<string> = new Set(['RETRY', 'SUCCESS', 'FAILURE', 'REVOKED', 'REJECTED']);
const FAILED: ReadonlySet<string> = new Set(['RETRY', 'FAILURE']);

/**
 * The attempts of a task according to its timeline, oldest first. A change that names no attempt belongs to the
 * attempt that the preceding changes have reached.
 */
export function attemptsIn(timeline: readonly TaskChangeEntry[]): readonly TaskAttempt[] {
  const attempts = new Map<number, { -readonly [Name in keyof TaskAttempt]: TaskAttempt[Name] }>();
  let current = 0;
  for (const { state, timestamp, detail, retries } of timeline) {
    if (state === 'PENDING') continue;
    const at = retries ?? current;
    const attempt = attempts.get(at) ?? { number: at + 1, started: null, finished: null, error: null };
    attempts.set(at, attempt);
    if (state === 'STARTED') attempt.started ??= timestamp;
    if (ENDS.has(state)) attempt.finished = timestamp;
    if (FAILED.has(state)) attempt.error = detail;
    current = Math.max(current, state === 'RETRY' ? at + 1 : at);
  }
  return [...attempts.values()].sort((a, b) => a.number - b.number);
}
