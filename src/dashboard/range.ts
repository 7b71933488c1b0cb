/** The period of time in the address. */
import { useMemo } from 'preact/hooks';
import type { TaskListQuery, TasksBody } from '../client.ts';
import type { MarkerBody, TaskStatsBody } from '../wire.ts';
import { client } from './live/connection.ts';
import { type Resource, type ResourceOptions, useResource } from './live/use-resource.ts';
import { currentRoute, linkHere, type Route } from './route.ts';
import { createStore, useStore } from './store.ts';
import { minute, type Zone } from './text/format.ts';

/** A window of `stats`, as parameters of the API. */
interface StatsWindow {
  readonly stats: number;
  readonly stats_until?: string;
  /** Its start, where that is not a whole number of minutes before the end. Windows beyond a day are not cut. */
  readonly since?: string;
}

/** A window of a list, as parameters of the API. */
type ListWindow = Pick<TaskListQuery, 'since' | 'until'>;

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
const DAY_MINUTES = 1_440;
/** The start of a previous period that grows is equal for this long, so that clients share answers. */
const SHARED_MS = 5_000;
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

const textOf = (at: Date | number): string => new Date(at).toISOString();

/** The current view, with the period between two times. */
export const linkBetween = (from: Date | number, to: Date | number): string =>
  linkHere({ range: null, from: textOf(from), to: textOf(to) });

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
      const length = Math.ceil((until - start) / SHARED_MS) * SHARED_MS;
      return { stats, ...cut(start - length, stats), stats_until: textOf(start - 1) };
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
  const text = (at: Date): string => minute(at, zone);
  if (kind === 'last') return `Last ${lengthText(minutes)}`;
  return kind === 'since' ? `Since ${text(since)}` : `${text(since)} – ${text(until)}`;
}

function lengthText(minutes: number): string {
  if (minutes % DAY_MINUTES === 0 && minutes > DAY_MINUTES) return `${minutes / DAY_MINUTES} d`;
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${minutes} min`;
}

/** Views that compare periods unless the address says otherwise. */
const COMPARED: ReadonlySet<string> = new Set(['names']);

/** The period in the address. */
export function useRange(): Range {
  const { query } = useStore(currentRoute);
  return useMemo(() => rangeOf(query), [query]);
}

/** What to ask for of a period: its statistics, and its latest tasks. */
interface Asked {
  /** Number of tasks. Default 0. */
  readonly limit?: number;
  /** Filters of both. Default: none. */
  readonly filters?: Readonly<Record<string, string | readonly string[]>>;
  /** Further parameters of the statistics. */
  readonly stats?: TaskListQuery;
}

/** The statistics and the latest tasks of the period. @param options default: read every 10 s */
export function useTasks(asked: Asked, options: ResourceOptions = { every: 10_000 }): Resource<TasksBody> {
  const range = useRange();
  return useResource(
    `${range.key} ${JSON.stringify(asked)}`,
    (signal) => tasksWithStats(range, asked, signal),
    { keep: true, ...options },
  );
}

/** One request, or two if the period is too long to list and count at once. */
async function tasksWithStats(
  range: Range,
  { limit = 0, filters, stats }: Asked,
  signal: AbortSignal,
): Promise<TasksBody> {
  const [period, window] = [range.counted(), range.stats()];
  const counted = { ...filters, ...stats, ...window };
  if (limit === 0) return await client.tasks({ ...counted, limit }, { signal });
  if (window.stats <= DAY_MINUTES) {
    return await client.tasks({ ...counted, ...period, limit }, { signal });
  }
  const [listed, { stats: figures }] = await Promise.all([
    client.tasks({ ...filters, ...period, limit }, { signal }),
    client.tasks({ ...counted, limit: 0 }, { signal }),
  ]);
  return figures === undefined ? listed : { ...listed, stats: figures };
}

/** Whether figures are compared with the previous period. */
export function isComparedAt({ path, query }: Route): boolean {
  const asked = query.get('compare');
  return asked === null ? COMPARED.has(path) : asked === '1';
}

/** The same of the current view. */
export const useIsCompared = (): boolean => isComparedAt(useStore(currentRoute));

/** The statistics of the previous period; `null` without a comparison, or until they are loaded. */
export function usePrevious({ filters, stats }: Omit<Asked, 'limit'>): TasksBody | null {
  const range = useRange();
  const isCompared = useIsCompared();
  const { data } = useResource(
    `${isCompared} ${range.key} ${JSON.stringify([filters, stats])}`,
    async (signal) =>
      isCompared
        ? await client.tasks({ ...filters, ...stats, limit: 0, ...range.before() }, { signal })
        : null,
    { every: 60_000 },
  );
  return isCompared ? data : null;
}

/** The previous period if it can be compared: of less than half of it, nobody can say what was usual. */
export function comparable(before: TaskStatsBody | null | undefined): TaskStatsBody | null {
  if (before == null) return null;
  const known = before.series.filter(({ succeeded }) => succeeded !== null);
  return 2 * known.length < before.series.length ? null : before;
}

/** When the history starts, if it does not contain the whole previous period; `null` also without a comparison. */
export function useStartInBefore(): Date | null {
  const { since, until } = useRange();
  const isCompared = useIsCompared();
  const { at } = useStore(historyStart);
  const start = 2 * since.getTime() - until.getTime();
  return isCompared && at !== null && at > start ? new Date(at) : null;
}

/** How far back the data reaches. */
export interface HistoryStart {
  /** In milliseconds since 1970; `null` if unknown. */
  readonly at: number | null;
  /** Whether a store keeps counts for longer than tasks. */
  readonly isKept: boolean;
  /** Newest first. */
  readonly markers: readonly MarkerBody[];
}

/** How far back the history reached when the reader last chose a period. */
export const historyStart = createStore<HistoryStart>({ at: null, isKept: false, markers: [] });

const STALE_MS = 30_000;
let askedAt = 0;

/** Requests again how far back the history reaches, unless this was done a moment ago. */
export async function loadHistoryStart(): Promise<void> {
  if (Date.now() - askedAt < STALE_MS) return;
  askedAt = Date.now();
  try {
    historyStart.set(await read());
  } catch {
    // The previous value is still the best guess.
    askedAt = 0;
  }
}

async function read(): Promise<HistoryStart> {
  const [components, { stats }] = await Promise.all([
    client.components(),
    client.tasks({ limit: 0, stats: 1 }),
  ]);
  const since = components.history?.config?.since;
  const starts = [since, stats?.counted_since].flatMap((text) =>
    typeof text === 'string' ? [Date.parse(text)] : [],
  );
  return {
    at: starts.length === 0 ? null : Math.min(...starts),
    isKept: stats?.computed_from !== undefined,
    markers: (stats?.markers ?? []).toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at)),
  };
}
