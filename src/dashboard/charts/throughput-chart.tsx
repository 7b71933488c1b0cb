import { useId, useMemo, useState } from 'preact/hooks';
import type { StatsStepBody } from '../../client.ts';
import { changeText } from '../parts/change.tsx';
import { useStartInBefore } from '../range/use-range.ts';
import { count } from '../text/numbers.ts';
import { axisCount, greatest, niceMost, type Row, type TimeChartProps } from './chart.ts';
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

/** Minimum height of failures, so that they are visible next to any number of successes. */
const LEAST_FAILED_PX = 3;

/** Columns of the tasks that ended in each step: failed at the top, then retried, then succeeded. */
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
  const hatch = useId();
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
    const sums = series.map((step) => drawn.reduce((sum, kind) => sum + (step[kind] ?? 0), 0));
    const draw = (scale: Scale) => <Columns series={series} scale={scale} hatch={hatch} kinds={drawn} />;
    return [{ key: 'ends', height, most: niceMost(greatest(sums)), format: axisCount, draw }];
  }, [series, kinds, only, height, hatch]);
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

function Columns(props: {
  readonly series: readonly StatsStepBody[];
  readonly kinds: readonly Kind[];
  readonly scale: Scale;
  readonly hatch: string;
}) {
  const { series, kinds, scale, hatch } = props;
  const { height, step, x, y } = scale;
  const gap = step > 4 ? 1 : 0;
  // One path for each kind: hundreds of columns need only three elements.
  const paths: Record<Kind | 'unknown', string> = { failed: '', retried: '', succeeded: '', unknown: '' };
  series.forEach((figures, index) => {
    if (kinds.every((kind) => figures[kind] === null))
      paths.unknown += `M${x(index)} 0h${step}v${height}h${-step}z`;
    let bottom = height;
    for (const kind of kinds.toReversed()) {
      const value = figures[kind] ?? 0;
      if (value === 0) continue;
      const tall = Math.max(kind === 'failed' ? LEAST_FAILED_PX : 0, height - y(value));
      const top = Math.max(0, bottom - tall);
      paths[kind] +=
        `M${x(index).toFixed(2)} ${top.toFixed(2)}h${(step - gap).toFixed(2)}v${tall.toFixed(2)}H${x(index).toFixed(2)}z`;
      bottom = top;
    }
  });
  return (
    <>
      <defs>
        <pattern id={hatch} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect class="fill-failed" width="5" height="5" />
          <path class="chart-hatch" d="M0 0V5" />
        </pattern>
        <pattern id={`${hatch}-unknown`} width="6" height="6" patternUnits="userSpaceOnUse">
          <circle class="chart-dots" cx="3" cy="3" r="1" />
        </pattern>
      </defs>
      <path fill={`url(#${hatch}-unknown)`} d={paths.unknown} />
      <path class="fill-succeeded" d={paths.succeeded} />
      <path class="fill-retried" d={paths.retried} />
      <path class="column-failed" fill={`url(#${hatch})`} d={paths.failed} />
    </>
  );
}
