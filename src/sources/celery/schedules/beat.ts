/** How stored schedules are read, which scheduler beat uses, and whether beat runs. */
import type { Component } from '../../../model.ts';
import { shareCalls } from '../../../single-flight.ts';
import { type Problem, problemOf } from '../hint.ts';
import type { DjangoSnapshot } from './django/django-reader.ts';
import {
  foreignScheduler,
  namesDjangoBeat,
  namesRedbeat,
  type RedbeatKeys,
  type RedbeatPlace,
  type RedbeatSnapshot,
  redbeatTiming,
} from './redbeat-schedule.ts';
import type { StaticSchedule } from './static-schedule.ts';

/** The schedules that are read. */
export interface Readings {
  readonly fixed: StaticSchedule;
  readonly redbeat: Reading<RedbeatSnapshot>;
  readonly redbeatKeys: RedbeatKeys;
  /** Why redbeat's Redis cannot be read, and what to write; `null` when nothing prevents it. */
  readonly unreadableRedbeat: RedbeatPlace['unreadable'];
  readonly django: Reading<DjangoSnapshot>;
}

/** What the runs of all entries say of beat. */
interface BeatRuns {
  /** The earliest next run, milliseconds since 1970; `null` when there is none. */
  readonly nextDue: number | null;
  /** Whether runs were seen lately, and on time. */
  readonly isAlive: boolean;
  /** The zone of the app; `null`: unknown. */
  readonly timezone: string | null;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Seconds beyond beat's longest pause in which it may be busy. */
const BUSY = 60;

/**
 * The component `beat`. Its status is only given where it is known. For redbeat it follows from the lock, which
 * redbeat renews at each look at the schedule; otherwise it is `up` if runs were seen on time, and `down` if one was
 * certainly missed.
 */
export function beatComponent(readings: Readings, runs: BeatRuns): Component {
  const { fixed, redbeat, django } = readings;
  const scheduler = schedulerOf(readings);
  const age = scheduler === 'redbeat' ? lockAge(readings) : null;
  const stored = scheduler === 'redbeat' ? redbeat.snapshot : django.snapshot;
  const isStored = scheduler === 'redbeat' || scheduler === 'django';
  return {
    key: 'beat',
    name: 'Beat',
    enabled: scheduler !== null || foreignOf(readings) !== null,
    status: statusOf(readings, runs, age),
    config: {
      scheduler,
      lock_age_seconds: age,
      entries: isStored ? (stored?.total ?? null) : fixed.entries().length,
      unreadable: isStored ? (stored?.unreadable ?? 0) : fixed.unreadable(),
      timezone: runs.timezone,
      error: cutOff(readings)?.sentence ?? null,
      hints: hintsOf(readings, runs, age),
    },
  };
}

/** Seconds since redbeat last looked at its schedule. */
function lockAge({ redbeat, fixed }: Readings): number | null {
  const held = redbeat.snapshot?.lockMs ?? null;
  const { lockTimeout } = redbeatTiming(fixed.configurations());
  if (held === null || lockTimeout === null) return null;
  const age = lockTimeout - held / 1000;
  // If it holds longer than the time-out, another configuration set it.
  return age < -1 ? null : Math.max(0, Math.round(age * 10) / 10);
}

function statusOf(readings: Readings, runs: BeatRuns, age: number | null): Component['status'] {
  const scheduler = schedulerOf(readings);
  if (scheduler === null && !isEnabled(readings)) return 'disabled';
  if (scheduler === null || cutOff(readings) !== null) return 'unknown';
  if (scheduler === 'redbeat') return statusByLock(readings, runs, age);
  if (runs.isAlive) return 'up';
  return isOverdue(runs, BUSY) ? 'down' : 'unknown';
}

function statusByLock(
  { redbeat, redbeatKeys, fixed }: Readings,
  runs: BeatRuns,
  age: number | null,
): Component['status'] {
  const { snapshot } = redbeat;
  if (snapshot === null || redbeatKeys.locks.length === 0) return 'unknown';
  if (snapshot.lockMs === null) return 'down';
  const longest = redbeatTiming(fixed.configurations()).pause + BUSY;
  if (age !== null) return age > longest ? 'down' : 'up';
  return isOverdue(runs, longest) ? 'unknown' : 'up';
}

function isOverdue({ nextDue, now }: BeatRuns, seconds: number): boolean {
  return nextDue !== null && nextDue < now - seconds * 1000;
}

const DJANGO_DENIED =
  'The user of the database may not read the tables of django-celery-beat. If the app uses them, grant it SELECT on ' +
  'the six tables django_celery_beat_*.';

const DJANGO_LATE =
  'django-celery-beat stores when its entries ran about every three minutes. To see runs at once, set ' +
  'task_send_sent_event = True where beat runs, or start workers with -E.';

const LOCK_UNKNOWN =
  'It is unknown when beat last checked its schedule: write settings: { redbeat_lock_timeout: 1500 }, ' +
  "with the app's value.";

const STATIC_UNSEEN =
  'Beat stores this schedule in a local file, so the monitor recognizes runs only by their tasks. This needs ' +
  'task_send_sent_event = True where beat runs, or workers with -E.';

function foreignHint(scheduler: string): string {
  const where = `beat_scheduler is ${scheduler}, whose entries are in a database`;
  return /^django/.test(scheduler)
    ? `${where}: pass it as sql: { dialect, query }.`
    : `${where} that this monitor cannot read.`;
}

function hintsOf(readings: Readings, { isAlive }: BeatRuns, age: number | null): string[] {
  const { redbeat, django, unreadableRedbeat } = readings;
  const scheduler = schedulerOf(readings);
  const foreign = foreignOf(readings);
  if (unreadableRedbeat !== null) return [unreadableRedbeat];
  if (django.problem?.code === 'NOPERM' && scheduler !== 'redbeat') return [DJANGO_DENIED];
  if (foreign !== null && (scheduler === null || scheduler === 'static')) return [foreignHint(foreign)];
  if (scheduler === 'redbeat') return age === null && redbeat.snapshot?.lockMs != null ? [LOCK_UNKNOWN] : [];
  if (scheduler === null || isAlive) return [];
  return [scheduler === 'django' ? DJANGO_LATE : STATIC_UNSEEN];
}

/** Why existing or possible entries cannot be read; `null` when they can. */
export function cutOff({ redbeat, django, fixed }: Readings): Problem | null {
  const configurations = fixed.configurations();
  return (
    problemOfStore(redbeat, configurations.some(namesRedbeat), isInUse(redbeat.snapshot)) ??
    problemOfStore(django, configurations.some(namesDjangoBeat), django.snapshot?.total !== 0)
  );
}

/** A user without permission for the keys or tables of a scheduler is only a problem if a setting names it. */
function problemOfStore(
  { snapshot, problem }: Reading<unknown>,
  isNamed: boolean,
  isUsed: boolean,
): Problem | null {
  if (snapshot !== null && !isUsed && !isNamed) return null;
  return problem?.code === 'NOPERM' && !isNamed ? null : problem;
}

/** A scheduler named by a setting comes first; a table or key may be left over. */
export function schedulerOf({ redbeat, django, fixed }: Readings): 'redbeat' | 'django' | 'static' | null {
  const configurations = fixed.configurations();
  if (django.isPossible && configurations.some(namesDjangoBeat)) return 'django';
  if (configurations.some(namesRedbeat) || isInUse(redbeat.snapshot)) return 'redbeat';
  if ((django.snapshot?.total ?? 0) > 0) return 'django';
  return fixed.entries().length > 0 ? 'static' : null;
}

function isInUse(snapshot: RedbeatSnapshot | null): boolean {
  return snapshot !== null && (snapshot.total > 0 || snapshot.lockMs !== null);
}

/** Another scheduler that the configuration names. */
function foreignOf({ fixed, django }: Readings): string | null {
  for (const configuration of fixed.configurations()) {
    const named = foreignScheduler(configuration);
    if (named !== null && !(django.isPossible && namesDjangoBeat(configuration))) return named;
  }
  return null;
}

/** Whether any schedule was found, or may be there. */
export function isEnabled(readings: Readings): boolean {
  return schedulerOf(readings) !== null || foreignOf(readings) !== null || cutOff(readings) !== null;
}

/** The state of reading a stored schedule repeatedly. */
interface Reading<Snapshot> {
  /** Whether there is anything to read from. */
  readonly isPossible: boolean;
  /** The last snapshot; `null` before the first. */
  snapshot: Snapshot | null;
  /** When the snapshot was read, milliseconds since 1970. */
  readAt: number | null;
  /** Why it cannot be read; `null` when it can, or has not been. */
  problem: Problem | null;
  /** Reads, unless the snapshot is fresh; once for concurrent callers. Never rejects. */
  readonly refresh: () => Promise<void>;
}

/** How long a reading is used at least, in milliseconds; and reading takes at most a tenth of the time. */
const FRESH = 1000;
const SHARE = 10;
/** A reading is used no longer than this, in milliseconds: one that took long may have waited for a busy process. */
const LONGEST = 20_000;

/** @param reader `null` if there is nothing to read from */
export function createReading<Snapshot>(reader: { read(): Promise<Snapshot> } | null): Reading<Snapshot> {
  const reading: Reading<Snapshot> = {
    isPossible: reader !== null,
    snapshot: null,
    readAt: null,
    problem: null,
    async refresh() {
      if (performance.now() >= freshUntil) await shared();
    },
  };
  let freshUntil = Number.NEGATIVE_INFINITY;
  const shared = shareCalls(async () => {
    if (reader === null) return;
    const start = performance.now();
    try {
      reading.snapshot = await reader.read();
      reading.readAt = Date.now();
      reading.problem = null;
    } catch (error) {
      reading.problem = problemOf(error);
    }
    const end = performance.now();
    freshUntil = end + Math.min(LONGEST, Math.max(FRESH, (end - start) * SHARE));
  });
  return reading;
}
