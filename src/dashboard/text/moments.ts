/** Formats times in the reader's zone or in UTC. */

/** Zone in which times are shown. */
export type Zone = 'local' | 'utc';

const pad = (value: number, length = 2): string => String(value).padStart(length, '0');

interface Parts {
  readonly day: string;
  readonly time: string;
  readonly ms: string;
}

function partsOf(date: Date, zone: Zone): Parts {
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
export function moment(date: Date, zone: Zone, now: number): string {
  const { day, time } = partsOf(date, zone);
  return day === partsOf(new Date(now), zone).day ? time : `${day} ${time}`;
}

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
