import { useEffect, useMemo, useState } from 'preact/hooks';
import { zone } from '../settings.ts';
import { createStore, useStore } from '../store.ts';
import { axisLabel, chartTime } from '../text/moments.ts';
import { Caption, ChartTable } from './caption.tsx';
import { type ChartMarker, type Row, stepAt, stepInText, stepInWords, type TimeChartProps } from './chart.ts';
import { Offer, type OfferedPlace } from './offer.tsx';
import { type Panel, PanelDrawing, useWidth } from './panel.tsx';
import { Slider } from './slider.tsx';
import type { StepRange } from './use-steps.ts';

/** The content of a chart: its figures in words, and their drawing. */
interface ChartContent {
  readonly rows: readonly Row[];
  readonly panels: readonly Panel[];
}

const NO_MARKERS: readonly ChartMarker[] = [];

/** The steps of a chart in milliseconds since 1970, and in words. */
function useTimes(times: readonly string[], stepSeconds: number) {
  const chosen = useStore(zone);
  const starts = useMemo(() => times.map((time) => Date.parse(time)), [times]);
  const stepMs = stepSeconds * 1_000;
  const from = starts[0] ?? 0;
  const end = (starts.at(-1) ?? 0) + stepMs;
  const spanMs = (starts.length - 1) * stepMs;
  return {
    starts,
    stepMs,
    from,
    end,
    spanMs,
    timeOf: (index: number): string => chartTime(new Date(starts[index] ?? 0), chosen, spanMs),
    /** Five labels under the chart. */
    labels: [0, 0.25, 0.5, 0.75, 1].map((part) => {
      const start = starts[Math.round(part * (starts.length - 1))];
      return start === undefined ? '' : axisLabel(new Date(start), chosen, spanMs);
    }),
  };
}

type Times = ReturnType<typeof useTimes>;

/** A chart over time: its legend with values, its panels over one time axis, markers, ranges, and a table. */
export function TimeChart(props: TimeChartProps & ChartContent) {
  const { label, times, stepSeconds, rows, isRate = true, more } = props;
  const unit = isRate ? `per ${stepInWords(stepSeconds)}` : '';
  const at = useStore(cursor);
  const [isTable, setTable] = useState(false);
  const steps = useTimes(times, stepSeconds);
  const index = stepAt(steps.starts, steps.stepMs, at);
  // Another view must not keep the pointer's position.
  useEffect(() => () => cursor.set(null), []);
  return (
    <figure class="chart">
      <Caption
        rows={rows}
        more={more}
        index={index}
        isTable={isTable}
        setTable={setTable}
        when={index === null ? unit : steps.timeOf(index)}
      />
      {isTable ? (
        <ChartTable
          label={label}
          rows={rows}
          head="Time"
          steps={times.map((_, step) => steps.timeOf(step))}
        />
      ) : (
        <Plot {...props} index={index} steps={steps} />
      )}
    </figure>
  );
}

/** The drawing, with the pointed step and the selection. */
function Plot(
  props: TimeChartProps & ChartContent & { readonly index: number | null; readonly steps: Times },
) {
  const { label, markers = NO_MARKERS, onRange, filters = {}, rows, panels, index, steps } = props;
  const { starts, stepMs, from, end, spanMs, timeOf, labels } = steps;
  const count = starts.length;
  const { box, width } = useWidth();
  const [place, setPlace] = useState<OfferedPlace | null>(null);
  const groups = useMemo(() => groupMarkers(markers, from, end, width), [markers, from, end, width]);
  const drawings = useMemo(
    () => panels.map((panel) => <PanelDrawing key={panel.key} panel={panel} width={width} count={count} />),
    [panels, width, count],
  );

  function pick([first, last]: StepRange, how: 'mouse' | 'touch' | 'keys'): void {
    const [start, until] = [starts[first] ?? 0, (starts[last] ?? 0) + stepMs];
    const isRange = last > first;
    if (isRange && how !== 'touch') {
      onRange?.(new Date(start).toISOString(), new Date(until).toISOString());
      return;
    }
    const here = markers.filter(({ at }) => Date.parse(at) >= start && Date.parse(at) < until);
    const x = ((first + last + 1) / 2 / count) * 100;
    setPlace({ from: start, until, markers: here, isRange, takesFocus: how === 'keys', x });
  }

  return (
    <div class="chart-plot">
      <div class={groups.length > 0 ? 'chart-area with-markers' : 'chart-area'} ref={box}>
        {drawings}
        <Slider
          label={label}
          index={index}
          pick={pick}
          count={count}
          textOf={(step) => `${timeOf(step)}: ${stepInText(rows, step)}`}
          hasRanges={onRange !== undefined}
          point={(step) => cursor.set(step === null ? null : (starts[step] ?? null))}
        />
        {width > 0 && <MarkerLines groups={groups} width={width} open={setPlace} end={end} />}
        {place !== null && (
          <Offer
            place={place}
            end={end}
            spanMs={spanMs}
            filters={filters}
            onRange={onRange}
            close={() => setPlace(null)}
          />
        )}
      </div>
      <div class="chart-times num dim" aria-hidden="true">
        {labels.map((text, tick) => (
          <span key={tick}>{text}</span>
        ))}
      </div>
    </div>
  );
}

