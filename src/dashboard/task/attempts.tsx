import { useState } from 'preact/hooks';
import type { TaskDetailBody } from '../../client.ts';
import { clock } from '../live/pace.ts';
import { useStore } from '../store.ts';
import { counted, duration, millis } from '../text/format.ts';
import { toneOf } from '../text/words.ts';

/** Number of attempts that are shown at first: the latest ones. */
const SHOWN = 5;

/** How long each attempt of a retried task waited and ran, a bar for each. */
export function Attempts({ task }: { readonly task: TaskDetailBody }) {
  const [isWhole, setWhole] = useState(false);
  const lives = livesOf(task, useStore(clock));
  const longest = Math.max(1, ...lives.map(lengthOf));
  const hidden = isWhole ? 0 : Math.max(0, lives.length - SHOWN);
  if (lives.length <= 1 && task.state !== 'RETRY') return null;
  return (
    <section class="panel life" aria-label="Attempts">
      <h2>Attempts</h2>
      {hidden > 0 && (
        <button type="button" class="small" onClick={() => setWhole(true)}>
          {`Show ${counted(hidden, 'earlier attempt')}`}
        </button>
      )}
      <ol>
        {lives.slice(hidden).map((life) => (
          <li key={life.number}>
            <b class="small-text">Attempt {life.number}</b>
            {life.spans.length > 0 && <Bar life={life} share={lengthOf(life) / longest} />}
            {life.error !== null && life.error !== task.exception && (
              <p class="small-text tone-failure wrap">{life.error}</p>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

const lengthOf = ({ spans }: Life): number => spans.reduce((sum, { ms }) => sum + ms, 0);

/** @param props.share its length, as a share of the longest */
function Bar({ life: { spans }, share }: { readonly life: Life; readonly share: number }) {
  return (
    <div>
      <div class="life-track" aria-hidden="true">
        <div class="life-bar" style={{ width: `${Math.max(share * 100, 1)}%` }}>
          {spans.map(({ kind, text, ms }) => (
            <span
              key={kind}
              class={kind}
              title={`${text} ${duration(ms)}`}
              style={{ flexGrow: String(ms) }}
            />
          ))}
        </div>
      </div>
      <div class="flow small-text life-words">
        {spans.map(({ kind, text, ms }) => (
          <span key={kind}>
            <i class={kind} aria-hidden="true" />
            {text} <b>{duration(ms)}</b>
          </span>
        ))}
      </div>
    </div>
  );
}

/** One span of a task's life: of an attempt, its wait, its run, or the pause after it. */
interface Span {
  /** Its classes: spans of one kind are drawn alike, as in a waterfall. */
  readonly kind: string;
  readonly text: string;
  readonly ms: number;
}

const QUEUED = 'wf-wait tone-waiting';

/** An attempt, and the pause after it. */
interface Life {
  /** 1 for the first. */
  readonly number: number;
  /** In their order. Unknown spans and waits of no length are left out. */
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
  const waited = last.reduce((sum, { kind, ms }) => (kind === QUEUED ? sum + ms : sum), 0);
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
        ...spanOf(QUEUED, 'before its start', number === 1 ? between(millis(task.sent), from) : null),
        ...runOf('RETRY', 'failed after', between(from, to)),
        // The wait of the last attempt begins when it was due.
        ...spanOf('wf-retry', 'until retry', pause && Math.max(0, pause - (isNextLast ? waited : 0))),
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
  const hasRun = task.done && task.runtime !== null;
  if (started === null && !hasRun) {
    const since = received ?? sent;
    const due = eta === null || since === null ? since : Math.max(since, eta);
    const text = received === null ? 'waiting for a worker' : 'on the worker, not started';
    const held = eta === null || end === null ? null : between(since, Math.min(eta, end));
    return [...spanOf('wf-retry', 'held until its ETA', held), ...spanOf(QUEUED, text, between(due, end))];
  }
  const wait = task.wait_seconds === null ? null : task.wait_seconds * 1_000;
  const ran = hasRun ? (task.runtime ?? 0) * 1_000 : between(started, end);
  const text = task.state === 'FAILURE' ? 'failed after' : task.done ? 'ran' : 'running for';
  return [...spanOf(QUEUED, 'waited', wait), ...runOf(task.state, text, ran)];
}

function between(from: number | null, to: number | null): number | null {
  return from === null || to === null || to < from ? null : to - from;
}

const spanOf = (kind: string, text: string, ms: number | null): readonly Span[] =>
  ms === null || ms === 0 ? [] : [{ kind, text, ms }];

/** A run is a span however short it was. */
const runOf = (state: string, text: string, ms: number | null): readonly Span[] =>
  ms === null ? [] : [{ kind: `wf-run tone-${toneOf(state)}`, text, ms }];
