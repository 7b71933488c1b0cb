import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { MarkerBody, TaskStatsBody } from '../../wire.ts';
import { zone } from '../page-state.ts';
import { linkBetween } from '../range.ts';
import { go, linkTo } from '../route.ts';
import { createStore, useStore } from '../store.ts';
import { axisLabel, chartTime } from '../text/format.ts';
import { isUnknown, type Panel, type Series, stepInText, stepInWords } from './chart.ts';
import { ChartFrame } from './chart-frame.tsx';
import type { StepRange } from './slider.tsx';

/** The properties of every chart over time. */
export interface TimeChartProps {
  /** What it shows, in a few words. */
  readonly label: string;
  /** The statistics from which its figures are: their steps and markers. */
  readonly stats: Pick<TaskStatsBody, 'series' | 'step_seconds' | 'markers'>;
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
            <Offer place={place} end={end} spanMs={spanMs} filters={filters} close={() => setPlace(null)} />
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

const showRange = (from: number, until: number): void => go(linkBetween(from, until));

/** The steps of a chart in milliseconds since 1970, and in words. */
function useTimes({ series, step_seconds }: TimeChartProps['stats']) {
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

const NEAR_PX = 8;

/** Markers in groups of those less than 8 px apart: `x` is the place of the first. @param markers oldest first */
function groupMarkers(markers: readonly MarkerBody[], placeOf: (marker: MarkerBody) => number) {
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
function textsOf(groups: ReturnType<typeof groupMarkers>, width: number): readonly (string | null)[] {
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

/** A place in a chart for which links are offered. */
interface OfferedPlace {
  /** Start of the place, in milliseconds since 1970; `null`: markers only. */
  readonly from: number | null;
  readonly until: number;
  readonly markers: readonly MarkerBody[];
  /** Whether it is a range to apply. */
  readonly isRange: boolean;
  /** Whether it was requested by keyboard. */
  readonly takesFocus: boolean;
  /** Its position, in percent of the width. */
  readonly x: number;
}

/** Maximum number of markers, so that the links fit next to a chart; the newest are listed. */
const MOST_MARKERS = 5;

const iso = (ms: number): string => new Date(ms).toISOString();

/** Links for a place in a chart: its tasks, the failures since a marker, the range. */
function Offer(props: {
  readonly place: OfferedPlace;
  /** End of the chart, in milliseconds since 1970. */
  readonly end: number;
  readonly spanMs: number;
  readonly filters: Readonly<Record<string, string | readonly string[]>>;
  readonly close: () => void;
}) {
  const { place, end, spanMs, filters, close } = props;
  const { from, until, markers, isRange, takesFocus, x } = place;
  const box = useRef<HTMLDivElement>(null);
  const chosen = useStore(zone);
  useEffect(() => {
    if (takesFocus) box.current?.querySelector<HTMLElement>('a, button')?.focus();
    function onDown({ target }: PointerEvent): void {
      if (!(target instanceof Node && box.current?.contains(target) === true)) close();
    }
    document.addEventListener('pointerdown', onDown);
    return () => document.removeEventListener('pointerdown', onDown);
  }, [place]);
  function onKeyDown(event: KeyboardEvent): void {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    event.stopPropagation();
    box.current?.parentElement?.querySelector<HTMLElement>('.chart-slider')?.focus();
    close();
  }
  const time = (ms: number): string => chartTime(new Date(ms), chosen, spanMs);
  const period = from === null ? '' : isRange ? `${time(from)} – ${time(until)}` : time(from);
  return (
    <div
      class="box chart-offer"
      role="group"
      aria-label="At this point"
      ref={box}
      onKeyDown={onKeyDown}
      style={{ left: `${x}%`, transform: `translateX(-${x}%)` }}
    >
      {from !== null && (
        <>
          {isRange && (
            <button type="button" class="small" onClick={() => showRange(from, until)}>
              Show {period}
            </button>
          )}
          <a href={linkTo('tasks', { ...filters, since: iso(from), until: iso(until) })}>
            Tasks of {period} ›
          </a>
        </>
      )}
      {markers.slice(-MOST_MARKERS).map((marker) => (
        <MarkerLinks
          key={`${marker.at} ${marker.text}`}
          marker={marker}
          time={time(Date.parse(marker.at))}
          link={linkTo('failures', { ...filters, from: marker.at, to: iso(end) })}
        />
      ))}
    </div>
  );
}

function MarkerLinks(props: { readonly marker: MarkerBody; readonly time: string; readonly link: string }) {
  const { marker, time, link } = props;
  const { text, url } = marker;
  return (
    <span>
      <a href={link}>Failures since {text} ›</a> <span class="dim num">{time}</span>
      {url !== null && (
        <>
          {' '}
          <a href={url} rel="noreferrer" aria-label={`Open ${text}`}>
            ↗
          </a>
        </>
      )}
    </span>
  );
}
