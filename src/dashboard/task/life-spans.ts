/** The life of a task since it was sent, as spans: for each attempt, its wait, its run and the pause after it. */
import type { TaskDetailBody } from '../../client.ts';
import { millis } from '../text/moments.ts';

/** One span of a task's life. Spans of one kind are drawn alike. */
export interface Span {
  readonly kind: string;
  readonly text: string;
  readonly ms: number;
}

/** An attempt, and the pause after it. */
export interface Life {
  /** 1 for the first. */
  readonly number: number;
  /** In their order. Unknown spans are left out. */
  readonly spans: readonly Span[];
  readonly error: string | null;
}

/** The attempts of a task, oldest first: at least the current one. @param now in milliseconds since 1970 */
export function livesOf(task: TaskDetailBody, now: number): readonly Life[] {
  const isWaiting = task.state === 'RETRY';
  // A worker may have received an attempt that has not started: the pause before it continues.
  const attempts = (task.attempts ?? []).filter(
    ({ started, finished, error }) => !isWaiting || started !== null || finished !== null || error !== null,
  );
  const current = isWaiting ? undefined : attempts.at(-1);
  const earlier = isWaiting ? attempts : attempts.slice(0, -1);
  const last = isWaiting ? [] : spansOfLast(task, now);
  const waited = last.reduce((sum, { kind, ms }) => (kind === 'queued' ? sum + ms : sum), 0);
  const lives = earlier.map(({ number, started, finished, error }, index): Life => {
    const [from, to] = [millis(started), millis(finished)];
    const next = attempts[index + 1];
    const isNextLast = next === current;
    const begun = isNextLast
      ? isWaiting
        ? now
        : (millis(task.started) ?? now)
      : millis(next?.started ?? null);
    const pause = between(to, begun);
    return {
      number,
      error,
      spans: [
        ...spanOf('queued', 'before its start', number === 1 ? between(millis(task.sent), from) : null),
        ...spanOf('ran-RETRY', 'failed after', between(from, to)),
        // The wait of the last attempt begins when it was due.
        ...spanOf('between', 'until retry', pause && Math.max(0, pause - (isNextLast ? waited : 0))),
      ],
    };
  });
  if (isWaiting) return lives;
  return [...lives, { number: current?.number ?? 1, spans: last, error: current?.error ?? null }];
}

/** The latest attempt, or what the task waits for. */
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
    return [...spanOf('held', 'held until its ETA', held), ...spanOf('queued', text, between(due, end))];
  }
  const wait = task.wait_seconds === null ? null : task.wait_seconds * 1_000;
  const ran = task.done && task.runtime !== null ? task.runtime * 1_000 : between(started, end);
  const text = task.state === 'FAILURE' ? 'failed after' : task.done ? 'ran' : 'running for';
  return [...spanOf('queued', 'waited', wait), ...spanOf(`ran-${task.state}`, text, ran)];
}

function between(from: number | null, to: number | null): number | null {
  return from === null || to === null || to < from ? null : to - from;
}

const spanOf = (kind: string, text: string, ms: number | null): readonly Span[] =>
  ms === null ? [] : [{ kind, text, ms }];
