import { useMemo, useState } from 'preact/hooks';
import { changeText } from '../parts/inline.tsx';
import { type Range, useRange, useStartInBefore } from '../range.ts';
import { count } from '../text/format.ts';
import type { Panel, Series } from './chart.ts';
import { TimeChart, type TimeChartProps } from './time-chart.tsx';

/** From the top of a column to its bottom. */
const KINDS = [
  ['failed', '■'],
  ['retried', '↻'],
  ['succeeded', '✓'],
] as const;
type Kind = (typeof KINDS)[number][0];
type Totals = Readonly<Record<Kind, number | null>>;

/** Share of the chart's height for the failures: few of them are visible next to any number of successes. */
const FAILED_SHARE = 0.3;

/**
 * Columns of the tasks that ended in each step: those that failed in a panel of their own, if there are any, above the
 * others. Steps that the period covers in part are pale.
 */
export function ThroughputChart(
  props: Omit<TimeChartProps, 'panels' | 'isRate'> & {
    /** Whether to show failures alone. Default false. */
    readonly isFailedOnly?: boolean;
    /** Totals of the previous period, for comparison. Default: none. */
    readonly before?: Totals | null;
    /** Pixels. Default 160. */
    readonly height?: number;
  },
) {
  const { stats, isFailedOnly = false, height = 160 } = props;
  const isPartial = useStartInBefore() !== null;
  const before = isPartial ? null : (props.before ?? null);
  const [only, setOnly] = useState<Kind | null>(null);
  const range = useRange();
  const legend = (isFailedOnly ? KINDS.slice(0, 1) : KINDS).map(
    ([kind, mark]): Series => ({
      label: kind,
      look: 'columns',
      tone: kind,
      mark,
      unit: 'count',
      format: count,
      values: stats.series.map((step) => step[kind]),
      total: totalText(stats, kind, before),
      isOn: only === null || only === kind,
      ...(isFailedOnly ? {} : { isolate: () => setOnly(only === kind ? null : kind) }),
    }),
  );
  const panels = useMemo((): readonly Panel[] => {
    const isPart = partsOf(stats, range);
    const drawn = legend.filter(({ isOn }) => isOn);
    const others = drawn.filter(({ tone }) => tone !== 'failed');
    const hasBoth = others.length > 0 && others.length < drawn.length;
    if (!hasBoth || stats.series.every(({ failed }) => !failed)) return [{ height, series: drawn, isPart }];
    const ofFailed = Math.round(height * FAILED_SHARE);
    return [
      { height: ofFailed, series: drawn.slice(0, 1), isPart },
      { height: height - ofFailed, series: others, isPart },
    ];
  }, [stats, only, height, range.key]);
  return <TimeChart {...props} isRate legend={legend} panels={panels} />;
}

/** The sum of the known values, a dash if there are none, and the comparison with the previous period. */
function totalText({ series }: TimeChartProps['stats'], kind: Kind, before: Totals | null): string {
  const known = series.flatMap((step) => step[kind] ?? []);
  if (known.length === 0) return '–';
  const sum = known.reduce((total, figure) => total + figure, 0);
  return before === null ? count(sum) : `${count(sum)} ${changeText(sum, before[kind])}`.trim();
}

/** Whether the first step began before the period, and the last one ends after it. */
function partsOf({ series, step_seconds }: TimeChartProps['stats'], range: Range): readonly boolean[] {
  const { kind, minutes, since, until } = range;
  const now = Date.now();
  const first = kind === 'last' ? now - minutes * 60_000 : since.getTime();
  const last = kind === 'fixed' ? until.getTime() : now;
  return series.map(({ t }, index) => {
    const from = Date.parse(t);
    const end = from + step_seconds * 1_000;
    return (index === 0 && from < first) || (index === series.length - 1 && end > last);
  });
}
