import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { MarkerBody, TaskStatsBody } from '../../wire.ts';
import { go, linkHere } from '../route.ts';
import { zone } from '../settings.ts';
import { createStore, useStore } from '../store.ts';
import { axisLabel, chartTime } from '../text/moments.ts';
import { isUnknown, type Panel, type Series, stepInText, stepInWords } from './chart.ts';
import { ChartFrame } from './chart-frame.tsx';
import { Offer, type OfferedPlace } from './offer.tsx';
import type { StepRange } from './slider.tsx';

/** The properties of every chart over time. */
export interface TimeChartProps {
  /** What it shows, in a few words. */
  readonly label: string;
  /** The statistics from which its figures are: their steps and markers. */
  readonly stats: TaskStatsBody;
  readonly panels: readonly Panel[];
  /** Whether its figures are numbers per step, which it then says. Default false. */
  readonly isRate?: boolean;
  /** Further entries of the legend. Default: none. */
  readonly more?: ComponentChildren;
  /** Filters of what the chart shows, for its links to tasks and failures. Default: none. */
  readonly filters?: Readonly<Record<string, string | readonly string[]>>;
}

/** The time that the reader points at in one of the charts, in milliseconds since 1970; `null`: none. */
const cursor = createStore<number | null>(null);

const NO_FILTERS = {};

/**
 * A chart over time, with markers. A range that is selected in it becomes the period.
 *
 * @param props.legend its figures, if some of them are not drawn. Default: those of the panels
 */
export function TimeChart(props: TimeChartProps & { readonly legend?: readonly Series[] }) {
  const { label, stats, panels, isRate = false, more, filters = NO_FILTERS } = props;
  const { legend = panels.flatMap(({ series }) => series) } = props;
  const { starts, stepMs, end, spanMs, names, labels } = useTimes(stats);
  const at = useStore(cursor);
  const [place, setPlace] = useState<OfferedPlace | null>(null);
  // Another view must not keep the pointer's position.
  useEffect(() => () => cursor.set(null), []);
  const markers = stats.markers.filter((marker) => {
    const time = Date.parse(marker.at);
    return time >= (starts[0] ?? 0) && time < end;
  });
  const index = at === null || at >= end ? -1 : starts.findLastIndex((start) => start <= at);
  if (isUnknown(legend)) return <p class="dim">Not recorded in this period.</p>;

  function pick([first, last]: StepRange, how: 'mouse' | 'touch' | 'keys'): void {
    const [from, until] = [starts[first] ?? 0, (starts[last] ?? 0) + stepMs];
    const isRange = last > first;
    if (isRange && how !== 'touch') {
      showRange(from, until);
      return;
    }
    const here = markers.filter((marker) => Date.parse(marker.at) >= from && Date.parse(marker.at) < until);
    const x = ((first + last + 1) / 2 / starts.length) * 100;
    setPlace({ from, until, markers: here, isRange, takesFocus: how === 'keys', x });
  }

  return (
    <ChartFrame
      label={label}
      legend={legend}
      panels={panels}
      more={more}
      head="Time"
      steps={names}
      index={index < 0 ? null : index}
      when={names[index] ?? (isRate ? `per ${stepInWords(stats.step_seconds)}` : '')}
      textOf={(step) => `${names[step]}: ${stepInText(legend, step)}`}
      point={(step) => cursor.set(step === null ? null : (starts[step] ?? null))}
      pick={pick}
      hasMarkers={markers.length > 0}
      over={(width) => (
        <>
          {width > 0 && (
            <MarkerLines markers={markers} from={starts[0] ?? 0} end={end} width={width} open={setPlace} />
          )}
          {place !== null && (
            <Offer
              place={place}
              end={end}
              spanMs={spanMs}
              filters={filters}
              showRange={showRange}
              close={() => setPlace(null)}
            />
          )}
        </>
      )}
      axis={() => (
        <div class="small-text chart-times num dim" aria-hidden="true">
          {labels.map((text, tick) => (
            <span key={tick}>{text}</span>
          ))}
        </div>
      )}
    />
  );
}

function showRange(from: number, until: number): void {
  const [start, end] = [new Date(from).toISOString(), new Date(until).toISOString()];
  go(linkHere({ from: start, to: end, range: null }));
}

/** The steps of a chart in milliseconds since 1970, and in words. */
function useTimes({ series, step_seconds }: TaskStatsBody) {
  const chosen = useStore(zone);
  const starts = useMemo(() => series.map(({ t }) => Date.parse(t)), [series]);
  const stepMs = step_seconds * 1_000;
  const spanMs = (starts.length - 1) * stepMs;
  return {
    starts,
    stepMs,
    end: (starts.at(-1) ?? 0) + stepMs,
    spanMs,
    names: useMemo(
      () => starts.map((start) => chartTime(new Date(start), chosen, spanMs)),
      [starts, chosen, spanMs],
    ),
    /** Five labels under the chart. */
    labels: [0, 0.25, 0.5, 0.75, 1].map((part) => {
      const start = starts[Math.round(part * (starts.length - 1))];
      return start === undefined ? '' : axisLabel(new Date(start), chosen, spanMs);
    }),
  };
}

/** Markers that are too close to each other to be distinguished. */
interface MarkerGroup {
  /** Pixels from the left edge of the first one. */
  readonly x: number;
  /** Oldest first. */
  readonly markers: readonly MarkerBody[];
}

const NEAR_PX = 8;

/** Merges markers less than 8 px apart. @param markers oldest first */
function groupMarkers(
  markers: readonly MarkerBody[],
  placeOf: (marker: MarkerBody) => number,
): readonly MarkerGroup[] {
  const groups: { x: number; last: number; markers: MarkerBody[] }[] = [];
  for (const marker of markers) {
    const x = placeOf(marker);
    const group = groups.at(-1);
    if (group !== undefined && x - group.last < NEAR_PX) {
      group.markers.push(marker);
      group.last = x;
    } else groups.push({ x, last: x, markers: [marker] });
  }
  return groups;
}

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
  readonly markers: readonly MarkerBody[];
  readonly from: number;
  readonly end: number;
  readonly width: number;
  readonly open: (place: OfferedPlace) => void;
}) {
  const { from, end, width, open } = props;
  const placeOf = ({ at }: MarkerBody): number => ((Date.parse(at) - from) / (end - from)) * width;
  const groups = groupMarkers(props.markers, placeOf);
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
