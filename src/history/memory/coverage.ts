/** Since when, and with which gaps, a history has seen everything that happened. Times in milliseconds since 1970. */

/** Most gaps that are remembered; before the oldest of more, nothing counts as seen. */
const MAX_GAPS = 100;
/** A gap that is shorter does not end a span that is judged as a whole. */
const SHORT_MS = 30_000;

/** What has been seen. */
export interface Coverage {
  /** Nothing was seen between these times. */
  addGap(from: number, to: number): void;
  /** Something that happened then was reported by who reports everything. */
  extendTo(time: number): void;
  /** Whether everything between these times was seen. */
  isWhole(from: number, to: number): boolean;
  /** Since when everything was seen, but for moments. */
  since(): number;
}

/** @param startedAt from then on, everything is seen */
export function createCoverage(startedAt: number): Coverage {
  let start = startedAt;
  const gaps: { readonly from: number; readonly to: number }[] = [];
  return {
    addGap(from, to) {
      if (from <= start) start = Math.max(start, to);
      else gaps.push({ from, to });
      if (gaps.length > MAX_GAPS) start = gaps.shift()?.to ?? start;
    },
    extendTo(time) {
      if (time < start) start = time;
    },
    isWhole: (from, to) => from >= start && gaps.every((gap) => gap.from >= to || gap.to < from),
    since: () => gaps.findLast(({ from, to }) => to - from >= SHORT_MS)?.to ?? start,
  };
}
