/** The period of time in the address. */
import { moment, type Zone } from '../text/moments.ts';

/** A window of `stats`, as parameters of the API. */
export interface StatsWindow {
  readonly stats: number;
  readonly stats_until?: string;
  /** Its start, where that is not a whole number of minutes before the end. Windows beyond a day are not cut. */
  readonly since?: string;
}

/** A window of a list, as parameters of the API. */
interface ListWindow {
  readonly since?: string;
  readonly until?: string;
}

/** A period of time. If it ends now, it moves with the clock: read its limits when you send a request. */
export interface Range {
  /** Distinguishes periods: part of the key of a request. */
  readonly key: string;
  /** Whether the address has a period. If not, it is the last hour, and lists show all times. */
  readonly isChosen: boolean;
  /** The last minutes, since some time, or between two times. */
  readonly kind: 'last' | 'since' | 'fixed';
  /** Its current length, rounded up, at most 90 days. */
  readonly minutes: number;
  readonly since: Date;
  readonly until: Date;
  /** The window of `stats`. */
  stats(): StatsWindow;
  /** The window of the same length before it. It ends 1 ms before this one starts, since windows include both ends. */
  before(): StatsWindow;
  /** The parameters of a list: none unless the address has a period. */
  list(): ListWindow;
  /** The parameters of a list of what the statistics count. */
  counted(): ListWindow;
  /** The period of links to lists of what the statistics count, unless the address has one, which links keep. */
  readonly link: Readonly<Record<string, string>>;
}

/** Periods that end now. */
export const RANGES: readonly (readonly [range: string, text: string])[] = [
  ['15m', '15 min'],
  ['1h', '1 h'],
  ['6h', '6 h'],
  ['24h', '24 h'],
  ['7d', '7 d'],
];
/** Only if a store keeps counts for longer than tasks. */
export const LONG_RANGES: typeof RANGES = [
  ['30d', '30 d'],
  ['90d', '90 d'],
];

const MINUTE = 60_000;
/** The longest window in the API. */
const MOST_MINUTES = 129_600;
/** Longer windows are counted without the limits of a list. */
export const DAY_MINUTES = 1_440;
const UNITS: Readonly<Record<string, number>> = { m: 1, h: 60, d: 1_440 };

/** `6h` in minutes; `null` for anything else. */
export function minutesOf(range: string | null): number | null {
  const [, figures, unit = ''] = /^(\d{1,6})([mhd])$/.exec(range ?? '') ?? [];
  const minutes = Number(figures) * (UNITS[unit] ?? 0);
  return minutes > 0 && minutes <= MOST_MINUTES ? minutes : null;
}

function timeOf(value: string | null): number | null {
  const at = Date.parse(value ?? '');
  return Number.isNaN(at) ? null : at;
}

const windowOf = (from: number, to: number): number =>
  Math.min(MOST_MINUTES, Math.max(1, Math.ceil((to - from) / MINUTE)));

const textOf = (at: number): string => new Date(at).toISOString();

/** Reads `range=6h`, or `from=…&to=…`; without `to` until now. Default: the last hour. */
export function rangeOf(query: URLSearchParams): Range {
  const [from, end] = [timeOf(query.get('from')), timeOf(query.get('to'))];
  const minutes = minutesOf(query.get('range'));
  // Only an end: the hour before it.
  const start = from ?? (end === null ? null : end - 60 * MINUTE);
  const isUsable = start !== null && start < (end ?? Date.now());
  if (!isUsable) {
    const length = (minutes ?? 60) * MINUTE;
    return build('last', minutes !== null, null, (now) => now - length);
  }
  return build(end === null ? 'since' : 'fixed', true, end, () => start);
}

function build(
  kind: Range['kind'],
  isChosen: boolean,
  end: number | null,
  startOf: (now: number) => number,
): Range {
  const limits = (): readonly [from: number, to: number] => {
    const now = Date.now();
    return [startOf(now), end ?? now];
  };
  const [from, to] = limits();
  const fixedEnd = end === null ? {} : { stats_until: textOf(end) };
  const cut = (start: number, minutes: number): Pick<StatsWindow, 'since'> =>
    kind === 'last' || minutes > DAY_MINUTES ? {} : { since: textOf(start) };
  const minutes = windowOf(from, to);
  return {
    key: kind === 'last' ? `${minutes} ${isChosen}` : `${from} ${end}`,
    kind,
    isChosen,
    minutes,
    since: new Date(from),
    until: new Date(to),
    stats() {
      const [start, until] = limits();
      const stats = windowOf(start, until);
      return { stats, ...cut(start, stats), ...fixedEnd };
    },
    before() {
      const [start, until] = limits();
      const stats = windowOf(start, until);
      return { stats, ...cut(2 * start - until, stats), stats_until: textOf(start - 1) };
    },
    list: () => (isChosen ? listWindow(limits()[0], end) : {}),
    counted() {
      const [start] = limits();
      // Equal for a minute, so that clients share answers.
      return listWindow(kind === 'last' ? start - (start % MINUTE) : start, end);
    },
    link: isChosen ? {} : { range: '1h' },
  };
}

function listWindow(from: number, end: number | null): ListWindow {
  const since = textOf(from);
  return end === null ? { since } : { since, until: textOf(end) };
}

/** `Last 1 h`, `10:00 – 10:25`, `Since 10:00` */
export function rangeText({ kind, since, until, minutes }: Range, zone: Zone): string {
  const text = (at: Date): string => moment(at, zone, Date.now()).slice(0, -3);
  if (kind === 'last') return `Last ${lengthText(minutes)}`;
  return kind === 'since' ? `Since ${text(since)}` : `${text(since)} – ${text(until)}`;
}

function lengthText(minutes: number): string {
  if (minutes % DAY_MINUTES === 0 && minutes > DAY_MINUTES) return `${minutes / DAY_MINUTES} d`;
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${minutes} min`;
}
