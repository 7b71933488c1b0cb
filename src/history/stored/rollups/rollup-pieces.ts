/** The minutes, hours and days from which the counts of a window are made. */
import type { RollupQuery, RollupSpan, RollupStore } from '../../rollup-store.ts';
import { DAY_MS, HOUR_MS, MINUTE_DAYS } from './rollup-cells.ts';

/** A part of a window, in one span. */
export type Piece = Pick<RollupQuery, 'span' | 'from' | 'to'>;

/** Up to when minutes have been folded to hours, and hours to days. Milliseconds since 1970; `-Infinity`: never. */
export interface Folded {
  readonly hours: number;
  readonly days: number;
}

const MINUTE_MS = 60_000;
/** How far back the end of the folded time is searched: before that, nothing is assumed to be folded. */
const SEARCHED = { hours: 4 * DAY_MS, days: 10 * DAY_MS };
const ALL = { names: [], queues: [], workers: [] } as const;

/** Reads from the store how far folding has come. Later minutes and hours are read instead. */
export async function readFolded(store: RollupStore, now: number): Promise<Folded> {
  const end = async (span: RollupSpan, from: number): Promise<number> => {
    const sums = await store.sums({ level: 0, span, from, to: now + DAY_MS, ...ALL });
    const last = sums.at(-1);
    return last === undefined ? Number.NEGATIVE_INFINITY : last.start + span * 1_000;
  };
  const [hours, days] = await Promise.all([
    end(3_600, now - SEARCHED.hours),
    end(86_400, now - SEARCHED.days),
  ]);
  return { hours, days };
}

/** Since when there are minutes. */
export function minutesSince(now: number): number {
  return Math.ceil((now - MINUTE_DAYS * DAY_MS) / HOUR_MS) * HOUR_MS;
}

/**
 * Divides a window into as few cells as possible: days inside, hours around them, minutes at the ends.
 *
 * @param coarsest the longest span whose cells can be told apart
 */
export function piecesOf(
  window: { readonly from: number; readonly to: number },
  coarsest: RollupSpan,
  folded: Folded,
  now: number,
): Piece[] {
  const { from, to } = window;
  if (from >= to) return [];
  if (coarsest === 60) return [{ span: 60, from: floor(from, MINUTE_MS), to }];
  if (coarsest === 86_400) {
    const days = { from: ceil(from, DAY_MS), to: Math.min(floor(to, DAY_MS), folded.days) };
    if (days.from < days.to) {
      return [
        ...piecesOf({ from, to: days.from }, 3_600, folded, now),
        { span: 86_400, ...days },
        ...piecesOf({ from: days.to, to }, 3_600, folded, now),
      ];
    }
  }
  // Without minutes, the whole hour is used for a part of it.
  const hasMinutes = from >= minutesSince(now);
  const first = hasMinutes ? ceil(from, HOUR_MS) : floor(from, HOUR_MS);
  const end = Math.min(
    hasMinutes || to >= minutesSince(now) ? floor(to, HOUR_MS) : ceil(to, HOUR_MS),
    folded.hours,
  );
  if (first >= end) return [{ span: 60, from: floor(from, MINUTE_MS), to }];
  const hours: Piece[] = [{ span: 3_600, from: first, to: end }];
  if (from < first) hours.unshift({ span: 60, from: floor(from, MINUTE_MS), to: first });
  if (end < to) hours.push({ span: 60, from: end, to });
  return hours;
}

function floor(time: number, ms: number): number {
  return Math.floor(time / ms) * ms;
}

function ceil(time: number, ms: number): number {
  return Math.ceil(time / ms) * ms;
}
