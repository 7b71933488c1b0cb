import type { Component } from '../../../model.ts';
import type { Problem } from '../problem.ts';
import type { RedbeatSnapshot } from './redbeat-schedule.ts';
import type { RedbeatTiming } from './redbeat-settings.ts';

/** A scheduler of beat whose entries can be read. */
export type BeatScheduler = 'redbeat' | 'django' | 'static';

/** Facts about beat. */
export interface BeatFacts {
  /** Which of Celery's schedulers is used; `null` when none was found. */
  readonly scheduler: BeatScheduler | null;
  /** Another scheduler that the configuration names, such as that of django-celery-beat. */
  readonly foreign: string | null;
  /** `null` when it has not been read. */
  readonly redbeat: RedbeatSnapshot | null;
  readonly timing: RedbeatTiming;
  /** Whether redbeat takes a lock at all. */
  readonly hasLock: boolean;
  /** Why redbeat's Redis cannot be read, and what to write; `null` when nothing prevents it. */
  readonly unreadableRedbeat: string | null;
  /** Why the tables of django-celery-beat cannot be read; `null` when they can, or have not been read. */
  readonly django: Problem | null;
  /** Why existing or possible entries cannot be read; `null` when they can. */
  readonly problem: Problem | null;
  /** The earliest next run, milliseconds since 1970; `null` when there is none. */
  readonly nextDue: number | null;
  /** Whether runs were seen lately, and on time. */
  readonly isAlive: boolean;
  readonly entries: number | null;
  readonly unreadable: number;
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
export function beatComponent(facts: BeatFacts): Component {
  const { scheduler, problem, entries, unreadable, timezone } = facts;
  const age = scheduler === 'redbeat' ? lockAge(facts) : null;
  return {
    key: 'beat',
    name: 'Beat',
    enabled: scheduler !== null || facts.foreign !== null,
    status: statusOf(facts, age),
    config: {
      scheduler,
      lock_age_seconds: age,
      entries,
      unreadable,
      timezone,
      error: problem?.sentence ?? null,
      hints: hintsOf(facts, age),
    },
  };
}

/** Seconds since redbeat last looked at its schedule. */
function lockAge({ redbeat, timing }: BeatFacts): number | null {
  const held = redbeat?.lockMs ?? null;
  if (held === null || timing.lockTimeout === null) return null;
  const age = timing.lockTimeout - held / 1000;
  // If it holds longer than the time-out, another configuration set it.
  return age < -1 ? null : Math.max(0, Math.round(age * 10) / 10);
}

function statusOf(facts: BeatFacts, age: number | null): Component['status'] {
  const { scheduler, redbeat, timing, problem, now } = facts;
  if (scheduler === null) return problem === null && facts.foreign === null ? 'disabled' : 'unknown';
  if (scheduler === 'static' || scheduler === 'django') return statusByRuns(facts);
  if (redbeat === null || problem !== null || !facts.hasLock) return 'unknown';
  if (redbeat.lockMs === null) return 'down';
  const longest = timing.pause + BUSY;
  if (age !== null) return age > longest ? 'down' : 'up';
  return facts.nextDue !== null && facts.nextDue < now - longest * 1000 ? 'unknown' : 'up';
}

function statusByRuns({ problem, isAlive, nextDue, now }: BeatFacts): Component['status'] {
  if (problem !== null) return 'unknown';
  if (isAlive) return 'up';
  return nextDue !== null && nextDue < now - BUSY * 1000 ? 'down' : 'unknown';
}

const DJANGO_DENIED =
  'The user of the database may not read the tables of django-celery-beat. If the app uses them, grant it SELECT on ' +
  'the six tables django_celery_beat_*.';

const DJANGO_LATE =
  'django-celery-beat stores when its entries ran about every three minutes. To see runs at once, set ' +
  'task_send_sent_event = True where beat runs, or start workers with -E.';

function foreignHint(scheduler: string): string {
  const where = `beat_scheduler is ${scheduler}, whose entries are in a database`;
  return /^django/.test(scheduler)
    ? `${where}: pass it as sql: { dialect, query }.`
    : `${where} that this monitor cannot read.`;
}

function hintsOf(
  { scheduler, foreign, redbeat, django, isAlive, unreadableRedbeat }: BeatFacts,
  age: number | null,
): string[] {
  if (unreadableRedbeat !== null) return [unreadableRedbeat];
  if (django?.code === 'NOPERM' && scheduler !== 'redbeat') return [DJANGO_DENIED];
  if (foreign !== null && (scheduler === null || scheduler === 'static')) return [foreignHint(foreign)];
  if (scheduler === 'redbeat' && age === null && (redbeat?.lockMs ?? null) !== null) {
    return [
      'It is unknown when beat last checked its schedule: write settings: { redbeat_lock_timeout: 1500 }, ' +
        "with the app's value.",
    ];
  }
  if (scheduler === 'django' && !isAlive) return [DJANGO_LATE];
  if (scheduler !== 'static' || isAlive) return [];
  return [
    'Beat stores this schedule in a local file, so the monitor recognizes runs only by their tasks. This needs ' +
      'task_send_sent_event = True where beat runs, or workers with -E.',
  ];
}
