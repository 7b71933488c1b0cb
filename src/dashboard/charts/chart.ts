/** Shared by the charts of the page: their figures, steps and scales. */
import { count, seconds } from '../text/format.ts';

/** Meanings that have a colour. */
export type Tone = 'failed' | 'retried' | 'succeeded' | 'running' | 'waiting';

/**
 * How figures are drawn: as columns on top of each other, as columns of limited width in the middle of their steps, or
 * as lines: `thick` for p95, `thin` for p50, `dashed` for the previous period.
 */
export type Look = 'columns' | 'bars' | 'thick' | 'thin' | 'dashed';

/** One figure of each step. */
export interface Series {
  readonly label: string;
  readonly look: Look;
  /** Names its colour. */
  readonly tone: Tone;
  /** Symbol before the label. */
  readonly mark: string;
  readonly unit: 'count' | 'seconds';
  /** `null`: unknown. */
  readonly values: readonly (number | null)[];
  /** The figure in words. */
  readonly format: (value: number) => string;
  /** Text next to the label while no step is pointed at. Default: nothing. */
  readonly total?: string;
  /** Whether it is shown. Default true. */
  readonly isOn?: boolean;
  /** Shows these figures alone, or all of them again. */
  readonly isolate?: () => void;
}

/** A drawing area with its own axis of values. */
export interface Panel {
  /** Pixels. */
  readonly height: number;
  /** All columns or all lines, of one unit. */
  readonly series: readonly Series[];
  /** Whether the period covers a step only in part, so that its columns are pale. Default: it covers all. */
  readonly isPart?: readonly boolean[];
}

const LINE_MARKS = { thick: '━', thin: '─', dashed: '╌' } as const;

/** The figures of a line. */
export function lineOf(
  look: keyof typeof LINE_MARKS,
  label: string,
  values: Series['values'],
  options: Partial<Pick<Series, 'unit' | 'tone' | 'mark' | 'format'>> = {},
): Series {
  const { unit = 'count' } = options;
  const format = unit === 'seconds' ? seconds : count;
  return { label, look, values, unit, tone: 'running', mark: LINE_MARKS[look], format, ...options };
}

const NICE = [1, 1.2, 1.6, 2, 3, 4, 6, 8, 10];

/** Rounds up to 1, 1.2, 1.6, 2, 3, 4, 6, 8, 10, 12 …: maxima of an axis that are easy to halve. 1 for 0. */
function niceMost(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return Number(((NICE.find((step) => step * power >= value) ?? 10) * power).toPrecision(2));
}

/** The same for seconds: whole minutes or hours for longer durations. */
function niceSeconds(value: number): number {
  const unit = [86_400, 3_600, 60].find((length) => value > length) ?? 1;
  return niceMost(value / unit) * unit;
}

/** The axis of a panel: its upper end, and its values in words. Fractions of a task get no label. */
export function axisOf({ series }: Panel) {
  const [first] = series;
  const most = first?.look === 'columns' ? greatest(sumsOf(series)) : greatest(...series.map(valuesOf));
  return first?.unit === 'seconds'
    ? { most: niceSeconds(most), textOf: (value: number) => (value === 0 ? '0' : seconds(value)) }
    : { most: niceMost(most), textOf: (value: number) => (Number.isInteger(value) ? count(value) : '') };
}

const valuesOf = ({ values }: Series): Series['values'] => values;

/** The heights of columns on top of each other. */
const sumsOf = (series: readonly Series[]): readonly number[] =>
  (series[0]?.values ?? []).map((_, step) =>
    series.reduce((sum, { values }) => sum + (values[step] ?? 0), 0),
  );

/** The greatest known value; 0 when none is known. */
export const greatest = (...rows: readonly (readonly (number | null)[])[]): number =>
  rows.reduce((most, values) => values.reduce<number>((more, value) => Math.max(more, value ?? 0), most), 0);

/** `minute`, `30 s`, `2 h`: the length of a step. */
export function stepInWords(seconds: number): string {
  if (seconds === 60) return 'minute';
  if (seconds === 86_400) return 'day';
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${seconds / 60} min`;
  return seconds % 86_400 === 0 ? `${seconds / 86_400} days` : `${seconds / 3_600} h`;
}

/** The figure of one step, in words; `null` if unknown. */
export function valueAt({ values, format }: Series, index: number): string | null {
  const value = values[index] ?? null;
  return value === null ? null : format(value);
}

/** Whether no figure is known. */
export const isUnknown = (series: readonly Series[]): boolean =>
  series.every(({ values }) => values.every((value) => value === null));

/** All figures of one step, in words; unknown ones are left out. */
export function stepInText(series: readonly Series[], index: number): string {
  const known = series.flatMap((one) => {
    const value = valueAt(one, index);
    return value === null || one.isOn === false ? [] : `${value} ${one.label}`;
  });
  return known.length === 0 ? 'unknown' : known.join(', ');
}
