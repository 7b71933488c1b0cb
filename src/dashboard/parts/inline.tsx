/** What stands within a line: names, times, ages, changes, and texts to copy. */

import { useEffect, useState } from 'preact/hooks';
import { clock } from '../live/pace.ts';
import { zone } from '../page-state.ts';
import { useStartInBefore } from '../range.ts';
import { useStore } from '../store.ts';
import { coarse, duration, fullMoment, millis, minute, moment } from '../text/format.ts';

/** A dotted name, cut at its start if it does not fit, because its end says more. */
export function Name({ text }: { readonly text: string }) {
  return (
    <span class="cut one-line" title={text}>
      <bdi>{text}</bdi>
    </span>
  );
}

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
      {isShort ? minute(date, chosen) : moment(date, chosen)}
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

/** Data is read again within this time, so a smaller age says nothing. */
const USUAL_MS = 20_000;

/** Shows the age of the displayed data, if it is unusual. */
export function Age({ at }: { readonly at: number | null }) {
  const now = useStore(clock);
  const ms = now - (at ?? now);
  if (ms <= USUAL_MS) return null;
  const isOld = ms > 60_000;
  return (
    <span class={isOld ? 'small-text age tone-retry' : 'small-text age'} title="When this data was last read">
      {duration(Math.floor(ms / 1_000) * 1_000)} ago
    </span>
  );
}

/** Smaller changes are not shown. */
const LEAST_CHANGE = 1.5;
/** Changes by this factor are emphasized. */
const LARGE_CHANGE = 2;
/** Larger factors say nothing more: what was almost nothing before has become something. */
const MOST_TIMES = 100;

/** The ratio of a value to the previous one; `null` if either is unknown, or the previous one was 0. */
export function ratioOf(now: number | null, before: number | null | undefined): number | null {
  if (now === null || before == null || before === 0) return null;
  return now / before;
}

/** `▲ 2.1×`, `▼ 3.0×`: a figure compared with the previous period; empty if it is about the same, or unknown. */
export function changeText(now: number | null, before: number | null | undefined): string {
  const ratio = ratioOf(now, before);
  if (ratio === null) return before === 0 && now !== null && now > 0 ? '▲ from 0' : '';
  if (ratio === 0) return '▼ to 0';
  const times = Math.max(ratio, 1 / ratio);
  if (times < LEAST_CHANGE) return '';
  const sign = ratio > 1 ? '▲' : '▼';
  if (times > MOST_TIMES) return `${sign} over ${MOST_TIMES}×`;
  return `${sign} ${times < 10 ? times.toFixed(1) : Math.round(times)}×`;
}

/** A figure compared with the previous period. */
export function Change(props: {
  readonly now: number | null;
  /** `null`: unknown. */
  readonly before: number | null;
  /** Formats the previous value. */
  readonly text: (value: number) => string;
  /** Whether it is a count over the period: then an incomplete previous period is not comparable. Default false. */
  readonly isCount?: boolean;
}) {
  const { now, before, text, isCount = false } = props;
  const isPartial = useStartInBefore() !== null;
  if (isCount && isPartial) return null;
  const change = changeText(now, before);
  if (change === '' || before === null) return null;
  const ratio = ratioOf(now, before);
  const isLarge = ratio === null || Math.max(ratio, 1 / ratio) >= LARGE_CHANGE;
  return (
    <span class={isLarge ? 'change is-large' : 'change dim'} title={`Before: ${text(before)}`}>
      {` ${change} `}
    </span>
  );
}

/** Copies a text and confirms it. */
export function CopyButton(props: {
  readonly text: string | (() => string);
  readonly label?: string;
  readonly what?: string;
}) {
  const { text, label = 'Copy', what } = props;
  const [said, setSaid] = useState<string | null>(null);
  useEffect(() => {
    if (said === null) return undefined;
    const timer = setTimeout(() => setSaid(null), 1_500);
    return () => clearTimeout(timer);
  }, [said]);

  async function copy(): Promise<void> {
    const value = typeof text === 'string' ? text : text();
    setSaid((await copyText(value)) ? 'Copied' : 'Not allowed');
  }

  return (
    <button
      type="button"
      class="small"
      aria-label={what === undefined ? undefined : `${label} ${what}`}
      onClick={() => void copy()}
    >
      <span aria-live="polite">{said ?? label}</span>
    </button>
  );
}

/** A text, and a button that copies it. @param props.what what it is */
export function Copyable({ text, what }: { readonly text: string; readonly what: string }) {
  return (
    <>
      <span class="mono wrap">{text}</span> <CopyButton text={text} what={what} />
    </>
  );
}

/** Copies a text. Browsers offer the clipboard API on secure origins only. Elsewhere use `execCommand`. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'offscreen';
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}
