/** Entries as `/api/beat/schedules/` shows them. */
import type { Schedule, ScheduleRun } from '../../../model.ts';
import type { RedbeatEntry } from './redbeat-entry.ts';
import { runAfter } from './rule.ts';
import type { StaticEntry } from './static-entry.ts';
import type { Sighting } from './watched-entry.ts';

/** When an entry last ran, and what time it is, in milliseconds since 1970. */
export interface RunFacts {
  readonly last: number | null;
  /** Newest first; `null`: none was seen. Default: `null`. */
  readonly runs?: readonly Sighting[] | null;
  /** When it is due after the last run, if beat reports its runs; `null`: unknown. */
  readonly due: number | null;
  readonly now: number;
}

/** How late beat may be before its state counts as unknown, in milliseconds. */
const LATE = 60_000;

/**
 * The zone of the app. Beat writes times in it: a zone that it has written is more reliable than the configured one.
 *
 * @param configured the zone by the configuration, or by default
 */
export function appTimezone(entries: readonly RedbeatEntry[], configured: string | null): string | null {
  const written = new Set(entries.flatMap(({ appTimezone }) => appTimezone ?? []));
  if (written.size === 1) return [...written][0] ?? null;
  return configured === 'UTC' && entries.some(({ isOffUtc }) => isOffUtc) ? null : configured;
}

/**
 * Redbeat stores the next run in whole seconds, and too early by the time between the last run and its storing
 * (`due_at` in redbeat/schedulers.py), which is long after a restart of beat. At the stored time it examines
 * the entry, and runs it when its rule is due.
 *
 * @param timezone that of the app
 */
export function redbeatSchedule(entry: RedbeatEntry, timezone: string | null): Schedule {
  const { schedule, rule, countedFrom } = entry;
  const zone = rule.timezone ?? timezone;
  const noted = schedule.nextRunAt ?? null;
  const next = noted === null || countedFrom === null ? null : runAfter(rule, countedFrom.getTime(), zone);
  return { ...schedule, timezone: zone, nextRunAt: next === null ? noted : new Date(next) };
}

/** @param runs `null` when no beat is known to run it */
export function staticSchedule(id: string, entry: StaticEntry, runs: RunFacts | null): Schedule {
  const { name, task, rule, enabled, args, kwargs, queue, timezone } = entry;
  const last = runs?.last ?? null;
  const next = runs === null || !enabled ? null : nextRun(entry, runs);
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
    // Beat keeps its counts in a separate file.
    totalRunCount: null,
    lastRuns: scheduleRuns(runs?.runs ?? null),
  };
}

/** Runs as tasks about which nothing more is known yet. */
export function scheduleRuns(runs: readonly Sighting[] | null): readonly ScheduleRun[] | null {
  return (
    runs?.map(({ taskId, time }) => ({ taskId, state: null, at: new Date(time), runtime: null })) ?? null
  );
}

/**
 * An interval has a next run only after an observed run. If beat reports its runs, one that was missed is past; otherwise
 * the next one is unknown then.
 */
function nextRun({ rule, timezone }: StaticEntry, { last, due, now }: RunFacts): number | null {
  if (due !== null) return due;
  const next = last === null ? null : runAfter(rule, last, timezone);
  if (rule.crontab !== null) return next !== null && next > now ? next : runAfter(rule, now, timezone);
  return next !== null && next > now - LATE ? next : null;
}
