import type { Component } from '../../../model.ts';
import type { Problem } from '../problem.ts';
import type { RedbeatSnapshot } from './redbeat.ts';
import type { RedbeatTiming } from './redbeat-settings.ts';

/** Facts about beat. */
export interface BeatFacts {
  /** Which of Celery's schedulers is used; `null` when none was found. */
  readonly scheduler: 'redbeat' | 'static' | null;
  /** Another scheduler that the configuration names, such as that of django-celery-beat. */
  readonly foreign: string | null;
  /** `null` when it has not been read. */
  readonly redbeat: RedbeatSnapshot | null;
  readonly timing: RedbeatTiming;
  /** Whether redbeat takes a lock at all. */
  readonly hasLock: boolean;
  /** Why redbeat's Redis cannot be read, and what to write; `null` when nothing prevents it. */
  readonly unreadableRedbeat: string | null;
  /** Why redbeat's Redis cannot be read; `null` when it can. */
  readonly problem: Problem | null;
  /** The earliest next run, milliseconds since 1970; `null` when there is none. */
  readonly nextDue: number | null;
  /** Whether runs of the static schedule were seen lately, and on time. */
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
 * redbeat renews at each look at the schedule; otherwise it is `up` if runs were seen on time.
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
  if (scheduler === 'static') return facts.isAlive ? 'up' : 'unknown';
  if (redbeat === null || problem !== null || !facts.hasLock) return 'unknown';
  if (redbeat.lockMs === null) return 'down';
  const longest = timing.pause + BUSY;
  if (age !== null) return age > longest ? 'down' : 'up';
  return facts.nextDue !== null && facts.nextDue < now - longest * 1000 ? 'unknown' : 'up';
}

function hintsOf(
  { scheduler, foreign, redbeat, isAlive, unreadableRedbeat }: BeatFacts,
  age: number | null,
): string[] {
  if (unreadableRedbeat !== null) return [unreadableRedbeat];
  if (foreign !== null && scheduler !== 'redbeat') {
    return [`beat_scheduler is ${foreign}, whose entries are in a database that this monitor cannot read.`];
  }
  if (scheduler === 'redbeat' && age === null && (redbeat?.lockMs ?? null) !== null) {
    return [
      'It is not known when beat last checked its schedule: write settings: { redbeat_lock_timeout: 1500 }, ' +
        "with the app's value.",
    ];
  }
  if (scheduler !== 'static' || isAlive) return [];
  return [
    'Beat stores this schedule in a local file, so the monitor recognizes runs only by their tasks. This needs ' +
      'task_send_sent_event = True where beat runs, or workers with -E.',
  ];
}
