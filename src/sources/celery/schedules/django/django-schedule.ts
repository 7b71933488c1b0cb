/** The entries of django-celery-beat as `/api/beat/schedules/` shows them, and whether its beat runs. */
import type { Schedule } from '../../../../model.ts';
import type { Steps } from '../../../../scheduler.ts';
import type { Configuration } from '../redbeat-settings.ts';
import { scheduleRuns } from '../rows.ts';
import { runAfter } from '../rule.ts';
import type { RunObserver } from '../run-observer.ts';
import type { DjangoEntry } from './django-entry.ts';
import type { DjangoSnapshot } from './django-reader.ts';
import { LATE, nextRun, type RunAfter } from './next-run.ts';

/** How long a run shows that beat works, in milliseconds. */
const LATELY = 3_600_000;
/** Most runs remembered of one entry. */
const MOST_SPANS = 4;

/** Whether a configuration uses the scheduler of django-celery-beat. */
export function namesDjangoBeat({ beat_scheduler: scheduler }: Configuration): boolean {
  return typeof scheduler === 'string' && /^django$|^django_celery_beat\b/.test(scheduler);
}

/** No run is between `from` and `to`, which is one. */
interface Span {
  readonly from: number;
  readonly to: number | null;
}

const spans = new WeakMap<DjangoEntry, Span[]>();

/** The runs of an entry's rule. Finding the next run of a crontab takes some time, so it is remembered. */
function runsOf(entry: DjangoEntry): RunAfter {
  if (entry.rule.crontab === null) return (time) => runAfter(entry.rule, time, null);
  return (time) => {
    const known = spans.get(entry) ?? [];
    const span = known.find(({ from, to }) => time >= from && (to === null || time < to));
    if (span !== undefined) return span.to;
    const to = runAfter(entry.rule, time, entry.timezone);
    spans.set(entry, [{ from: time, to }, ...known].slice(0, MOST_SPANS));
    return to;
  };
}

function lastRun({ id, lastRunAt }: DjangoEntry, observer: RunObserver): number | null {
  const seen = observer.lastRun(id);
  return seen === null || lastRunAt === null ? (seen ?? lastRunAt) : Math.max(seen, lastRunAt);
}

/** Data that is known besides the tables. */
export interface DjangoContext {
  readonly observer: RunObserver;
  /** The zone of the app. */
  readonly timezone: string | null;
  /** How long beat may wait before it stores a run, in milliseconds. */
  readonly unstored: number;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The rows of all entries. */
export function* djangoSchedules(
  { entries, storedUntil, updatedAt }: DjangoSnapshot,
  { observer, timezone, unstored, now }: DjangoContext,
): Steps<Schedule[]> {
  const rows: Schedule[] = [];
  for (const entry of entries) {
    yield;
    const last = lastRun(entry, observer);
    const next = nextRun(entry, { last, storedUntil, updatedAt, unstored, now }, runsOf(entry));
    const { id, name, task, rule, enabled, args, kwargs, queue, lastRunAt, totalRunCount } = entry;
    rows.push({
      id,
      app: null,
      name,
      task,
      schedule: rule.text,
      enabled,
      args,
      kwargs,
      queue,
      timezone: rule.crontab === null ? timezone : entry.timezone,
      lastRunAt: last === null ? null : new Date(last),
      nextRunAt: next === null ? null : new Date(next),
      // Runs that were seen and not stored are not counted yet.
      totalRunCount: last !== null && lastRunAt === null ? null : totalRunCount,
      lastRuns: scheduleRuns(observer.lastRuns(id)),
    });
  }
  return rows;
}

/** Whether an entry ran within the last hour and has not missed more than one run since, as far as beat stores them. */
export function* hasRunLately(
  { enabled }: DjangoSnapshot,
  { unstored, now }: Pick<DjangoContext, 'unstored' | 'now'>,
): Steps<boolean> {
  for (const entry of enabled.values()) {
    yield;
    const { lastRunAt } = entry;
    if (lastRunAt === null || now - lastRunAt > LATELY) continue;
    const after = runsOf(entry);
    const next = after(lastRunAt);
    const second = next === null ? null : after(next);
    if (second !== null && now <= second + unstored + LATE) return true;
  }
  return false;
}
