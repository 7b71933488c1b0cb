import { describe, expect, it } from 'vitest';
import {
  type DjangoEntry,
  djangoClock,
  djangoEntry,
} from '../../src/sources/celery/schedules/django/django-entry.ts';
import { nextRun, type RunFacts, unstoredFor } from '../../src/sources/celery/schedules/django/next-run.ts';
import { runAfter } from '../../src/sources/celery/schedules/rule.ts';

const NOW = Date.UTC(2026, 10, 23, 12, 30);
const S = 1_000;
const MIN = 60 * S;

const CLOCK = djangoClock({}, 'UTC');
const text = (time: number): string => new Date(time).toISOString();

function entryOf(row: object): DjangoEntry {
  const whole = { id: 7, name: 'daily', task: 'report', enabled: 1, one_off: 0, total_run_count: 3 };
  return djangoEntry({ ...whole, date_changed: text(NOW - 60 * MIN), ...row }, CLOCK) as DjangoEntry;
}

const interval = (every: number, more: object = {}): DjangoEntry =>
  entryOf({ interval_id: 1, every, period: 'seconds', ...more });
const crontab = (fields: string, more: object = {}): DjangoEntry => {
  const [minute, hour, day_of_month, month_of_year, day_of_week] = fields.split(' ');
  const columns = { minute, hour, day_of_month, month_of_year, day_of_week, timezone: 'UTC' };
  return entryOf({ crontab_id: '2', ...columns, ...more });
};

/** In seconds after now. */
function next(entry: DjangoEntry, facts: Partial<Record<keyof RunFacts, number | null>>): number | null {
  const at = (seconds: number | null | undefined): number | null =>
    seconds === undefined || seconds === null ? null : NOW + seconds * S;
  const { last, storedUntil = last, updatedAt } = facts;
  const times = {
    last: at(last),
    storedUntil: at(storedUntil),
    updatedAt: at(updatedAt),
    unstored: unstoredFor(null),
    now: NOW,
  };
  const found = nextRun(entry, times, (time) => runAfter(entry.rule, time, entry.timezone));
  return found === null ? null : (found - NOW) / S;
}

describe('the next run of an entry of django-celery-beat', () => {
  it('follows its last run', () => {
    expect(next(interval(30), { last: -10 })).toBe(20);
    expect(next(crontab('*/5 * * * *'), { last: -1 })).toBe(0);
    expect(next(crontab('*/5 * * * *'), { last: 0 })).toBe(300);
    expect(next(crontab('0 13 * * *', { timezone: 'Europe/Prague' }), { last: -600 })).toBe(84_600);
  });

  it('is not shown of one that is disabled, has run its only time, or ends before', () => {
    expect(next(interval(30, { enabled: false }), { last: -10 })).toBe(null);
    expect(next(interval(30, { one_off: true, total_run_count: 1 }), { last: -10 })).toBe(null);
    expect(next(interval(30, { one_off: true, total_run_count: 0 }), { last: -10 })).toBe(20);
    expect(next(interval(30, { expires: text(NOW + 20 * S) }), { last: -10 })).toBe(null);
    expect(next(interval(30, { expires: text(NOW + 21 * S) }), { last: -10 })).toBe(20);
  });

  it('is not before its start', () => {
    expect(next(interval(30, { start_time: text(NOW + 90 * S) }), { last: -10 })).toBe(90);
    expect(next(interval(30, { start_time: text(NOW - 90 * S) }), { last: -10 })).toBe(20);
    const clocked = entryOf({
      clocked_id: 1,
      one_off: 1,
      total_run_count: 0,
      clocked_time: text(NOW + 9 * S),
    });
    expect(next(clocked, { last: null })).toBe(9);
  });

  it('is not known where versions of django-celery-beat differ', () => {
    // At its start, or at its next time after that.
    const start_time = text(NOW + 90 * S);
    const later = text(NOW + 72_000 * S);
    expect(next(crontab('0 7 * * *', { start_time: later }), { last: -10 })).toBe(null);
    expect(next(crontab('0 7 * * *', { start_time }), { last: -10 })).toBe(66_600);
    expect(next(crontab('* * * * *', { start_time }), { last: -10 })).toBe(90);
    // Counted from the change of the entry, or from when beat has read it.
    expect(next(interval(7200), { last: null, updatedAt: -3600 })).toBe(3600);
    expect(next(interval(7200), { last: null, updatedAt: -60 })).toBe(null);
    expect(next(crontab('0 7 * * *'), { last: null, updatedAt: -60 })).toBe(66_600);
    expect(next(interval(7200, { start_time }), { last: null, updatedAt: -60 })).toBe(null);
    expect(next(interval(60, { start_time }), { last: null, updatedAt: -60 })).toBe(90);
  });

  describe('that is overdue', () => {
    it('was missed if beat has stored a later run of another entry', () => {
      expect(next(interval(60), { last: -200, storedUntil: -10 })).toBe(-140);
      expect(next(crontab('0 12 * * *'), { last: -86_400, storedUntil: -10 })).toBe(-1800);
    });

    it('is not known while beat may have run it without storing that', () => {
      expect(next(interval(60), { last: -200 })).toBe(null);
      expect(next(interval(60), { last: -140, storedUntil: -100 })).toBe(null);
      const once = { one_off: true, total_run_count: 0 };
      expect(next(interval(60, once), { last: -200, storedUntil: -150 })).toBe(null);
    });

    it('is that of the next time of a crontab', () => {
      expect(next(crontab('28 * * * *'), { last: -3600, storedUntil: -150 })).toBe(3480);
      const once = { one_off: 1, total_run_count: 0 };
      expect(next(crontab('28 * * * *', once), { last: -3600, storedUntil: -150 })).toBe(null);
    });

    it('was missed if beat should have stored it by now', () => {
      expect(next(interval(60), { last: -304 })).toBe(null);
      expect(next(interval(60), { last: -305 })).toBe(-245);
      expect(next(interval(3600), { last: -4000 })).toBe(-400);
      expect(next(crontab('* * * * *'), { last: -600 })).toBe(-540);
      expect(next(crontab('0 12 * * *'), { last: -86_400 })).toBe(-1800);
      const clocked = { clocked_id: 1, one_off: 1, total_run_count: 0 };
      expect(next(entryOf({ ...clocked, clocked_time: text(NOW - 244 * S) }), { last: null })).toBe(null);
      expect(next(entryOf({ ...clocked, clocked_time: text(NOW - 245 * S) }), { last: null })).toBe(-245);
      // It wakes up as often as the app says.
      expect(unstoredFor(300)).toBe(480 * S);
    });

    it('is shown as due for a minute', () => {
      expect(next(interval(60), { last: -110 })).toBe(-50);
    });
  });
});

