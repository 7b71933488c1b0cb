import type { TaskDetailBody } from '../../client.ts';
import { clock } from '../live/clock.ts';
import { useStore } from '../store.ts';
import { duration } from '../text/numbers.ts';
import { type Span, spansOf } from './life-spans.ts';

/** How long a task waited and ran, attempt after attempt. */
export function LifeBar({ task }: { readonly task: TaskDetailBody }) {
  const now = useStore(clock);
  const spans = spansOf(task, now);
  const whole = spans.reduce((sum, { ms }) => sum + ms, 0);
  if (spans.length === 0) return null;
  const sums = sumsOf(spans);
  return (
    <div class="life">
      <div
        class="life-bar"
        role="img"
        aria-label={sums.map(({ text, ms }) => `${text} ${duration(ms)}`).join(', ')}
      >
        {spans.map(
          ({ kind, text, ms }, index) =>
            ms > 0 && (
              <span
                key={index}
                class={`life-${kind}`}
                title={`${text} ${duration(ms)}`}
                style={{ flexGrow: String(Math.max(ms / (whole || 1), 0.012)) }}
              />
            ),
        )}
      </div>
      <div class="life-words" aria-hidden="true">
        {sums.map(({ kind, text, ms }) => (
          <span key={kind}>
            <i class={`life-${kind}`} />
            {text} <b>{duration(ms)}</b>
          </span>
        ))}
      </div>
    </div>
  );
}

function sumsOf(spans: readonly Span[]): readonly Span[] {
  const sums = new Map<string, Span>();
  for (const span of spans) sums.set(span.kind, { ...span, ms: span.ms + (sums.get(span.kind)?.ms ?? 0) });
  return [...sums.values()];
}
