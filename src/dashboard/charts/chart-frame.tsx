import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { axisOf, greatest, type Panel, type Series, type Tone, valueAt } from './chart.ts';
import { Slider, type StepHandlers } from './slider.tsx';

/** The properties of every chart. */
interface ChartFrameProps extends Omit<StepHandlers, 'count'> {
  /** What it shows, in a few words. */
  readonly label: string;
  /** The figures in the legend. */
  readonly legend: readonly Series[];
  readonly panels: readonly Panel[];
  /** The steps in words. */
  readonly steps: readonly string[];
  /** What the steps are, as the first column of the table. */
  readonly head: string;
  /** All figures of a step in words. */
  readonly textOf: (index: number) => string;
  /** The step in words, otherwise the unit of the figures. Default: nothing. */
  readonly when?: string;
  /** Further entries of the legend. */
  readonly more?: ComponentChildren;
  /** What is drawn over the panels, in a chart of this width. */
  readonly over?: (width: number) => ComponentChildren;
  readonly hasMarkers?: boolean;
  /** The labels of the steps below the panels, in a chart of this width. */
  readonly axis: (width: number) => ComponentChildren;
}

/** A chart: its legend with the values of the pointed step or totals, then its panels over one axis, or a table. */
export function ChartFrame(props: ChartFrameProps) {
  const { label, legend, steps, head, index, when, more } = props;
  const [isTable, setTable] = useState(false);
  return (
    <figure class="chart">
      <figcaption class="flow small-text">
        {legend.map((one) => (
          <Entry
            key={one.label}
            series={one}
            value={index === null ? one.total : (valueAt(one, index) ?? '–')}
          />
        ))}
        {when !== undefined && <span class="chart-when dim num">{when}</span>}
        {more}
        <button
          type="button"
          class="small end chart-as-table"
          aria-pressed={isTable}
          onClick={() => setTable(!isTable)}
        >
          As table
        </button>
      </figcaption>
      {isTable ? <ChartTable label={label} head={head} legend={legend} steps={steps} /> : <Plot {...props} />}
    </figure>
  );
}

function Entry({ series, value }: { readonly series: Series; readonly value: string | undefined }) {
  const { tone, mark, label, isOn, isolate } = series;
  const content = (
    <>
      <i class={`chart-mark mark-${tone}`} aria-hidden="true">
        {mark}
      </i>
      {label} <b class="num">{value}</b>
    </>
  );
  if (isolate === undefined) return <span class="chart-entry">{content}</span>;
  return (
    <button type="button" class="chart-entry" aria-pressed={isOn !== false} onClick={isolate}>
      {content}
    </button>
  );
}

function Plot(props: ChartFrameProps) {
  const { panels, steps, over, axis, hasMarkers = false } = props;
  const { box, width } = useWidth();
  const count = steps.length;
  const drawings = useMemo(
    () => panels.map((panel, at) => <PanelDrawing key={at} panel={panel} width={width} count={count} />),
    [panels, width, count],
  );
  return (
    <div class="chart-plot">
      <div class={hasMarkers ? 'chart-area with-markers' : 'chart-area'} ref={box}>
        {drawings}
        <Slider {...props} count={count} />
        {over?.(width)}
      </div>
      {axis(width)}
    </div>
  );
}