describe('an entry of django-celery-beat', () => {
  it('shows once, start and end with its schedule', () => {
    const limits = {
      one_off: 't',
      start_time: '2026-11-23T10:00:00.5Z',
      expires: '2026-12-01T00:00:00.000000',
    };
    expect(interval(30, limits).rule.text).toBe(
      'every 30 s, once, from 2026-11-23T10:00:00Z, until 2026-12-01T00:00:00Z',
    );
  });

  it('reads crontabs in the zone of the app with DJANGO_CELERY_BEAT_TZ_AWARE = False', () => {
    const row = { id: 1, name: 'x', crontab_id: 2, minute: '0', hour: '7', timezone: 'Asia/Tokyo' };
    const zoneOf = (settings: Record<string, unknown>) =>
      djangoEntry(row, djangoClock(settings, 'Europe/Prague'))?.timezone;
    expect(zoneOf({})).toBe('Asia/Tokyo');
    expect(zoneOf({ DJANGO_CELERY_BEAT_TZ_AWARE: false, timezone: 'Asia/Kolkata' })).toBe('Asia/Kolkata');
    expect(zoneOf({ DJANGO_CELERY_BEAT_TZ_AWARE: false })).toBe(null);
  });

  it('has its times in UTC then, as beat compares them', () => {
    const row = {
      id: 1,
      name: 'x',
      interval_id: 1,
      last_run_at: '2026-11-23T10:00:00',
      date_changed: '2026-11-23T10:00:00',
    };
    const clock = djangoClock({ DJANGO_CELERY_BEAT_TZ_AWARE: false }, 'Asia/Tokyo');
    expect(djangoEntry(row, clock)).toMatchObject({
      lastRunAt: Date.UTC(2026, 10, 23, 10),
      changedAt: Date.UTC(2026, 10, 23, 1),
    });
  });

  it.each([
    ['', '()'],
    ['[]', '()'],
    [' [1, "a", {"b": null}]', "(1, 'a', {'b': None})"],
    ['[1, ', '[1, '],
    [`["${'x'.repeat(9000)}"]`, `["${'x'.repeat(8190)}…`],
  ])('shows its arguments %s as Python does', (args, shown) => {
    expect(entryOf({ args })?.args).toBe(shown);
  });

  it('is left out when it has no id or name', () => {
    expect(djangoEntry({ id: 1 }, CLOCK)).toBe(null);
    expect(djangoEntry({ name: 'x' }, CLOCK)).toBe(null);
  });
});
