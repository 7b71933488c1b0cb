/**
 * Since when, and with which gaps, a history has received everything that happened. Times in milliseconds since 1970.
 */

/** Maximum number of gaps that are remembered; the time before the oldest counts as not seen. */
const MAX_GAPS = 100;
/** A gap that is shorter does not end a span that is judged as a whole. */
const SHORT_MS = 30_000;

/** The time that was seen, that is, for which everything was received. */
export interface Coverage {
  /** Nothing was seen between these times. */
  addGap(from: number, to: number): void;
  /** Something that happened then was reported by a collector that reports everything. */
  extendTo(time: number): void;
  /** Everything between these times was seen by another process or instance. @returns whether that is new */
  addSeen(from: number, to: number): boolean;
  /** Whether everything between these times was seen. */
  isWhole(from: number, to: number): boolean;
  /** Since when everything was seen, but for moments. */
  since(): number;
}

/** A time that was not seen: `to` is the first moment that was. */
interface Gap {
  readonly from: number;
  readonly to: number;
}

/** @param startedAt from then on, everything is seen */
export function createCoverage(startedAt: number): Coverage {
  let start = startedAt;
  /** In the order of time. */
  let gaps: Gap[] = [];

  function dropOldest(): void {
    while (gaps.length > MAX_GAPS) start = gaps.shift()?.to ?? start;
  }

  return {
    addGap(from, to) {
      if (from <= start) start = Math.max(start, to);
      // Part of the millisecond of its end was missed.
      else gaps.push({ from, to: to + 0.5 });
      dropOldest();
    },
    extendTo(time) {
      if (time < start) start = time;
    },
    addSeen(from, to) {
      // Also where the numbers are not numbers.
      if (!(from < to)) return false;
      const left = gaps.flatMap((gap) => without(gap, from, to));
      const isNew = from < start || left.length !== gaps.length || left.some((gap, at) => gap !== gaps[at]);
      gaps = left;
      if (from >= start) return isNew;
      if (to < start) gaps.unshift({ from: to, to: start });
      start = from;
      dropOldest();
      return isNew;
    },
    isWhole: (from, to) => from >= start && gaps.every((gap) => gap.from >= to || gap.to <= from),
    since: () => Math.floor(gaps.findLast(({ from, to }) => to - from >= SHORT_MS)?.to ?? start),
  };
}

/** The rest of a gap after a part of it was seen. */
function without(gap: Gap, from: number, to: number): Gap[] {
  if (to <= gap.from || from > gap.to) return [gap];
  return [
    ...(gap.from < from ? [{ from: gap.from, to: from }] : []),
    ...(to < gap.to ? [{ from: to, to: gap.to }] : []),
  ];
}
