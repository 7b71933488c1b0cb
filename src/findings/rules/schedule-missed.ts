import type { ScheduleBody } from '../../wire.ts';
import { bySince, clear, type Finding, inWords, listed, type Rule } from '../finding.ts';

/** Normal delay of beat and of the reader of its schedule. */
const LATE_MS = 60_000;

/**
 * `schedule_missed`: an entry should have run more than a minute ago and has not. Disabled entries do not count.
 * Unknown if the next run of an entry is unknown.
 */
export const scheduleMissed: Rule = {
  code: 'schedule_missed',
  *judge({ schedules }, now) {
    if (schedules === undefined) return null;
    if (schedules === null) return clear('The schedules could not be read.');
    yield;
    const enabled = schedules.filter((entry) => entry.enabled !== false);
    const undated = enabled.filter(({ next_run_at }) => next_run_at === null).map(({ name }) => name);
    const findings = enabled.flatMap((entry) => findingOf(entry, now) ?? []).sort(bySince);
    return {
      findings,
      unknown: undated.length === 0 ? null : `The next run of ${listed(undated)} is unknown.`,
      unjudged: undated,
    };
  },
};

function findingOf({ id, name, task, next_run_at, last_run_at }: ScheduleBody, now: number): Finding | null {
  const next = next_run_at === null ? Number.NaN : Date.parse(next_run_at);
  if (!(now - next >= LATE_MS)) return null;
  return {
    severity: 'warning',
    since: next,
    subject: name,
    summary: `Schedule ${name} was missed: it was due ${inWords(now - next)} ago`,
    evidence: { schedule_id: id, task, due_at: next_run_at, last_run_at },
    look: '/api/beat/schedules/',
  };
}
