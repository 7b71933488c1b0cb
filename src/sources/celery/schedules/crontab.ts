import { Cron } from 'croner';
import { localTime, momentOf } from '../zones.ts';

/** The fields of a crontab under Celery's names; one that is absent is `*`. */
export interface CrontabFields {
  readonly minute?: unknown;
  readonly hour?: unknown;
  readonly day_of_month?: unknown;
  readonly month_of_year?: unknown;
  readonly day_of_week?: unknown;
}

/** A crontab that can be read. */
export interface Crontab {
  /**
   * The first run after a moment. By Celery's rule, the day must match the days of the month *and* the days of the week.
   * Finding it takes some time, so the latest answers are remembered.
   *
   * @param after milliseconds since 1970, as is the answer
   * @param zone the time zone of the fields
   * @returns `null` for dates that do not exist, such as 30 February
   */
  nextRun(after: number, zone: string): number | null;
}

/** Most answers remembered of one crontab. */
const MOST_ANSWERS = 4;

const LAST_DAY = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** @returns `null` when Celery refuses the fields */
export function readCrontab(fields: CrontabFields): Crontab | null {
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
export function crontabText(fields: CrontabFields): string {
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
