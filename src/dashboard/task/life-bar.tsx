import type { TaskDetailBody } from '../../client.ts';
import { clock } from '../live/clock.ts';
import { useStore } from '../store.ts';
import { millis } from '../text/moments.ts';
import { duration } from '../text/numbers.ts';

interface Span {
  readonly kind: string;
  readonly text: string;
  readonly ms: number;
}

/** How long a task spent in the queue, on the worker before it started, and running. */
export function LifeBar({ task }: { readonly task: TaskDetailBody }) {
  const now = useStore(clock);
  const spans = spansOf(task, now);
  const whole = spans.reduce((sum, { ms }) => sum + ms, 0);
  if (spans.length === 0) return null;
  const drawn = spans.filter(({ ms }) => ms > 0);
  return (
    <div class="life">
      <div
        class="life-bar"
        role="img"
        aria-label={spans.map(({ text, ms }) => `${text} ${duration(ms)}`).join(', ')}
      >
        {drawn.map(({ kind, ms }) => (
          <span
            key={kind}
            class={`life-${kind}`}
            style={{ flexGrow: String(Math.max(ms / (whole || 1), 0.012)) }}
          />
        ))}
      </div>
      <div class="life-words" aria-hidden="true">
        {spans.map(({ kind, text, ms }) => (
          <span key={kind}>
            <i class={`life-${kind}`} />
            {text} <b>{duration(ms)}</b>
          </span>
        ))}
      </div>
    </div>
  );
}

function spansOf(task: TaskDetailBody, now: number): Span[] {
  const sent = millis(task.sent);
  const eta = millis(task.eta);
  const received = millis(task.received);
  const started = millis(task.started);
  const end = millis(task.finished) ?? (task.done ? null : now);
  const spans: Span[] = [];
  const add = (kind: string, text: string, from: number | null, to: number | null): void => {
    if (from !== null && to !== null && to >= from) spans.push({ kind, text, ms: to - from });
  };
  if (started === null) {
    const due = eta ?? Number.NEGATIVE_INFINITY;
    const since = received ?? sent;
    add('held', 'held for its eta', since, eta === null || end === null ? null : Math.min(eta, end));
    const text = received === null ? 'waiting for a worker' : 'on the worker, not started';
    add('queued', text, since === null ? null : Math.max(since, due), end);
  } else if (task.wait_seconds !== null) {
    spans.push({ kind: 'queued', text: 'waited', ms: task.wait_seconds * 1_000 });
  }
  // While a retry waits, its last run is in the timeline.
  if (started === null || task.state === 'RETRY') return spans;
  const ran = task.runtime === null ? null : task.runtime * 1_000;
  if (task.done && ran !== null) spans.push({ kind: `ran-${task.state}`, text: 'ran', ms: ran });
  else add(`ran-${task.state}`, task.done ? 'ran' : 'running for', started, end);
  return spans;
}
