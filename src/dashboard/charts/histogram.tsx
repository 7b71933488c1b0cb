import '../style/histogram.css';
import { useMemo, useState } from 'preact/hooks';
import type { StatsBucketBody } from '../../wire.ts';
import { count, percent, seconds } from '../text/numbers.ts';
import { Caption, ChartTable } from './caption.tsx';
import { axisCount, greatest, niceMost, type Row } from './chart.ts';
import { type Panel, PanelDrawing, useWidth } from './panel.tsx';
import { Slider } from './slider.tsx';

const LABEL_PX = 70;
const MOST_BAR_PX = 64;

/** Columns with the number of tasks up to each duration. Bounds that grow by a factor make a logarithmic axis. */
export function Histogram(props: {
  readonly label: string;
  /** Smallest first. */
  readonly classes: readonly StatsBucketBody[];
  /** Pixels. */
  readonly height: number;
}) {
  const { label, classes, height } = props;
  const [index, point] = useState<number | null>(null);
  const [isTable, setTable] = useState(false);
  const total = classes.reduce((sum, { count: some }) => sum + some, 0);
  const nameOf = (at: number): string => boundText(classes, at);
  const rows: readonly Row[] = [
    {
      key: 'tasks',
      tone: 'running',
      label: index === null ? 'tasks' : nameOf(index),
      mark: '■',
      total: count(total),
      values: classes.map(({ count: some }) => some),
      format: (some) => `${count(some)} (${percent(some, total)})`,
    },
  ];
  return (
    <figure class="chart">
      <Caption rows={rows} index={index} isTable={isTable} setTable={setTable} />
      {isTable ? (
        <ChartTable label={label} rows={rows} head="Up to" steps={classes.map((_, at) => nameOf(at))} />
      ) : (
        <Bars
          label={label}
          classes={classes}
          height={height}
          index={index}
          point={point}
          textOf={(at) => `${nameOf(at)}: ${count(classes[at]?.count ?? 0)} tasks`}
        />
      )}
    </figure>
  );
}

function boundText(classes: readonly StatsBucketBody[], index: number): string {
  const le = classes[index]?.le ?? null;
  const above = classes[index - 1]?.le ?? null;
  if (le !== null) return `< ${seconds(le)}`;
  return above === null ? 'all' : `≥ ${seconds(above)}`;
}

function Bars(props: {
  readonly label: string;
  readonly classes: readonly StatsBucketBody[];
  readonly height: number;
  readonly index: number | null;
  readonly point: (index: number | null) => void;
  readonly textOf: (index: number) => string;
}) {
  const { label, classes, height, index, point, textOf } = props;
  const { box, width } = useWidth();
  const panel = useMemo(
    (): Panel => ({
      key: 'classes',
      height,
      most: niceMost(greatest(classes.map(({ count: some }) => some))),
      format: axisCount,
      draw({ x, y, step }) {
        const wide = Math.min(step - 1, MOST_BAR_PX);
        return classes.map(({ count: some }, at) => (
          <path
            key={at}
            class="fill-running"
            d={`M${x(at) + (step - wide) / 2} ${height}V${y(some)}h${wide}V${height}z`}
          />
        ));
      },
    }),
    [classes, height],
  );
  const every = Math.max(1, Math.ceil((classes.length * LABEL_PX) / width));
  return (
    <div class="chart-plot">
      <div class="chart-area" ref={box}>
        <PanelDrawing panel={panel} count={classes.length} width={width} />
        <Slider
          label={label}
          index={index}
          point={point}
          textOf={textOf}
          count={classes.length}
          hasRanges={false}
          pick={() => {}}
        />
      </div>
      <div class="chart-bounds num dim" aria-hidden="true">
        {classes.map(({ le }, at) => (
          <span key={at}>{at % every === 0 && le !== null ? seconds(le) : ''}</span>
        ))}
      </div>
    </div>
  );
}
