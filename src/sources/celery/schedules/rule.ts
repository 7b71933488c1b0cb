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
  if (rule.crontab !== null) return zone === null ? null : rule.crontab.nextRun(last, zone);
  if (rule.every === null) return null;
  const next = last + rule.every * 1000;
  if (!rule.relative) return next;
  return zone === null ? null : roundDown(next, rule.every, zone);
}

/** Rounds down to the unit of a relative interval (`delta_resolution` in celery/utils/time.py). */
function roundDown(time: number, every: number, zone: string): number {
  const seconds = [86_400, 3600, 60].find((unit) => every >= unit) ?? 1;
  const local = localTime(time, zone);
  return momentOf(local - (local % (seconds * 1000)), zone);
}
