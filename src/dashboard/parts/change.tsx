import { useStartInBefore } from '../range/use-range.ts';

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
