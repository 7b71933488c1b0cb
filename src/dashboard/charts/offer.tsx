import { useEffect, useRef } from 'preact/hooks';
import type { MarkerBody } from '../../wire.ts';
import { linkTo } from '../route.ts';
import { zone } from '../settings.ts';
import { useStore } from '../store.ts';
import { chartTime } from '../text/moments.ts';

/** A place in a chart for which links are offered. */
export interface OfferedPlace {
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
export function Offer(props: {
  readonly place: OfferedPlace;
  /** End of the chart, in milliseconds since 1970. */
  readonly end: number;
  readonly spanMs: number;
  readonly filters: Readonly<Record<string, string | readonly string[]>>;
  readonly showRange: (from: number, until: number) => void;
  readonly close: () => void;
}) {
  const { place, end, spanMs, filters, showRange, close } = props;
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
