import { useState } from 'preact/hooks';
import type { TaskDetailBody } from '../../client.ts';
import { clock } from '../live/clock.ts';
import { useStore } from '../store.ts';
import { counted, duration } from '../text/numbers.ts';
import { type Life, livesOf } from './life-spans.ts';

/** Number of attempts that are shown at first: the latest ones. */
const SHOWN = 5;

/** How long a task waited and ran, a bar for each attempt. */
export function LifeBars({ task }: { readonly task: TaskDetailBody }) {
  const [isWhole, setWhole] = useState(false);
  const lives = livesOf(task, useStore(clock));
  const longest = Math.max(1, ...lives.map(lengthOf));
  const hidden = isWhole ? 0 : Math.max(0, lives.length - SHOWN);
  if (lives.every(({ spans, error }) => spans.length === 0 && error === null)) return null;
  return (
    <section class="life" aria-label="Attempts">
      {hidden > 0 && (
        <button type="button" class="small" onClick={() => setWhole(true)}>
          {`Show ${counted(hidden, 'earlier attempt')}`}
        </button>
      )}
      <ol>
        {lives.slice(hidden).map((life) => (
          <li key={life.number}>
            {(lives.length > 1 || life.number > 1) && <b class="life-number">Attempt {life.number}</b>}
            {life.spans.length > 0 && <Bar life={life} share={lengthOf(life) / longest} />}
            {life.error !== null && life.error !== task.exception && (
              <p class="life-error tone-failure wrap">{life.error}</p>
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
    <div class="life-line">
      <div class="life-track" aria-hidden="true">
        <div class="life-bar" style={{ width: `${Math.max(share * 100, 1)}%` }}>
          {spans.map(
            ({ kind, text, ms }) =>
              ms > 0 && (
                <span
                  key={kind}
                  class={`life-${kind}`}
                  title={`${text} ${duration(ms)}`}
                  style={{ flexGrow: String(ms) }}
                />
              ),
          )}
        </div>
      </div>
      <div class="life-words">
        {spans.map(({ kind, text, ms }) => (
          <span key={kind}>
            <i class={`life-${kind}`} aria-hidden="true" />
            {text} <b>{duration(ms)}</b>
          </span>
        ))}
      </div>
    </div>
  );
}
