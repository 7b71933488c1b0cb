import { useId, useMemo, useState } from 'preact/hooks';
import type { StatsStepBody } from '../../wire.ts';
import { changeText } from '../parts/change.tsx';
import type { Range } from '../range/range.ts';
import { useRange, useStartInBefore } from '../range/use-range.ts';
import { count } from '../text/numbers.ts';
import { NotRecorded } from './caption.tsx';
import { axisCount, greatest, isUnknown, niceMost, type Row, type TimeChartProps } from './chart.ts';
import type { Panel, Scale } from './panel.tsx';
import { TimeChart } from './time-chart.tsx';

/** From the top of a column to its bottom. */
const KINDS = [
  ['failed', 'failed', '■'],
  ['retried', 'retried', '↻'],
  ['succeeded', 'succeeded', '✓'],
] as const;
type Kind = (typeof KINDS)[number][0];
const ALL: readonly Kind[] = KINDS.map(([kind]) => kind);

/** Share of the chart's height for the failures: few of them are visible next to any number of successes. */
const FAILED_SHARE = 0.3;

/**
 * Columns of the tasks that ended in each step: those that failed in a panel of their own, if there are any, above the
 * others. Steps that the period covers in part are pale.
 */
export function ThroughputChart(
  props: Omit<TimeChartProps, 'times'> & {
    readonly series: readonly StatsStepBody[];
    /** What to show. Default: everything. */
    readonly kinds?: readonly Kind[];
    /** Totals of the previous period, for comparison. Default: none. */
    readonly before?: Readonly<Record<Kind, number | null>> | null;
    /** Pixels. Default 160. */
    readonly height?: number;
  },
) {
  const { series, kinds = ALL, height = 160 } = props;
  const isPartial = useStartInBefore() !== null;
  const before = isPartial ? null : (props.before ?? null);
  const shown = KINDS.filter(([kind]) => kinds.includes(kind));
  const [only, setOnly] = useState<Kind | null>(null);
  const range = useRange();
  const times = useMemo(() => series.map(({ t }) => t), [series]);
  const rows: readonly Row[] = shown.map(([key, label, mark]) => ({
    key,
    tone: key,
    label,
    mark,
    format: count,
    values: series.map((step) => step[key]),
    total: totalText(series, key, before),
    isOn: only === null || only === key,
    ...(shown.length > 1 ? { isolate: () => setOnly(only === key ? null : key) } : {}),
  }));
  const panels = useMemo((): readonly Panel[] => {
    const drawn = shown.map(([kind]) => kind).filter((kind) => only === null || only === kind);
    const isPart = partsOf(times, range, props.stepSeconds * 1_000);
    const panelOf = (key: string, tall: number, own: readonly Kind[]): Panel => {
      const sums = series.map((step) => own.reduce((sum, kind) => sum + (step[kind] ?? 0), 0));
      const draw = (scale: Scale) => <Columns series={series} scale={scale} kinds={own} isPart={isPart} />;
      return { key, height: tall, most: niceMost(greatest(sums)), format: axisCount, draw };
    };
    const others = drawn.filter((kind) => kind !== 'failed');
    const hasBoth = others.length > 0 && others.length < drawn.length;
    if (!hasBoth || series.every(({ failed }) => !failed)) return [panelOf('ends', height, drawn)];
    const ofFailed = Math.round(height * FAILED_SHARE);
    return [panelOf('failed', ofFailed, ['failed']), panelOf('ends', height - ofFailed, others)];
  }, [series, times, kinds, only, height, range.key, props.stepSeconds]);
  if (isUnknown(rows)) return <NotRecorded />;
  return <TimeChart {...props} times={times} rows={rows} panels={panels} />;
}

/** The sum of the known values, a dash if there are none, and the comparison with the previous period. */
function totalText(
  series: readonly StatsStepBody[],
  kind: Kind,
  before: Readonly<Record<Kind, number | null>> | null,
): string {
  const known = series.flatMap((step) => step[kind] ?? []);
  if (known.length === 0) return '–';
  const sum = known.reduce((total, figure) => total + figure, 0);
  return before === null ? count(sum) : `${count(sum)} ${changeText(sum, before[kind])}`.trim();
}

/** Whether the first step began before the period, and the last one ends after it. */
function partsOf(times: readonly string[], range: Range, stepMs: number): readonly boolean[] {
  const { kind, minutes, since, until } = range;
  const now = Date.now();
  const first = kind === 'last' ? now - minutes * 60_000 : since.getTime();
  const last = kind === 'fixed' ? until.getTime() : now;
  return times.map((time, index) => {
    const from = Date.parse(time);
    return (index === 0 && from < first) || (index === times.length - 1 && from + stepMs > last);
  });
}

type Paths = Record<Kind, string>;

function Columns(props: {
  readonly series: readonly StatsStepBody[];
  readonly kinds: readonly Kind[];
  readonly scale: Scale;
  readonly isPart: readonly boolean[];
}) {
  const { series, kinds, scale, isPart } = props;
  const { height, step, x, y } = scale;
  const dots = useId();
  const gap = step > 4 ? 1 : 0;
  // One path for each kind: hundreds of columns need few elements.
  const whole: Paths = { failed: '', retried: '', succeeded: '' };
  const pale: Paths = { ...whole };
  let unknown = '';
  series.forEach((figures, index) => {
    if (kinds.every((kind) => figures[kind] === null))
      unknown += `M${x(index)} 0h${step}v${height}h${-step}z`;
    const paths = isPart[index] ? pale : whole;
    let bottom = height;
    for (const kind of kinds.toReversed()) {
      const value = figures[kind] ?? 0;
      if (value === 0) continue;
      const tall = height - y(value);
      const top = Math.max(0, bottom - tall);
      paths[kind] +=
        `M${x(index).toFixed(2)} ${top.toFixed(2)}h${(step - gap).toFixed(2)}v${tall.toFixed(2)}H${x(index).toFixed(2)}z`;
      bottom = top;
    }
  });
  return (
    <>
      <pattern id={dots} width="6" height="6" patternUnits="userSpaceOnUse">
        <circle class="chart-dots" cx="3" cy="3" r="1" />
      </pattern>
      <path fill={`url(#${dots})`} d={unknown} />
      {kinds.map((kind) => (
        <path key={kind} class={`column fill-${kind}`} d={whole[kind]} />
      ))}
      {kinds.map((kind) => (
        <path key={kind} class={`column fill-${kind} is-part`} d={pale[kind]} />
      ))}
    </>
  );
}
