/** What a task has done since it was sent, as spans of time: each attempt, and the waits before them. */
import type { TaskDetailBody, TimelineEntryBody } from '../../client.ts';
import { millis } from '../text/moments.ts';

/** One span of a task's life. Spans of one kind are drawn and summed up alike. */
export interface Span {
  readonly kind: string;
  readonly text: string;
  readonly ms: number;
}

/** The spans of a task, in their order. What is not known is left out. @param now in milliseconds since 1970 */
export function spansOf(task: TaskDetailBody, now: number): readonly Span[] {
  const attempts = attemptsOf(task.timeline);
  const isWaiting = task.state === 'RETRY';
  const earlier = isWaiting ? attempts : attempts.slice(0, -1);
  const last = isWaiting ? [] : spansOfLast(task, now);
  const spans = earlier.flatMap((attempt, index): Span[] => {
    const before = earlier[index - 1];
    const wait = before === undefined ? null : between(before.ended, attempt.started);
    return [
      ...spanOf('between', 'between attempts', wait),
      ...spanOf('ran-RETRY', 'earlier attempts', between(attempt.started, attempt.ended)),
    ];
  });
  const ended = earlier.findLast((attempt) => attempt.ended !== null)?.ended ?? null;
  if (isWaiting) return [...spans, ...spanOf('between', 'between attempts', between(ended, now))];
  if (earlier.length === 0) return last;
  // The wait of the last attempt begins when it was due.
  const pause = between(ended, millis(task.started) ?? now);
  const wait = last.reduce((sum, { kind, ms }) => (kind === 'queued' ? sum + ms : sum), 0);
  const rest = pause === null ? null : Math.max(0, pause - wait);
  return [...spans, ...spanOf('between', 'between attempts', rest), ...last];
}

interface Attempt {
  /** Milliseconds since 1970; `null`: not known. */
  started: number | null;
  ended: number | null;
}

/** The attempts of which the timeline says something but that they were sent. Messages of two may overlap. */
function attemptsOf(timeline: readonly TimelineEntryBody[]): readonly Attempt[] {
  const attempts = new Map<number, Attempt>();
  let current = 0;
  for (const { state, timestamp, retries } of timeline) {
    if (state === 'PENDING') continue;
    const number = retries ?? current;
    const attempt = attempts.get(number) ?? { started: null, ended: null };
    attempts.set(number, attempt);
    if (state === 'STARTED') attempt.started ??= millis(timestamp);
    if (state === 'RETRY') attempt.ended = millis(timestamp);
    current = Math.max(current, state === 'RETRY' ? number + 1 : number);
  }
  return [...attempts].sort(([a], [b]) => a - b).map(([, attempt]) => attempt);
}

/** The attempt that is the last one so far, or what the task waits for. */
function spansOfLast(task: TaskDetailBody, now: number): readonly Span[] {
  const sent = millis(task.sent);
  const eta = millis(task.eta);
  const received = millis(task.received);
  const started = millis(task.started);
  const end = millis(task.finished) ?? (task.done ? null : now);
  if (started === null) {
    const since = received ?? sent;
    const due = eta === null || since === null ? since : Math.max(since, eta);
    const text = received === null ? 'waiting for a worker' : 'on the worker, not started';
    const held = eta === null || end === null ? null : between(since, Math.min(eta, end));
    return [...spanOf('held', 'held for its eta', held), ...spanOf('queued', text, between(due, end))];
  }
  const wait = task.wait_seconds === null ? null : task.wait_seconds * 1_000;
  const ran = task.done && task.runtime !== null ? task.runtime * 1_000 : between(started, end);
  const text = task.done ? 'ran' : 'running for';
  return [...spanOf('queued', 'waited', wait), ...spanOf(`ran-${task.state}`, text, ran)];
}

function between(from: number | null, to: number | null): number | null {
  return from === null || to === null || to < from ? null : to - from;
}

const spanOf = (kind: string, text: string, ms: number | null): readonly Span[] =>
  ms === null ? [] : [{ kind, text, ms }];
