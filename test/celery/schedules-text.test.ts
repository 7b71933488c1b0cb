import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { runAfter, type ScheduleRule } from '../../src/sources/celery/schedules/rule.ts';
import { readSchedule } from '../../src/sources/celery/schedules/schedule-text.ts';
import { celeryMissing } from '../helpers/celery-app.ts';
import { PYTHON } from '../helpers/engines.ts';
import { titleUnless } from '../helpers/redis-server.ts';

/** Prints what `conf` answers for each schedule: Celery's own way of making JSON of anything. */
const SHOW = `
import json, sys
from datetime import timedelta
from kombu.utils.json import dumps
from celery.schedules import crontab, schedule
from celery.utils.saferepr import saferepr
from celery.utils.serialization import jsonify

class Solar:
    def __repr__(self):
        return '<solar: {} at latitude {}, longitude: {}>'.format('sunset', 51.5, -0.12)

shown = jsonify(eval(sys.argv[1]), unknown_type_filter=saferepr)
print(json.dumps(shown))
`;

function shownByCelery(...schedules: string[]): unknown[] {
  const run = spawnSync(PYTHON, ['-c', SHOW, `[${schedules.join(', ')}]`], { encoding: 'utf8' });
  if (run.status !== 0) throw new Error(run.stderr.slice(-2000));
  return JSON.parse(run.stdout) as unknown[];
}

function next(rule: ScheduleRule, last: string, zone: string | null = 'UTC'): string | null {
  const time = runAfter(rule, Date.parse(last), zone);
  return time === null ? null : new Date(time).toISOString();
}

describe.skipIf(celeryMissing !== null)(titleUnless(celeryMissing, 'what workers say of schedules'), () => {
  it('is read whatever a schedule is made of', () => {
    const shown = shownByCelery(
      'crontab(minute=30, hour=2, day_of_week="mon-fri")',
      'crontab(minute=[0, 30], hour=(7,), day_of_month={1}, day_of_week="sat,sun")',
      'crontab(minute="0, 30", month_of_year="*/3")',
      '2.0',
      '90',
      'timedelta(seconds=5)',
      'timedelta(days=1)',
      'timedelta(days=2, hours=1, milliseconds=500)',
      'schedule(30.0)',
      'schedule(90)',
      'schedule(timedelta(hours=6))',
      'Solar()',
    );
    expect(shown.map((value) => readSchedule(value).text)).toEqual([
      '30 2 * * mon-fri (m/h/dM/MY/d)',
      '0,30 7 1 * sat,sun (m/h/dM/MY/d)',
      '0,30 * * */3 * (m/h/dM/MY/d)',
      'every 2 s',
      'every 90 s',
      'every 5 s',
      'every 1 d',
      'every 176400.5 s',
      'every 30 s',
      'every 90 s',
      'every 6 h',
      'sunset at latitude 51.5, longitude -0.12',
    ]);
    const rules = shown.map((value) => readSchedule(value));
    expect(rules.slice(0, 3).every(({ crontab }) => crontab !== null)).toBe(true);
    expect(rules.slice(3).map(({ every }) => every)).toEqual([
      ...[2, 90, 5, 86_400, 176_400.5, 30, 90],
      // Two decimals of an hour are half a minute.
      ...[null, null],
    ]);
  });
});

