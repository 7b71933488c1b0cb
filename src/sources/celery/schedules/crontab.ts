import { Cron } from 'croner';
import { localTime, momentOf } from '../zones.ts';
import { expandField } from './crontab-field.ts';

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
   * The first run after a moment. By Celery's rule, the day must match the days of the month *and* the days of
   * the week.
   *
   * @param zone the time zone of the fields
   * @returns `null` for dates that do not exist, such as 30 February
   */
  nextRun(after: Date, zone: string): Date | null;
}

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

  return {
    nextRun(after, zone) {
      if (!comes) return null;
      cron ??= new Cron([minutes, hours, days, months, weekdays].join(' '), {
        mode: '5-part',
        domAndDow: true,
        // The search is in local time, which has no changes of clocks.
        utcOffset: 0,
        paused: true,
      });
      const time = after.getTime();
      const local = cron.nextRun(new Date(localTime(time, zone)));
      return local === null ? null : new Date(momentOf(local.getTime(), zone, time));
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