/** The figures of a chart as a table. */
function ChartTable(props: Pick<ChartFrameProps, 'label' | 'head' | 'legend' | 'steps'>) {
  const { label, head, legend, steps } = props;
  return (
    <div class="table-scroll chart-table" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">{head}</th>
            {legend.map(({ label: name }) => (
              <th key={name} scope="col" class="num">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {steps.map((step, index) => (
            <tr key={step}>
              <th scope="row" class="num">
                {step}
              </th>
              {legend.map((one) => (
                <td key={one.label} class="num">
                  {valueAt(one, index) ?? '–'}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Where the steps and values of a panel are drawn, in pixels. */
interface Scale {
  /** Width of one step. */
  readonly step: number;
  readonly height: number;
  /** Left edge of a step. */
  readonly x: (index: number) => number;
  readonly y: (value: number) => number;
}

/** The width of an element, measured before it is first painted and when it changes; 0 until then. */
function useWidth() {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(1, entry?.contentRect.width ?? 1)));
    if (box.current !== null) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return { box, width };
}

/** Draws a panel over the width of the chart. */
function PanelDrawing(props: { readonly panel: Panel; readonly count: number; readonly width: number }) {
  const { panel, count, width } = props;
  const { height, series, isPart = [] } = panel;
  const { most, textOf } = axisOf(panel);
  const step = width / Math.max(1, count);
  const y = (value: number): number => height - (value / most) * height;
  const scale: Scale = { step, height, x: (index) => index * step, y };
  const lines = [most, most / 2, 0];
  const isColumns = series[0]?.look === 'columns' || series[0]?.look === 'bars';
  return (
    <div class="chart-panel">
      <div class="small-text dim chart-axis num" aria-hidden="true">
        {lines.map((value) => (
          <span key={value}>{textOf(value)}</span>
        ))}
      </div>
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
        {width > 0 &&
          lines.map((value) => <path key={value} class="chart-line" d={`M0 ${y(value)}H${width}`} />)}
        {width > 0 && isColumns && <Columns series={series} scale={scale} isPart={isPart} />}
        {width > 0 && !isColumns && series.map((one) => <Line key={one.label} series={one} scale={scale} />)}
      </svg>
    </div>
  );
}

const MOST_BAR_PX = 64;

/** Columns from the last figure at the bottom to the first. What is unknown is dotted. */
function Columns(props: {
  readonly series: readonly Series[];
  readonly scale: Scale;
  readonly isPart: readonly boolean[];
}) {
  const { series, scale, isPart } = props;
  const { height, step, x, y } = scale;
  const dots = useId();
  const isBars = series[0]?.look === 'bars';
  const wide = isBars ? Math.min(step - 1, MOST_BAR_PX) : step - (step > 4 ? 1 : 0);
  const left = (index: number): string => (x(index) + (isBars ? (step - wide) / 2 : 0)).toFixed(2);
  // One path for each figure: hundreds of columns need few elements.
  const whole = series.map(() => '');
  const pale = series.map(() => '');
  let unknown = '';
  for (const index of series[0]?.values.keys() ?? []) {
    if (series.every(({ values }) => values[index] === null))
      unknown += `M${x(index)} 0h${step}v${height}h${-step}z`;
    const paths = isPart[index] ? pale : whole;
    let bottom = height;
    for (const [kind, { values }] of [...series.entries()].toReversed()) {
      const value = values[index] ?? 0;
      if (value === 0) continue;
      const tall = height - y(value);
      const top = Math.max(0, bottom - tall);
      paths[kind] +=
        `M${left(index)} ${top.toFixed(2)}h${wide.toFixed(2)}v${tall.toFixed(2)}H${left(index)}z`;
      bottom = top;
    }
  }
  return (
    <>
      <pattern id={dots} width="6" height="6" patternUnits="userSpaceOnUse">
        <circle class="chart-dots" cx="3" cy="3" r="1" />
      </pattern>
      <path fill={`url(#${dots})`} d={unknown} />
      {series.map(({ tone }, kind) => (
        <path key={tone} class={`column fill-${tone}`} d={whole[kind]} />
      ))}
      {series.map(({ tone }, kind) => (
        <path key={tone} class={`column fill-${tone} is-part`} d={pale[kind]} />
      ))}
    </>
  );
}

/** A line through the middle of each step. Unknown values are a dotted gap, a single value is a dot. */
function Line(props: { readonly series: Series; readonly scale: Scale }) {
  const { values, look, tone } = props.series;
  const { x, y, step } = props.scale;
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

const [WIDTH, HEIGHT] = [96, 20];

/** A small chart of columns within a row, without axes. */
export function Sparkline(props: {
  /** Oldest first; `null`: unknown. */
  readonly values: readonly (number | null)[];
  /** What it shows, in words. */
  readonly label: string;
  readonly tone: Tone;
  /** The value of a column of full height. Default: the greatest one. */
  readonly most?: number;
}) {
  const { values, label, tone, most = Math.max(1, greatest(values)) } = props;
  const step = WIDTH / Math.max(1, values.length);
  let [columns, gaps] = ['', ''];
  values.forEach((value, index) => {
    const left = (index * step).toFixed(1);
    if (value === null) gaps += `M${left} ${HEIGHT - 1}h${step.toFixed(1)}`;
    else if (value > 0) {
      const tall = Math.max(2, (value / most) * HEIGHT).toFixed(1);
      columns += `M${left} ${HEIGHT}v${-tall}h${Math.max(1, step - 0.5).toFixed(1)}v${tall}z`;
    }
  });
  return (
    <svg
      class="sparkline"
      width={WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={label}
    >
      <path class="chart-gap stroke-waiting" d={gaps} />
      <path class={`fill-${tone}`} d={columns} />
    </svg>
  );
}
