/**
 * The entries of django-celery-beat as `/api/beat/schedules/` shows them, and whether its beat runs.
 *
 * The next run is the decision of its scheduler (`ModelEntry.is_due` in django_celery_beat/schedulers.py), as far as the
 * tables show it. Beat stores runs late, all of them together, when it wakes up three minutes or more after it last did
 * (`Scheduler.should_sync` in celery/beat.py). A run that is due and not stored may still have happened. It is missed
 * for certain only if beat has stored a later run of another entry, or if it should have stored this one by now.
 */
import type { Schedule } from '../../../../model.ts';
import type { Steps } from '../../../../scheduler.ts';
import { runAfter, scheduleRow } from '../entry.ts';
import type { RunObserver } from '../runs.ts';
import type { DjangoEntry, DjangoSnapshot } from './django-reader.ts';

/** Data that is known besides the tables. */
export interface DjangoFacts {
  readonly observer: RunObserver;
  /** The zone of the app. */
  readonly timezone: string | null;
  /** How long beat may wait before it stores a run, in milliseconds. */
  readonly unstored: number;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Data that decides about the next run. Times in milliseconds since 1970. */
interface RunFacts {
  /** The last run, stored or seen; `null`: none. */
  readonly last: number | null;
  readonly snapshot: DjangoSnapshot;
  readonly unstored: number;
  readonly now: number;
}

/** How long a run shows that beat works, in milliseconds. */
const LATELY = 3_600_000;
/** How late beat may be, and how far clocks may differ, in milliseconds. */
const LATE = 60_000;
/** `Scheduler.sync_every`, in milliseconds. */
const SYNC_EVERY = 180_000;
/** The longest pause of this scheduler, in seconds, unless it is configured. */
const PAUSE = 5;

/** @param pause `beat_max_loop_interval` in seconds; `null` if it is not set */
export function unstoredFor(pause: number | null): number {
  return SYNC_EVERY + (pause ?? PAUSE) * 1000;
}

/** @param facts with the time zone of the app */
export function djangoRow(entry: DjangoEntry, snapshot: DjangoSnapshot, facts: DjangoFacts): Schedule {
  const { observer, timezone, unstored, now } = facts;
  const { id, rule, lastRunAt, totalRunCount } = entry;
  const seen = observer.lastOnTime(id);
  const last = seen === null || lastRunAt === null ? (seen ?? lastRunAt) : Math.max(seen, lastRunAt);
  const next = nextRun(entry, { last, snapshot, unstored, now });
  // Runs that were seen and not stored are not counted yet.
  const count = last !== null && lastRunAt === null ? null : totalRunCount;
  const zone = rule.crontab === null ? timezone : entry.timezone;
  return scheduleRow(entry, zone, { last, next, count }, observer.runs(id));
}

/** Whether an entry ran within the last hour and has not missed more than one run since, as far as beat stores them. */
export function* hasRunLately(
  { entries }: DjangoSnapshot,
  { unstored, now }: Pick<DjangoFacts, 'unstored' | 'now'>,
): Steps<boolean> {
  for (const entry of entries) {
    yield;
    const { enabled, lastRunAt } = entry;
    if (!enabled || lastRunAt === null || now - lastRunAt > LATELY) continue;
    const next = after(entry, lastRunAt);
    const second = next === null ? null : after(entry, next);
    if (second !== null && now <= second + unstored + LATE) return true;
  }
  return false;
}

function after({ rule, timezone }: DjangoEntry, time: number): number | null {
  return runAfter(rule, time, timezone);
}

/**
 * The next run, milliseconds since 1970. It is in the past if the run was missed for certain. `null`: there will be
 * none, or it is not known.
 */
function nextRun(entry: DjangoEntry, facts: RunFacts): number | null {
  const { enabled, isOneOff, totalRunCount, expiresAt } = entry;
  if (!enabled || (isOneOff && totalRunCount > 0)) return null;
  const due = dueAt(entry, facts);
  const next = due === null || due > facts.now - LATE ? due : missedOrNext(entry, due, facts);
  return next !== null && expiresAt !== null && next >= expiresAt ? null : next;
}

/** The decision of the scheduler; `null` also if its versions differ. */
function dueAt(entry: DjangoEntry, { last, snapshot }: RunFacts): number | null {
  const { clockedAt, startAt } = entry;
  if (clockedAt !== null) return Math.max(clockedAt, startAt ?? clockedAt);
  if (last === null) return firstRun(entry, snapshot.updatedAt);
  const due = after(entry, last);
  return due === null || startAt === null || due >= startAt ? due : runFrom(entry, startAt);
}

/**
 * For an entry that is overdue when it starts: an interval runs at the start, and so does a crontab up to version 2.7.
 * Since 2.8, beat looks at a crontab again at its next time after the start, or earlier if it reads its entries anew.
 */
function runFrom(entry: DjangoEntry, startAt: number): number | null {
  return entry.rule.crontab === null ? startAt : agreed(startAt, after(entry, startAt));
}

/**
 * An entry without a run begins when beat has read it (up to version 2.7), or when it was changed (since). With a start,
 * since version 2.5 it is overdue from the beginning.
 *
 * @param updatedAt when any entry was last changed, at which beat reads all of them again; `null` if unknown
 */
function firstRun(entry: DjangoEntry, updatedAt: number | null): number | null {
  const { changedAt, startAt, rule } = entry;
  if (changedAt === null) return null;
  const readAt = Math.max(changedAt, updatedAt ?? changedAt);
  const due = after(entry, readAt);
  if (due === null) return null;
  if (startAt === null) return rule.crontab === null ? agreed(due, after(entry, changedAt)) : due;
  if (changedAt >= startAt) return agreed(due, changedAt);
  return agreed(Math.max(due, startAt), runFrom(entry, startAt));
}

function agreed(one: number, other: number | null): number | null {
  return other !== null && Math.abs(one - other) <= LATE ? one : null;
}

/** @param due a time in the past */
function missedOrNext(
  entry: DjangoEntry,
  due: number,
  { snapshot: { storedUntil }, unstored, now }: RunFacts,
): number | null {
  if (due <= (storedUntil ?? due) - LATE || due <= now - unstored - LATE) return due;
  const { isOneOff, clockedAt, rule } = entry;
  return !isOneOff && clockedAt === null && rule.crontab !== null ? after(entry, now) : null;
}
