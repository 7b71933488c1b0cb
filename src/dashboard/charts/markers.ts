import type { ChartMarker } from './chart.ts';

/** Markers that are too close to each other to be distinguished. */
export interface MarkerGroup {
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
export function groupMarkers(
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
