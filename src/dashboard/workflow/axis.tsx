import { coarse, duration } from '../text/numbers.ts';
import { type Pause, type TimeScale, ticksOf } from './time-scale.ts';

/** Minimum distance of two labels, in pixels. */
const TICK_PX = 72;
/** The same of two pauses: if they are closer, only the later one is labelled. */
const PAUSE_PX = 90;

/** The head of a waterfall, with the time since the first task was sent. */
export function Axis({ scale, width }: { readonly scale: TimeScale | null; readonly width: number }) {
  const ticks = scale === null || width <= 0 ? [] : ticksOf(scale, TICK_PX / width);
  const pauses = (scale?.pauses ?? []).filter(({ at }, index, all) => {
    const next = all[index + 1];
    return next === undefined || (next.at - at) * width >= PAUSE_PX;
  });
  return (
    <div role="row" class="small-text dim wf-axis" aria-rowindex={1}>
      <span role="columnheader" class="wf-name">
        Task
      </span>
      <span role="columnheader" class="wf-time" aria-label="Time">
        {ticks.map(({ at, text }) => (
          <span key={at} class="wf-tick" style={{ left: share(at) }}>
            {text}
          </span>
        ))}
        {pauses.map((pause) => (
          <span key={pause.from} class="wf-pause" style={{ left: share(pause.at + pause.share / 2) }}>
            {pauseText(pause)}
          </span>
        ))}
      </span>
    </div>
  );
}

function pauseText({ from, to, kind }: Pause): string {
  const length = to - from < 1_000 ? duration(to - from) : coarse(to - from);
  return kind === 'retrying' ? `${length}, retrying` : `${length} ${kind}`;
}

const share = (value: number): string => `${(value * 100).toFixed(3)}%`;

/** Bands behind the bars at shortened pauses, as a CSS background. */
export function pauseBands(scale: TimeScale | null): string {
  if (scale === null || scale.pauses.length === 0) return 'none';
  const stops = scale.pauses.flatMap(({ at, share: part }) => [
    `transparent ${share(at)}`,
    `var(--raised) ${share(at)}`,
    `var(--raised) ${share(at + part)}`,
    `transparent ${share(at + part)}`,
  ]);
  return `linear-gradient(to right, ${stops.join(', ')})`;
}
