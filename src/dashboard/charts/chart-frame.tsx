import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { type Panel, type Series, valueAt } from './chart.ts';
import { PanelDrawing, useWidth } from './panel.tsx';
import { Slider, type StepHandlers } from './slider.tsx';

/** The properties of every chart. */
export interface ChartFrameProps extends Omit<StepHandlers, 'count'> {
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
