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
} from './chart.ts';
import { Line } from './line-chart.tsx';
import type { Panel } from './panel.tsx';
import { TimeChart } from './time-chart.tsx';

const PANEL_PX = 90;
/** Height of the chart, with the gap between its panels. */
export const QUEUE_CHART_PX = 2 * PANEL_PX + 14;

/** The depth of a queue, and its waits if there were any: panels over one time axis. */
export function QueueChart(
  props: TimeChartProps & {
    /** Waiting messages in each step; `null`: unknown. */
    readonly waiting: readonly (number | null)[];
    /** Age of the oldest due message in each step, in seconds; `null`: unknown. */
    readonly oldest: readonly (number | null)[];
    /** Whether the ages are lower bounds. Default false. */
    readonly isAtLeast?: boolean;
  },
) {
  const { waiting, oldest, isAtLeast = false } = props;
  const isAged = greatest(oldest) > 0;
  const age: Row = {
    key: 'oldest',
    tone: 'running',
    label: 'oldest due',
    mark: '━',
    values: oldest,
    format: (value) => (isAtLeast && value > 0 ? `≥ ${seconds(value)}` : seconds(value)),
  };
  const rows: readonly Row[] = [
    { key: 'waiting', tone: 'waiting', label: 'waiting', mark: '○', values: waiting, format: count },
    ...(isAged ? [age] : []),
  ];
  const panels = useMemo((): readonly Panel[] => {
    const depth: Panel = {
      key: 'waiting',
      height: isAged ? PANEL_PX : QUEUE_CHART_PX,
      most: niceMost(greatest(waiting)),
      format: axisCount,
      draw: (scale) => <Line values={waiting} look="thick" tone="waiting" scale={scale} />,
    };
    if (!isAged) return [depth];
    const ages: Panel = {
      key: 'oldest',
      height: PANEL_PX,
      most: niceSeconds(greatest(oldest)),
      format: axisSeconds,
      draw: (scale) => <Line values={oldest} look="thick" tone="running" scale={scale} />,
    };
    return [depth, ages];
  }, [waiting, oldest]);
  if (isUnknown(rows)) return <NotRecorded />;
  return <TimeChart {...props} isRate={false} rows={rows} panels={panels} />;
}
