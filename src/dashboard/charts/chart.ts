/** Shared by the charts of the page: steps and scales. */
import type { ComponentChildren } from 'preact';
import { count, seconds } from '../text/numbers.ts';

/** A time to mark in charts, such as a deployment. */
export interface ChartMarker {
  /** ISO 8601. */
  readonly at: string;
  readonly text: string;
  readonly url: string | null;
}

/** Meanings that have a colour. */
export type Tone = 'failed' | 'retried' | 'succeeded' | 'running' | 'waiting' | 'cancelled';

/** The properties of every chart over time. */
export interface TimeChartProps {
  /** What it shows, in a few words. */
  readonly label: string;
  /** Start of each step in ISO 8601, oldest first. */
  readonly times: readonly string[];
  readonly stepSeconds: number;
  /** Whether its figures are numbers per step, which it then says. Default true. */
  readonly isRate?: boolean;
  readonly markers?: readonly ChartMarker[] | undefined;
  /** Called with the start and the end of a range that the reader has selected, in ISO 8601. Default: no selection. */
  readonly onRange?: ((from: string, to: string) => void) | undefined;
  /** Further entries of the legend. Default: none. */
  readonly more?: ComponentChildren;
  /** Filters of what the chart shows, for its links to tasks and failures. Default: none. */
  readonly filters?: Readonly<Record<string, string | readonly string[]>> | undefined;
}

/** One figure of each step. */
export interface Row {
  readonly key: string;
  readonly label: string;
  /** Symbol before the label. */
  readonly mark: string;
  /** Names its colour. */
  readonly tone: Tone;
  /** `null`: unknown. */
  readonly values: readonly (number | null)[];
  /** The figure in words. */
  readonly format: (value: number) => string;
  /** Text next to the label while no step is pointed at. Default: nothing. */
  readonly total?: string;
  /** Whether it is shown. Default true. */
  readonly isOn?: boolean;
  /** Shows this row alone, or all of them again. */
  readonly isolate?: () => void;
}

const NICE = [1, 1.2, 1.6, 2, 3, 4, 6, 8, 10];

/** Rounds up to 1, 1.2, 1.6, 2, 3, 4, 6, 8, 10, 12 …: maxima of an axis that are easy to halve. 1 for 0. */
export function niceMost(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return Number(((NICE.find((step) => step * power >= value) ?? 10) * power).toPrecision(2));
}

/** The same for seconds: whole minutes or hours for longer durations. */
export function niceSeconds(value: number): number {
  const unit = [86_400, 3_600, 60].find((length) => value > length) ?? 1;
  return niceMost(value / unit) * unit;
}

/** A count on an axis. Fractions of a task get no label. */
export const axisCount = (value: number): string => (Number.isInteger(value) ? count(value) : '');

/** A duration on an axis, in seconds. */
export const axisSeconds = (value: number): string => (value === 0 ? '0' : seconds(value));

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

/** Index of the step with this time; `null` if it is before or after all steps. */
export function stepAt(starts: readonly number[], stepMs: number, at: number | null): number | null {
  if (at === null) return null;
  const index = starts.findLastIndex((start) => start <= at);
  const start = starts[index];
  return start === undefined || at >= start + stepMs ? null : index;
}

/** The value of a row at one step, in words; `null` if unknown. */
export function valueAt({ values, format }: Row, index: number): string | null {
  const value = values[index] ?? null;
  return value === null ? null : format(value);
}

/** Whether no value of any row is known. */
export const isUnknown = (rows: readonly Row[]): boolean =>
  rows.every(({ values }) => values.every((value) => value === null));

/** The values of all rows at one step, in words; unknown ones are left out. */
export function stepInText(rows: readonly Row[], index: number): string {
  const known = rows.flatMap((row) => {
    const value = valueAt(row, index);
    return value === null || row.isOn === false ? [] : `${value} ${row.label}`;
  });
  return known.length === 0 ? 'unknown' : known.join(', ');
}