describe('a schedule', () => {
  it('is read from the text of either version, by the order that the text names', () => {
    const old = readSchedule('<crontab: 30 2 mon-fri * * (m/h/d/dM/MY)>');
    const later = readSchedule('<crontab: 30 2 * * mon-fri (m/h/dM/MY/d)>');
    expect(old.text).toBe('30 2 * * mon-fri (m/h/dM/MY/d)');
    expect(later.text).toBe(old.text);
    expect(readSchedule(old.text).text).toBe(old.text);
    for (const rule of [old, later]) {
      expect(next(rule, '2026-11-21T00:00:00Z', 'Europe/Prague')).toBe('2026-11-23T01:30:00.000Z');
    }
  });

  it('is written by a host as five fields, as fields by name, or as seconds', () => {
    const monday = '0 7 * * 1 (m/h/dM/MY/d)';
    expect(readSchedule('0 7 * * 1').text).toBe(monday);
    expect(readSchedule({ minute: 0, hour: '7', day_of_week: 1 }).text).toBe('0 7 * * 1 (m/h/dM/MY/d)');
    expect(next(readSchedule('0 7 * * 1'), '2026-11-21T00:00:00Z')).toBe('2026-11-23T07:00:00.000Z');
    expect(readSchedule({ minute: 0, timezone: 'Asia/Tokyo' }).timezone).toBe('Asia/Tokyo');
    expect(readSchedule(30)).toMatchObject({ text: 'every 30 s', every: 30 });
    expect(readSchedule({ every: 600, relative: true })).toMatchObject({
      text: 'every 10 min (relative)',
      relative: true,
    });
    expect(readSchedule({ every: 5, period: 'minutes' })).toMatchObject({ text: 'every 5 min', every: 300 });
    expect(readSchedule({ event: 'sunset', lat: 51.5, lon: -0.12 }).text).toBe(
      'sunset at latitude 51.5, longitude -0.12',
    );
  });

  it('that is a recurrence rule is shown with all its parts', () => {
    const rule = { __type__: 'rrule', freq: 6, interval: 5, count: null, byhour: [1, 2, 3] };
    expect(readSchedule(rule).text).toBe('every 5 s, byhour 1,2,3 (rrule)');
    const weekly = { freq: 2, interval: 2, byweekday: [{ __type__: 'weekday', wkday: 0 }, 4], until: 1e9 };
    expect(readSchedule(weekly).text).toBe(
      'every 2 weeks, byweekday mon,fri, until 2001-09-09T01:46:40Z (rrule)',
    );
    expect(readSchedule({ freq: 3, interval: 1, count: 3 }).text).toBe('every 1 d, count 3 (rrule)');
    expect(readSchedule(weekly)).toMatchObject({ crontab: null, every: null });
  });

  it('that is not understood is shown as it is, without a next run', () => {
    const strange = [
      ...['<Every full moon>', 'whenever the moon is full', '99 * * * *', 'x'.repeat(100_000), ''],
      ...[null, undefined, true, [], {}, { every: '5' }, { every: 1, period: 'moons' }, Number.NaN, Infinity],
      ...[{ freq: 9 }, { event: 5 }, { event: 'sunset', lat: { toString: 5 }, lon: 1 }, { minute: { a: 1 } }],
      { minute: JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`) },
    ];
    const rules = strange.map((value) => readSchedule(value));
    expect(rules.map((rule) => next(rule, '2026-11-21T00:00:00Z'))).toEqual(strange.map(() => null));
    expect(rules.slice(0, 3).map(({ text }) => text)).toEqual(strange.slice(0, 3));
    expect(rules[3]?.text).toHaveLength(301);
    expect(readSchedule('<crontab: 99 7 * * * (m/h/d/dM/MY)>').text).toBe('99 7 * * * (m/h/dM/MY/d)');
  });

  it('has runs that are rounded down when it is relative', () => {
    const rule = readSchedule(600, true);
    expect(next(rule, '2026-11-21T02:50:29.507Z')).toBe('2026-11-21T03:00:00.000Z');
    expect(next(readSchedule('1 day, 0:00:00', true), '2026-11-21T02:50:29Z', 'Europe/Prague')).toBe(
      '2026-11-21T23:00:00.000Z',
    );
    expect(next(readSchedule(600), '2026-11-21T02:50:29.507Z')).toBe('2026-11-21T03:00:29.507Z');
    expect(next(rule, '2026-11-21T02:50:29.507Z', null)).toBe(null);
  });
});
