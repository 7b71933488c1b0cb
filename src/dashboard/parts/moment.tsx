import { clock } from '../live/clock.ts';
import { zone } from '../settings.ts';
import { useStore } from '../store.ts';
import { fullMoment, millis, moment } from '../text/moments.ts';
import { coarse, duration } from '../text/numbers.ts';

interface MomentProps {
  readonly at: string | null;
  /** Text without a time. Default: a dash. */
  readonly missing?: string;
  /** Whether to leave out the smallest unit. Default false. */
  readonly isShort?: boolean;
}

/** A time in the zone that the reader has chosen. The tooltip has the full time. */
export function Moment({ at, missing = '–', isShort = false }: MomentProps) {
  const chosen = useStore(zone);
  const value = millis(at);
  if (value === null || at === null) return <span class="dim">{missing}</span>;
  const date = new Date(value);
  return (
    <time dateTime={at} title={fullMoment(date, chosen)}>
      {moment(date, chosen, Date.now()).slice(0, isShort ? -3 : undefined)}
    </time>
  );
}

/** A relative time (`12 s ago`, `in 3 min`) that updates itself; the short one is `3 min`, for columns. */
export function Ago({ at, missing = '–', isShort = false }: MomentProps) {
  const now = useStore(clock);
  const chosen = useStore(zone);
  const value = millis(at);
  if (value === null || at === null) return <span class="dim">{missing}</span>;
  const ms = now - value;
  // Server and browser clocks differ slightly.
  const length = isShort ? coarse(Math.abs(ms)) : rounded(Math.abs(ms));
  const past = isShort ? length : `${length} ago`;
  const text = Math.abs(ms) < 1_500 ? 'now' : ms > 0 ? past : `in ${length}`;
  return (
    <time dateTime={at} title={fullMoment(new Date(value), chosen)}>
      {text}
    </time>
  );
}

/** Milliseconds in words, in whole seconds. */
export const rounded = (ms: number): string => duration(Math.round(ms / 1_000) * 1_000).replace('.0 ', ' ');
