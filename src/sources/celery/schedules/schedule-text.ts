/**
 * Parses schedules from all their sources: workers' answers to `conf`, redbeat, and `settings.beat_schedule` of
 * the host.
 */
import { everyText } from '../../../text.ts';
import { isRecord } from '../../../values.ts';
import { isTimeZone } from '../zones.ts';
import { type CrontabFields, crontabText, readCrontab } from './crontab.ts';
import { type ScheduleRule, shownRule } from './entry.ts';

/** Longest text shown of a schedule that is not understood. */
const LONGEST = 300;
/** Longest text that is parsed, in characters. */
const LONGEST_READ = 4000;

/**
 * Reads a schedule:
 * - a number: seconds from run to run
 * - five fields in the order of cron and of `crontab.from_string`, as `30 2 * * mon-fri` (minute, hour,
 *   day of month, month, day of week)
 * - an object with fields of a crontab under Celery's names: `{ minute: 30, hour: 2, day_of_week:
 *   'mon-fri' }`; those left out are `*`. With `timezone`, it is read in that zone
 * - `{ every: 30 }` in seconds, or `{ every: 5, period: 'minutes' }` as django-celery-beat has it; with
 *   `relative: true` like Celery's
 * - `{ event: 'sunset', lat: 51.5, lon: -0.12 }`
 * - the texts that Python makes: `<crontab: 30 2 mon-fri * * (m/h/d/dM/MY)>` of Celery 5.2, `<crontab: 30 2
 *   * * mon-fri (m/h/dM/MY/d)>` of later ones, `0:00:05`, `1 day, 0:00:00`, `<freq: 30.00 seconds>`,
 *   `<solar: sunset at latitude 51.5, longitude: -0.12>`
 *
 * Any other value is shown as it is and has no next run.
 *
 * @param relative the entry's own `relative`
 */
export function readSchedule(value: unknown, relative = false): ScheduleRule {
  if (typeof value === 'number') return interval(value, relative);
  if (typeof value === 'string') return ofText(value.trim(), relative);
  return isRecord(value) ? ofObject(value, relative) : shownRule(null);
}

function interval(seconds: number, relative: boolean): ScheduleRule {
  if (!Number.isFinite(seconds) || seconds > 1e12) return shownRule(null);
  // Celery runs one below zero as often as it can.
  const every = Math.max(0, seconds);
  const text = `${everyText(every)}${relative ? ' (relative)' : ''}`;
  return { text, crontab: null, every, relative, timezone: null };
}

function crontab(fields: CrontabFields, timezone: unknown = null): ScheduleRule {
  const zone = isTimeZone(timezone) ? timezone : null;
  const text = crontabText(fields);
  return { text, crontab: readCrontab(fields), every: null, relative: false, timezone: zone };
}

function ofText(text: string, relative: boolean): ScheduleRule {
  if (text.length > LONGEST_READ) return shownRule(`${text.slice(0, LONGEST)}…`);
  const cron = /^(?:<crontab: )?(.+) \((m\/h\/d\/dM\/MY|m\/h\/dM\/MY\/d)\)>?$/.exec(text);
  const fields = fieldsOf(cron?.[1] ?? text, cron?.[2] === 'm/h/d/dM/MY');
  const rule = fields === null ? null : crontab(fields);
  // Five words without the suffix may be anything.
  if (rule !== null && (cron !== null || rule.crontab !== null)) return rule;
  const seconds = readTimedelta(text);
  if (seconds !== null) return interval(seconds, relative);
  const frequency = readFrequency(text);
  if (frequency !== null) return { ...shownRule(frequency.text), every: frequency.seconds };
  const solar = /^<solar: (\w+) at latitude ([\d.e+-]+), longitude: ([\d.e+-]+)>$/.exec(text);
  if (solar !== null) return shownRule(solarText(solar[1], solar[2], solar[3]));
  return shownRule(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text || null);
}

/** Five fields; what Python shows of a list or a set (`[0, 30]`) is one. */
function fieldsOf(text: string, weekdayThird: boolean): CrontabFields | null {
  const parts = text.replace(/[[{(]([\d, ]*)[\]})]/g, listOf).split(/(?<!,)\s+/);
  const [minute, hour, third, fourth, fifth] = parts;
  if (parts.length !== 5) return null;
  return weekdayThird
    ? { minute, hour, day_of_week: third, day_of_month: fourth, month_of_year: fifth }
    : { minute, hour, day_of_month: third, month_of_year: fourth, day_of_week: fifth };
}

/** `0, 30` as `0,30`; a tuple of one ends in a comma. */
function listOf(_: string, items: string): string {
  return items
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
    .join(',');
}

