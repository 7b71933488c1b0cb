/**
 * When an entry of django-celery-beat runs next: the decision of its scheduler (`ModelEntry.is_due` in
 * django_celery_beat/schedulers.py), as far as the tables show it.
 *
 * Beat stores runs late, all of them together, when it wakes up three minutes or more after it last did
 * (`Scheduler.should_sync` in celery/beat.py). A run that is due and not stored may still have happened. It is missed
 * for certain only if beat has stored a later run of another entry, or if it should have stored this one by now.
 */
import type { DjangoEntry } from './django-entry.ts';

/** Data that is known besides the entry. Times in milliseconds since 1970. */
export interface RunFacts {
  /** The last run, stored or seen; `null`: none. */
  readonly last: number | null;
  /** The last run of any entry that beat has stored; `null`: none. */
  readonly storedUntil: number | null;
  /** When any entry was last changed, at which beat reads all of them again; `null` if unknown. */
  readonly updatedAt: number | null;
  /** How long beat may wait before it stores a run, in milliseconds. */
  readonly unstored: number;
  readonly now: number;
}

/** The run of an entry's rule after a moment; `null` if the rule has none. */
export type RunAfter = (time: number) => number | null;

/** How late beat may be, and how far clocks may differ, in milliseconds. */
export const LATE = 60_000;
/** `Scheduler.sync_every`, in milliseconds. */
const SYNC_EVERY = 180_000;
/** The longest pause of this scheduler, in seconds, unless it is configured. */
const PAUSE = 5;

/** @param pause `beat_max_loop_interval` in seconds; `null` if it is not set */
export function unstoredFor(pause: number | null): number {
  return SYNC_EVERY + (pause ?? PAUSE) * 1000;
}

/**
 * The next run, milliseconds since 1970. It is in the past if the run was missed for certain. `null`: there will be
 * none, or it is not known.
 */
export function nextRun(entry: DjangoEntry, facts: RunFacts, after: RunAfter): number | null {
  const { enabled, isOneOff, totalRunCount, expiresAt } = entry;
  if (!enabled || (isOneOff && totalRunCount > 0)) return null;
  const due = dueAt(entry, facts, after);
  const next = due === null || due > facts.now - LATE ? due : missedOrNext(entry, due, facts, after);
  return next !== null && expiresAt !== null && next >= expiresAt ? null : next;
}

/** The decision of the scheduler; `null` also if its versions differ. */
function dueAt(entry: DjangoEntry, facts: RunFacts, after: RunAfter): number | null {
  const { clockedAt, startAt } = entry;
  if (clockedAt !== null) return Math.max(clockedAt, startAt ?? clockedAt);
  if (facts.last === null) return firstRun(entry, facts, after);
  const due = after(facts.last);
  return due === null || startAt === null || due >= startAt ? due : runFrom(entry, startAt, after);
}

/**
 * For an entry that is overdue when it starts: an interval runs at the start, and so does a crontab up to version 2.7.
 * Since 2.8, beat looks at a crontab again at its next time after the start, or earlier if it reads its entries anew.
 */
function runFrom({ rule }: DjangoEntry, startAt: number, after: RunAfter): number | null {
  return rule.crontab === null ? startAt : agreed(startAt, after(startAt));
}

/**
 * An entry without a run begins when beat has read it (up to version 2.7), or when it was changed (since). With a start,
 * since version 2.5 it is overdue from the beginning.
 */
function firstRun(entry: DjangoEntry, facts: RunFacts, after: RunAfter): number | null {
  const { changedAt, startAt, rule } = entry;
  if (changedAt === null) return null;
  const readAt = Math.max(changedAt, facts.updatedAt ?? changedAt);
  const due = after(readAt);
  if (due === null) return null;
  if (startAt === null) return rule.crontab === null ? agreed(due, after(changedAt)) : due;
  if (changedAt >= startAt) return agreed(due, changedAt);
  return agreed(Math.max(due, startAt), runFrom(entry, startAt, after));
}

function agreed(one: number, other: number | null): number | null {
  return other !== null && Math.abs(one - other) <= LATE ? one : null;
}

/** @param due a time in the past */
function missedOrNext(
  { isOneOff, clockedAt, rule }: DjangoEntry,
  due: number,
  { storedUntil, unstored, now }: RunFacts,
  after: RunAfter,
): number | null {
  if (due <= (storedUntil ?? due) - LATE || due <= now - unstored - LATE) return due;
  return !isOneOff && clockedAt === null && rule.crontab !== null ? after(now) : null;
}
