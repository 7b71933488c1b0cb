import { useMemo } from 'preact/hooks';
import { count, seconds } from '../text/numbers.ts';
import { NotRecorded } from './caption.tsx';
import {
  axisCount,
  axisSeconds,
  greatest,
  isUnknown,
  niceMost,
  niceSeconds,
  type Row,
  type TimeChartProps,
  type Tone,
} from './chart.ts';
import type { Panel, Scale } from './panel.tsx';
import { TimeChart } from './time-chart.tsx';

/** A line of a {@link LineChart}. */
export interface ChartLine {
  readonly label: string;
  /** One for each step; `null`: unknown. */
  readonly values: readonly (number | null)[];
  /** `thick` for p95, `thin` for p50, `dashed` for the previous period. */
  readonly look: LineLook;
  /** Colour. Default `running`. */
  readonly tone?: Tone;
}

const MARKS: Readonly<Record<LineLook, string>> = { thick: '━', thin: '─', dashed: '╌' };

/** Lines over time. */
export function LineChart(
  props: TimeChartProps & {
    readonly lines: readonly ChartLine[];
    readonly unit: 'seconds' | 'count';
    /** Pixels. Default 140. */
    readonly height?: number;
  },
) {
  const { lines, unit, height = 140 } = props;
  const isTime = unit === 'seconds';
  const format = isTime ? seconds : count;
  const rows: readonly Row[] = lines.map(({ label, values, look, tone = 'running' }) => ({
    key: label,
    tone,
    label,
    values,
    format,
    mark: MARKS[look],
  }));
  const panels = useMemo((): readonly Panel[] => {
    const draw = (scale: Scale) =>
      lines.map(({ label, values, look, tone = 'running' }) => (
        <Line key={label} values={values} look={look} tone={tone} scale={scale} />
      ));
    const most = greatest(...lines.map(({ values }) => values));
    return [
      {
        key: 'lines',
        height,
        draw,
        most: isTime ? niceSeconds(most) : niceMost(most),
        format: isTime ? axisSeconds : axisCount,
      },
    ];
  }, [lines, isTime, height]);
  if (isUnknown(rows)) return <NotRecorded />;
  return <TimeChart {...props} isRate={!isTime} rows={rows} panels={panels} />;
}

/** How a line is drawn: `thick` and `thin` for current figures, `dashed` for the previous period. */
type LineLook = 'thick' | 'thin' | 'dashed';

/** A line through the middle of each step. Unknown values are a dotted gap, a single value is a dot. */
export function Line(props: {
  readonly values: readonly (number | null)[];
  readonly look: LineLook;
  readonly tone: Tone;
  readonly scale: Scale;
}) {
  const { values, look, tone, scale } = props;
  const { x, y, step } = scale;
  let [solid, gaps] = ['', ''];
  let before: { readonly index: number; readonly at: string } | null = null;
  values.forEach((value, index) => {
    if (value === null) return;
    const at = `${(x(index) + step / 2).toFixed(1)} ${y(value).toFixed(1)}`;
    const isNext = before?.index === index - 1;
    if (before !== null && !isNext) gaps += `M${before.at}L${at}`;
    // The line without length is a dot, because its ends are round.
    solid += isNext ? `L${at}` : `M${at}l0 0`;
    before = { index, at };
  });
  return (
    <>
      <path class={`chart-gap stroke-${tone}`} d={gaps} />
      <path class={`line-${look} stroke-${tone}`} d={solid} />
    </>
  );
}
