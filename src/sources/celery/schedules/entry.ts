/** Entries of a schedule, wherever it is stored, and their rows in `/api/beat/schedules/`. */
import type { Schedule } from '../../../model.ts';
import { localTime, momentOf } from '../zones.ts';
import type { Crontab } from './crontab.ts';

/** An entry. */
export interface ScheduleEntry {
  /** Unique in its schedule. */
  readonly id: string;
  readonly name: string;
  readonly task: string | null;
  readonly rule: ScheduleRule;
  readonly enabled: boolean;
  /** As Python shows them. */
  readonly args: string;
  readonly kwargs: string;
  /** As events show them, if the entry's options contain them. */
  readonly shownArgs: string | null;
  readonly shownKwargs: string | null;
  readonly queue: string | null;
  /** The zone in which it is read; `null` if unknown. */
  readonly timezone: string | null;
}

/** The content of a store of entries. */
export interface StoredEntries<Entry extends ScheduleEntry = ScheduleEntry> {
  /** If there are very many, not all are read. Entries that have not changed are the same objects as before. */
  readonly entries: readonly Entry[];
  /** The number of entries stored. */
  readonly total: number;
  /** The number of entries that were read but not understood. */
  readonly unreadable: number;
}

/** A task that is a run of an entry. */
export interface Run {
  readonly taskId: string;
  /** When it was sent, or else received, milliseconds since 1970. */
  readonly time: number;
  /** Whether its sending was reported. Then the next one will be, too, however busy the workers are. */
  readonly isSent: boolean;
}

/** @param runs newest first; `null` when no beat is known to run the entry */
export function scheduleRow(
  entry: ScheduleEntry,
  timezone: string | null,
  {
    last,
    next,
    count,
  }: {
    readonly last: number | null;
    readonly next: number | null;
    readonly count: number | null;
  },
  runs: readonly Run[] | null,
): Schedule {
  const { id, name, task, rule, enabled, args, kwargs, queue } = entry;
  return {
    id,
    app: null,
    name,
    task,
    schedule: rule.text,
    enabled: runs === null ? null : enabled,
    args,
    kwargs,
    queue,
    timezone,
    lastRunAt: last === null ? null : new Date(last),
    nextRunAt: next === null ? null : new Date(next),
    totalRunCount: count,
    // What became of their tasks is added later.
    lastRuns:
      runs === null || runs.length === 0
        ? null
        : runs.map(({ taskId, time }) => ({ taskId, state: null, at: new Date(time), runtime: null })),
  };
}

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
