/** Formats numbers, and times in the reader's zone or in UTC. */

/**
 * Formats a number with separators and at most three decimals: `1,200`. It does not use `Intl.NumberFormat`, because
 * creating the first one took most of the start-up time of the page's code.
 */
export const count = (value: number): string =>
  String(Math.round(value * 1_000) / 1_000).replace(/(?<!\.\d*)\B(?=(?:\d{3})+(?!\d))/g, ',');

/** The same, or a dash if it is unknown. */
export const countOrDash = (value: number | null): string => (value === null ? '–' : count(value));

/** `1 task`, `1,200 tasks` */
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

/** Formats a duration for people: `850 ms`, `2.4 s`, `3 min 12 s`, `2 h 5 min`, `3 d 4 h`. */
export function duration(ms: number): string {
  const sign = ms < 0 ? '−' : '';
  const length = Math.abs(ms);
  if (length < 1) return length === 0 ? '0 ms' : `${sign}<1 ms`;
  if (length < 999.5) return `${sign}${Math.round(length)} ms`;
  const seconds = length / 1_000;
  if (seconds < 9.95) return `${sign}${seconds.toFixed(1)} s`;
  if (seconds < 59.5) return `${sign}${Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < 3_600) return `${sign}${pair(Math.floor(whole / 60), 'min', whole % 60, 's')}`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 1_440) return `${sign}${pair(Math.floor(minutes / 60), 'h', minutes % 60, 'min')}`;
  const hours = Math.round(seconds / 3_600);
  return `${sign}${pair(Math.floor(hours / 24), 'd', hours % 24, 'h')}`;
}

/** A duration in its largest unit only: `12 s`, `3 min`, `2 h`, `3 d`. */
export function coarse(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h`;
  return `${count(Math.floor(seconds / 86_400))} d`;
}

function pair(much: number, unit: string, little: number, smallUnit: string): string {
  return little === 0 ? `${much} ${unit}` : `${much} ${unit} ${little} ${smallUnit}`;
}

/** Formats seconds; a dash when the value is unknown. */
export const seconds = (value: number | null): string => (value === null ? '–' : duration(value * 1_000));

/** Formats seconds of statistics: percentiles of counts by minute are known to the accuracy of a class only. */
export const secondsOf = (stats: { readonly computed_from?: 'tasks' | 'rollups' }) =>
  stats.computed_from === 'rollups'
    ? (value: number | null): string => (value === null ? '–' : `≈ ${seconds(value)}`)
    : seconds;

/** Formats a number of bytes. */
export function bytes(value: number): string {
  if (value < 1_000) return `${value} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let size = value / 1_000;
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1_000;
    unit += 1;
  }
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
}

/** Formats a share in percent. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return '–';
  const share = (part / whole) * 100;
  return `${share > 0 && share < 10 ? share.toFixed(1) : Math.round(share)} %`;
}

/** Zone in which times are shown. */
export type Zone = 'local' | 'utc';

const pad = (value: number, length = 2): string => String(value).padStart(length, '0');

function partsOf(date: Date, zone: Zone) {
  // For UTC shift the clock, so that both zones share the same code.
  const shift = zone === 'utc' ? 0 : date.getTimezoneOffset() * 60_000;
  const at = new Date(date.getTime() - shift);
  return {
    day: `${at.getUTCFullYear()}-${pad(at.getUTCMonth() + 1)}-${pad(at.getUTCDate())}`,
    time: `${pad(at.getUTCHours())}:${pad(at.getUTCMinutes())}:${pad(at.getUTCSeconds())}`,
    ms: pad(at.getUTCMilliseconds(), 3),
  };
}

/** `14:02:11` today, `2026-11-20 14:02:11` otherwise. */
export function moment(date: Date, zone: Zone): string {
  const { day, time } = partsOf(date, zone);
  return day === partsOf(new Date(), zone).day ? time : `${day} ${time}`;
}

/** The same, without the seconds. */
export const minute = (date: Date, zone: Zone): string => moment(date, zone).slice(0, -3);

/** `2026-11-21 14:02:11.250 +01:00` */
export function fullMoment(date: Date, zone: Zone): string {
  const { day, time, ms } = partsOf(date, zone);
  return `${day} ${time}.${ms} ${zone === 'utc' ? 'UTC' : offset(date)}`;
}

function offset(date: Date): string {
  const minutes = -date.getTimezoneOffset();
  const sign = minutes < 0 ? '-' : '+';
  return `${sign}${pad(Math.floor(Math.abs(minutes) / 60))}:${pad(Math.abs(minutes) % 60)}`;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const DAY_MS = 24 * 60 * 60_000;
/** Below this length, several labels of an axis would show the same minute. */
const SHORT_MS = 10 * 60_000;

/** `14:02` */
export function clockTime(date: Date, zone: Zone): string {
  return partsOf(date, zone).time.slice(0, 5);
}

/** A label of a time axis: `14:02:30` if the axis spans minutes, `14:02` up to a day, `Nov 20` above. */
export function axisLabel(date: Date, zone: Zone, spanMs: number): string {
  if (spanMs < SHORT_MS) return partsOf(date, zone).time;
  if (spanMs <= DAY_MS) return clockTime(date, zone);
  const [, month = '', day = ''] = partsOf(date, zone).day.split('-');
  return `${MONTHS[Number(month) - 1]} ${Number(day)}`;
}

/** A time of a chart in full: like its axis labels, but `2026-11-20 14:02` if the axis spans more than a day. */
export function chartTime(date: Date, zone: Zone, spanMs: number): string {
  if (spanMs < SHORT_MS) return partsOf(date, zone).time;
  const time = clockTime(date, zone);
  return spanMs <= DAY_MS ? time : `${partsOf(date, zone).day} ${time}`;
}

/** Milliseconds since 1970; `null` when the text is not a timestamp. */
export function millis(timestamp: string | null): number | null {
  if (timestamp === null) return null;
  const value = Date.parse(timestamp);
  return Number.isNaN(value) ? null : value;
}

/** The value of a field for a time in this zone: `2026-11-21T14:02`. */
export function fieldText(date: Date, zone: Zone): string {
  const { day, time } = partsOf(date, zone);
  return `${day}T${time.slice(0, 5)}`;
}

/** The time in a field; `null` when there is none. */
export function fromField(text: string, zone: Zone): Date | null {
  const date = new Date(zone === 'utc' ? `${text}Z` : text);
  return Number.isNaN(date.getTime()) ? null : date;
}
