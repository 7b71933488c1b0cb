import type { DrainBody, WaitBody } from '../../wire.ts';
import { count } from '../text/numbers.ts';
import { Ago } from './moment.tsx';

/** Why a task or the tasks of a queue wait, and since or until when. Nothing if they do not. */
export function Blocked({ wait }: { readonly wait: WaitBody | null }) {
  if (wait === null) return null;
  const { summary, until, since } = wait;
  return (
    <p class="flow blocked">
      <strong>{summary}</strong>{' '}
      {(until ?? since) !== null && (
        <span class="dim">
          {until === null ? 'Since ' : 'Ends '}
          <Ago at={until ?? since} />
        </span>
      )}
    </p>
  );
}

/** When a queue will be empty. Nothing if it is. */
export function Drain({ drain }: { readonly drain: DrainBody | null }) {
  return drain === null ? null : <span title={drain.reason ?? undefined}>{drainText(drain)}</span>;
}

/** `empty in about 4 min (2–7)` */
function drainText({ seconds, low, high, per_minute, reason }: DrainBody): string {
  if (reason === 'grows') return `will not drain: grows by ${count(Math.round(per_minute ?? 0))}/min`;
  if (seconds === null) return 'unknown';
  const [unit, name] = seconds < 180 ? [1, 's'] : seconds < 7_200 ? [60, 'min'] : [3_600, 'h'];
  const inUnits = (value: number | null): string => count(Math.round((value ?? seconds) / unit));
  return `empty in about ${inUnits(seconds)} ${name} (${inUnits(low)}–${inUnits(high)})`;
}
