import { localTime, momentOf } from '../zones.ts';
import type { Crontab } from './crontab.ts';

/** When an entry runs. One with neither crontab nor interval (solar, rrule) is only shown. */
export interface ScheduleRule {
  /** As a person reads it: `every 30 s`, `0 7 * * 1 (m/h/dM/MY/d)`; `null` if it is not a schedule. */
  readonly text: string | null;
  readonly crontab: Crontab | null;
  /** Seconds from run to run. */
  readonly every: number | null;
  /** Celery's `relative`: runs of an interval are rounded down to the whole day, hour or minute. */
  readonly relative: boolean;
  /** The zone in which it is read, if it has its own. */
  readonly timezone: string | null;
}

/** A rule that is only shown. */
export function shownRule(text: string | null): ScheduleRule {
  return { text, crontab: null, every: null, relative: false, timezone: null };
}

/**
 * The run after a run, in milliseconds since 1970; `null` if the rule does not define it.
 *
 * @param zone the time zone of crontabs; `null` if unknown
 */
export function runAfter(rule: ScheduleRule, last: number, zone: string | null): number | null {
  if (rule.crontab !== null) {
    return zone === null ? null : (rule.crontab.nextRun(new Date(last), zone)?.getTime() ?? null);
  }
  if (rule.every === null) return null;
  const next = last + rule.every * 1000;
  if (!rule.relative) return next;
  return zone === null ? null : roundDown(next, resolutionOf(rule), zone);
}

/**
 * The unit to which runs of a relative interval are rounded down, in seconds (`delta_resolution` in
 * celery/utils/time.py); 0 for any other.
 */
export function resolutionOf(rule: ScheduleRule): number {
  if (!rule.relative || rule.every === null) return 0;
  return [86_400, 3600, 60].find((unit) => (rule.every ?? 0) >= unit) ?? 1;
}

function roundDown(time: number, seconds: number, zone: string): number {
  const local = localTime(time, zone);
  return momentOf(local - (local % (seconds * 1000)), zone);
}
