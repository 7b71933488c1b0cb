import { useStartInBefore } from '../range/use-range.ts';
import '../style/change.css';

/** Less than a tenth more or less is no change to speak of. */
const LEAST_CHANGE = 1.1;

/** How many times the value before a value is; `null` where either is unknown, or was 0. */
export function ratioOf(now: number | null, before: number | null | undefined): number | null {
  if (now === null || before == null || before === 0) return null;
  return now / before;
}

/** `▲ 2.1×`, `▼ 3.0×`, `≈`: a figure beside that of the period before. */
export function changeText(now: number | null, before: number | null | undefined): string {
  const ratio = ratioOf(now, before);
  if (now !== null && now === before) return '≈';
  if (ratio === null) return before === 0 && now !== null && now > 0 ? '▲ from 0' : '–';
  if (ratio === 0) return '▼ to 0';
  if (ratio < LEAST_CHANGE && ratio > 1 / LEAST_CHANGE) return '≈';
  const times = Math.max(ratio, 1 / ratio);
  return `${ratio > 1 ? '▲' : '▼'} ${times < 10 ? times.toFixed(1) : Math.round(times)}×`;
}

/** A figure beside that of the period before. */
export function Change(props: {
  readonly now: number | null;
  /** `null`: unknown. */
  readonly before: number | null;
  /** The value before in words. */
  readonly text: (value: number) => string;
  /** Whether it counts what happened in the period: then a part of the period before is no measure. Default false. */
  readonly isCount?: boolean;
}) {
  const { now, before, text, isCount = false } = props;
  const isPartial = useStartInBefore() !== null;
  if (isCount && isPartial) return null;
  const title = before === null ? 'No earlier data' : `Before: ${text(before)}`;
  return (
    <span class="dim change" title={title}>
      {' '}
      {changeText(now, before)}
    </span>
  );
}
