import { useMemo } from 'preact/hooks';
import { count, seconds } from '../text/numbers.ts';
import {
  axisCount,
  axisSeconds,
  greatest,
  niceMost,
  niceSeconds,
  type Row,
  type TimeChartProps,
  type Tone,
} from './chart.ts';
import { Line, type LineLook } from './line.tsx';
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
  /** Text next to the label while no step is pointed at. Default: nothing. */
  readonly total?: string;
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
  const rows: readonly Row[] = lines.map(({ label, values, look, tone = 'running', total }) => ({
    key: label,
    tone,
    label,
    values,
    format,
    mark: MARKS[look],
    ...(total === undefined ? {} : { total }),
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
  return <TimeChart {...props} rows={rows} panels={panels} />;
}
