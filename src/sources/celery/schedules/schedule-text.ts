/**
 * Parses schedules from all their sources: workers' answers to `conf`, redbeat, and `settings.beat_schedule` of
 * the host.
 */

import { Cron } from 'croner';
import { everyText } from '../../../text/every-text.ts';
import { isRecord } from '../../../values.ts';
import { isTimeZone, localTime, momentOf } from '../zones.ts';
import { type Crontab, type ScheduleRule, shownRule } from './entry.ts';

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

/** The fields of a crontab under Celery's names; one that is absent is `*`. */
interface CrontabFields {
  readonly minute?: unknown;
  readonly hour?: unknown;
  readonly day_of_month?: unknown;
  readonly month_of_year?: unknown;
  readonly day_of_week?: unknown;
}

/** Most answers remembered of one crontab. */
const MOST_ANSWERS = 4;

const LAST_DAY = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** @returns `null` when Celery refuses the fields */
function readCrontab(fields: CrontabFields): Crontab | null {
  const minutes = expandField(fields.minute ?? '*', 0, 59);
  const hours = expandField(fields.hour ?? '*', 0, 23);
  const days = expandField(fields.day_of_month ?? '*', 1, 31);
  const months = expandField(fields.month_of_year ?? '*', 1, 12);
  const weekdays = expandField(fields.day_of_week ?? '*', 0, 6);
  if (minutes === null || hours === null || days === null || months === null || weekdays === null)
    return null;
  // A search for a date that does not exist would take long.
  const comes = months.some((month) => (days[0] ?? 0) <= (LAST_DAY[month - 1] ?? 0));
  let cron: Cron | null = null;
  let answers: readonly {
    readonly after: number;
    readonly zone: string;
    readonly next: number | null;
  }[] = [];

  function search(after: number, zone: string): number | null {
    cron ??= new Cron([minutes, hours, days, months, weekdays].join(' '), {
      mode: '5-part',
      domAndDow: true,
      // The search is in local time, which has no changes of clocks.
      utcOffset: 0,
      paused: true,
    });
    const local = cron.nextRun(new Date(localTime(after, zone)));
    return local === null ? null : momentOf(local.getTime(), zone, after);
  }

  return {
    nextRun(after, zone) {
      if (!comes) return null;
      const known = answers.find((answer) => answer.after === after && answer.zone === zone);
      if (known !== undefined) return known.next;
      const next = search(after, zone);
      answers = [{ after, zone, next }, ...answers].slice(0, MOST_ANSWERS);
      return next;
    },
  };
}

/** The fields as a person reads them, in the order that Celery 5.6 shows: `0 7 * * 1 (m/h/dM/MY/d)`. */
function crontabText(fields: CrontabFields): string {
  const { minute, hour, day_of_month, month_of_year, day_of_week } = fields;
  const shown = [minute, hour, day_of_month, month_of_year, day_of_week].map(fieldText);
  return `${shown.join(' ')} (m/h/dM/MY/d)`;
}

function fieldText(field: unknown): string {
  if (field === undefined || field === null) return '*';
  const items: unknown[] = Array.isArray(field) ? field.slice(0, 60) : [field];
  return items.map(itemText).join(',') || '?';
}

function itemText(item: unknown): string {
  if (typeof item === 'number') return String(item);
  return typeof item === 'string' ? item.slice(0, 200).replace(/\s+/g, '') : '?';
}

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/**
 * The values of a field, ascending, as Celery reads it (`crontab_parser` in celery/schedules.py). A field is a number, a list of numbers, or a text with parts separated by
 * commas: `*`, `a`, `a-b` (which may wrap around: `fri-mon`, `22-3`), each with an optional step (`a-b/2`),
 * with names of days and months. As in Celery, a step counts from the beginning of its range.
 *
 * @returns `null` if Celery refuses the field
 */
function expandField(field: unknown, min: number, max: number): number[] | null {
  const values = valuesOf(field, min, max);
  if (values === null || values.length === 0) return null;
  const fits = values.every((value) => Number.isInteger(value) && value >= min && value <= max);
  return fits ? [...new Set(values)].sort((a, b) => a - b) : null;
}

function valuesOf(field: unknown, min: number, max: number): number[] | null {
  if (typeof field === 'number') return [field];
  if (Array.isArray(field)) return field.length > 1000 ? null : Array.from(field as number[]);
  if (typeof field !== 'string' || field.length > 1000) return null;
  const values: number[] = [];
  for (const part of field.split(',')) {
    const some = expandPart(part, min, max);
    if (some === null) return null;
    values.push(...some);
  }
  return values;
}

function expandPart(part: string, min: number, max: number): number[] | null {
  if (part === '*') return span(min, max);
  // Celery matches only the beginning and ignores the rest.
  const steps = /^(?:(\w+?)-(\w+)|\*)\/(\w*)/.exec(part);
  const range = /^(\w+?)-(\w+)/.exec(part);
  const [, from, to] = range ?? [];
  const values = steps !== null && range === null ? span(min, max) : expandRange(from ?? part, to, min, max);
  if (values === null || steps === null) return values;
  const step = /^\d+$/.test(steps[3] ?? '') ? Number(steps[3]) : 0;
  return step === 0 ? null : values.filter((_, index) => index % step === 0);
}

function expandRange(from: string, to: string | undefined, min: number, max: number): number[] | null {
  const first = numberOf(from, min, max);
  if (first === null || to === undefined) return first === null ? null : [first];
  const last = numberOf(to, min, max);
  if (last === null) return null;
  return last < first ? [...span(first, max), ...span(min, last)] : span(first, last);
}

function numberOf(text: string, min: number, max: number): number | null {
  const name = text.slice(0, 3).toLowerCase();
  let value = -1;
  if (/^\s*\+?\d+\s*$/.test(text)) value = Number(text);
  else if (MONTHS.includes(name)) value = MONTHS.indexOf(name) + 1;
  else value = DAYS.indexOf(name);
  return value >= min && value <= max ? value : null;
}

function span(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