const FIELDS = ['minute', 'hour', 'day_of_month', 'month_of_year', 'day_of_week'];
const PERIODS: Readonly<Record<string, number>> = {
  days: 86_400,
  hours: 3600,
  minutes: 60,
  seconds: 1,
  microseconds: 1e-6,
};

function ofObject(value: Readonly<Record<string, unknown>>, relative: boolean): ScheduleRule {
  const { every, period = 'seconds', freq, event, lat, lon } = value;
  if (typeof every === 'number') {
    const known = typeof period === 'string' && Object.hasOwn(PERIODS, period);
    return known
      ? interval(every * (PERIODS[period] ?? 1), relative || value.relative === true)
      : shownRule(null);
  }
  if (freq !== undefined) return shownRule(rruleText(value));
  if (FIELDS.some((field) => Object.hasOwn(value, field))) return crontab(value, value.timezone ?? value.tz);
  if (typeof event !== 'string' || typeof lat !== 'number' || typeof lon !== 'number') return shownRule(null);
  return shownRule(solarText(event, lat, lon));
}

function solarText(event = '', latitude: string | number = '', longitude: string | number = ''): string {
  return `${event.slice(0, LONGEST)} at latitude ${latitude}, longitude ${longitude}`;
}

/** Seconds of a Python timedelta's text, such as `0:00:05`, `1 day, 0:00:00` or `0:00:00.500000`. */
function readTimedelta(text: string): number | null {
  const match = /^(?:(-?\d{1,9}) days?, )?(\d{1,2}):(\d\d):(\d\d(?:\.\d{1,6})?)$/.exec(text);
  if (match === null) return null;
  const [, days = '0', hours, minutes, seconds] = match;
  return ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds);
}

/**
 * Parses the repr of a Celery interval, such as `<freq: 30.00 seconds>` (`humanize_seconds` in
 * celery/utils/time.py).
 *
 * @returns its seconds, `null` where two decimals of the unit are not exact to the second; or `null` if the
 * text is not such a repr
 */
function readFrequency(text: string): { readonly seconds: number | null; readonly text: string } | null {
  if (text === '<freq: now>') return { seconds: 0, text: everyText(0) };
  const match = /^<freq: (\d{1,12}\.\d\d) (second|minute|hour|day)s?>$/.exec(text);
  if (match === null) return null;
  const [, number = '', word = ''] = match;
  if (word === 'hour' || word === 'day') {
    return { seconds: null, text: `every ${Number(number)} ${word === 'hour' ? 'h' : 'd'}` };
  }
  const seconds = word === 'minute' ? Math.round(Number(number) * 60) : Number(number);
  return { seconds, text: everyText(seconds) };
}

/** `freq` 0 to 6. */
const RRULE_UNITS = ['year', 'month', 'week', 'd', 'h', 'min', 's'];
const RRULE_PARTS = [
  ...['bysetpos', 'bymonth', 'bymonthday', 'byyearday', 'byeaster', 'byweekno', 'byweekday'],
  ...['byhour', 'byminute', 'bysecond', 'count'],
];
const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];

/**
 * A recurrence rule as redbeat stores it (redbeat/schedules.py), which is shown, not computed: `every 5 s, byhour 1,2,3
 * (rrule)`.
 *
 * @returns `null` if it is not one
 */
function rruleText(rule: Readonly<Record<string, unknown>>): string | null {
  const unit = typeof rule.freq === 'number' ? RRULE_UNITS[rule.freq] : undefined;
  if (unit === undefined) return null;
  const interval = typeof rule.interval === 'number' ? rule.interval : 1;
  const words = [`every ${interval} ${unit.length > 3 && interval !== 1 ? `${unit}s` : unit}`];
  for (const part of RRULE_PARTS) {
    const value = Object.hasOwn(rule, part) ? rule[part] : null;
    if (value !== null && value !== undefined) words.push(`${part} ${rruleValueText(value, part)}`);
  }
  const { until } = rule;
  if (typeof until === 'number' && Math.abs(until) < 8.64e12) {
    words.push(`until ${new Date(until * 1000).toISOString().replace('.000Z', 'Z')}`);
  }
  return `${words.join(', ')} (rrule)`;
}

function rruleValueText(value: unknown, part: string): string {
  const items = Array.isArray(value) ? value.slice(0, 60) : [value];
  return items.map((item) => rruleItemText(item, part)).join(',');
}

/** A weekday may be `{ __type__: 'weekday', wkday: 0 }`. */
function rruleItemText(item: unknown, part: string): string {
  const number: unknown = typeof item === 'object' && item !== null && 'wkday' in item ? item.wkday : item;
  if (typeof number !== 'number') return '?';
  return (part === 'byweekday' ? WEEKDAYS[number] : undefined) ?? String(number);
}