/** Markers that are too close to each other to be distinguished. */
interface MarkerGroup {
  /** Pixels from the left edge of the first one. */
  readonly x: number;
  /** Oldest first. */
  readonly markers: readonly ChartMarker[];
}

const NEAR_PX = 8;

/**
 * The markers within a period, those less than 8 px apart merged.
 *
 * @param from start of the period, in milliseconds since 1970
 * @param until its end
 * @param width pixels of the period
 */
function groupMarkers(
  markers: readonly ChartMarker[],
  from: number,
  until: number,
  width: number,
): readonly MarkerGroup[] {
  const groups: { x: number; last: number; markers: ChartMarker[] }[] = [];
  const sorted = markers.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
  for (const marker of sorted) {
    const at = Date.parse(marker.at);
    if (!(at >= from && at < until)) continue;
    const x = ((at - from) / (until - from)) * width;
    const group = groups.at(-1);
    if (group !== undefined && x - group.last < NEAR_PX) {
      group.markers.push(marker);
      group.last = x;
    } else groups.push({ x, last: x, markers: [marker] });
  }
  return groups;
}

/** The time that the reader points at in one of the charts, in milliseconds since 1970; `null`: none. */
const cursor = createStore<number | null>(null);

/** Width of a character of a marker's text, and of its surroundings, in pixels. */
const [CHARACTER_PX, AROUND_PX] = [7, 24];

/** The texts of markers that do not overlap. If there is not enough room, the newest are shown. */
function textsOf(groups: readonly MarkerGroup[], width: number): readonly (string | null)[] {
  let limit = Number.POSITIVE_INFINITY;
  return groups
    .toReversed()
    .map(({ x, markers }) => {
      const text = markers.length === 1 ? (markers[0]?.text ?? '') : String(markers.length);
      const leftOf = (length: number): number => x - (x / width) * length;
      const length = text.length * CHARACTER_PX + AROUND_PX;
      const hasRoom = leftOf(length) + length <= limit;
      limit = leftOf(hasRoom ? length : AROUND_PX);
      return hasRoom ? text : null;
    })
    .toReversed();
}

/** Dashed lines at the markers, each with its text if there is room for it. */
function MarkerLines(props: {
  readonly groups: readonly MarkerGroup[];
  readonly width: number;
  readonly end: number;
  readonly open: (place: OfferedPlace) => void;
}) {
  const { groups, width, end, open } = props;
  const texts = textsOf(groups, width);
  return (
    <>
      {groups.map(({ x, markers }, index) => {
        const left = (x / width) * 100;
        return (
          <div key={markers[0]?.at} class="chart-marker" style={{ left: `${left}%` }}>
            <button
              type="button"
              tabIndex={-1}
              aria-label={`Marker ${markers.map(({ text }) => text).join(', ')}`}
              style={{ transform: `translateX(-${left}%)` }}
              onClick={() =>
                open({ from: null, until: end, markers, isRange: false, takesFocus: false, x: left })
              }
            >
              <span>▼ {texts[index]}</span>
            </button>
          </div>
        );
      })}
    </>
  );
}
