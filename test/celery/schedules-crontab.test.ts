import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CrontabFields, crontabText, readCrontab } from '../../src/sources/celery/schedules/crontab.ts';
import { expandField } from '../../src/sources/celery/schedules/crontab-field.ts';
import { isTimeZone, localTime, momentOf } from '../../src/sources/celery/zones.ts';
import { celeryMissing } from '../helpers/celery-app.ts';
import { PYTHON } from '../helpers/engines.ts';
import { titleUnless } from '../helpers/redis-server.ts';

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** Asks Celery for the next run of each crontab, as local time and in seconds from now. */
const ASK = `
import json, sys
from datetime import datetime, timezone
import celery
from celery import Celery
from celery.schedules import crontab

answers = []
for case in json.load(sys.stdin):
    app = Celery('asked', set_as_current=False)
    app.conf.timezone = case['zone']
    now = datetime.fromtimestamp(case['now'], timezone.utc).astimezone(app.timezone)
    try:
        schedule = crontab(nowfun=lambda: now, app=app, **case['fields'])
        start, delta, _ = schedule.remaining_delta(now)
        local = (start + delta).replace(tzinfo=timezone.utc).timestamp()
        answers.append(dict(local=local, seconds=schedule.remaining_estimate(now).total_seconds()))
    except Exception as error:
        answers.append(dict(error=type(error).__name__))
print(json.dumps(dict(version=celery.__version__, answers=answers)))
`;

interface Case {
  readonly fields: CrontabFields;
  readonly zone: string;
  /** Seconds since 1970. */
  readonly now: number;
}

interface Answers {
  readonly version: string;
  readonly answers: readonly { local?: number; seconds?: number; error?: string }[];
}

function askCelery(cases: readonly Case[]): Answers {
  const run = spawnSync(PYTHON, ['-c', ASK], { input: JSON.stringify(cases), encoding: 'utf8' });
  if (run.status !== 0) throw new Error(run.stderr.slice(-2000));
  return JSON.parse(run.stdout) as Answers;
}

function fieldOf(min: number, max: number, names: readonly string[] = []): fc.Arbitrary<unknown> {
  const value = fc.integer({ min, max });
  const word =
    names.length === 0 ? value.map(String) : fc.oneof(value.map(String), fc.constantFrom(...names));
  const range = fc.tuple(word, word).map(([from, to]) => `${from}-${to}`);
  const step = fc.integer({ min: 1, max: max + 1 });
  const part = fc.oneof(
    word,
    range,
    fc.tuple(range, step).map(([some, by]) => `${some}/${by}`),
    step.map((by) => `*/${by}`),
  );
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant('*') },
    { weight: 5, arbitrary: fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(',')) },
    { weight: 1, arbitrary: value },
    { weight: 1, arbitrary: fc.array(value, { minLength: 1, maxLength: 4 }) },
  );
}

const ZONES = [
  'UTC',
  'Europe/Prague',
  'Asia/Kolkata',
  'Pacific/Auckland',
  'America/New_York',
  'America/Lima',
];

/** When clocks change in Prague, in Auckland and in New York. */
const CHANGES = [
  ...['2026-03-29T01:00Z', '2026-10-25T01:00Z', '2026-04-04T14:00Z', '2026-09-26T14:00Z'],
  ...['2026-03-08T07:00Z', '2026-11-01T06:00Z'],
];

const cases: readonly Case[] = fc.sample(
  fc
    .record({
      fields: fc.record({
        minute: fieldOf(0, 59),
        hour: fieldOf(0, 23),
        day_of_month: fieldOf(1, 31),
        month_of_year: fieldOf(1, 12),
        day_of_week: fieldOf(0, 6, DAYS),
      }),
      zone: fc.constantFrom(...ZONES),
      now: fc.oneof(
        fc.integer({ min: Date.UTC(2023, 0) / 1000, max: Date.UTC(2032, 0) / 1000 }),
        fc
          .tuple(fc.constantFrom(...CHANGES), fc.integer({ min: -100_000, max: 20_000 }))
          .map(([change, off]) => Date.parse(change) / 1000 + off),
      ),
    })
    // West of Greenwich, Celery 5.2 leaves out the rest of a month in the evening, which 5.3 has mended.
    .map(({ fields, zone, now }) =>
      zone.startsWith('America')
        ? { fields: { ...fields, day_of_month: '*', month_of_year: '*' }, zone, now }
        : { fields, zone, now },
    ),
  { numRuns: 1200, seed: 20_260_101 },
);

describe.skipIf(celeryMissing !== null)(titleUnless(celeryMissing, 'the next run of a crontab'), () => {
  it('is the one that Celery waits for, in zones with and without daylight saving time', () => {
    const { version, answers } = askCelery(cases);
    const exact = !version.startsWith('5.2');
    let compared = 0;
    cases.forEach(({ fields, zone, now }, index) => {
      const answer = answers[index];
      const crontab = readCrontab(fields);
      const next = crontab?.nextRun(new Date(now * 1000), zone)?.getTime() ?? null;
      const label = JSON.stringify({ fields, zone, now: new Date(now * 1000), answer });
      if (answer?.local === undefined || answer.seconds === undefined) {
        expect(next, label).toBe(null);
        return;
      }
      const local = answer.local * 1000;
      expect(next, label).toBe(momentOf(local, zone, now * 1000));
      // Celery 5.2 counts in the offset of now, until it looks again after the change.
      const changes = localTime(next ?? 0, zone) - (next ?? 0) !== localTime(now * 1000, zone) - now * 1000;
      // And later versions place what they see twice in the past.
      if (exact ? answer.seconds > 0 : !changes) expect(next, label).toBe((now + answer.seconds) * 1000);
      compared += 1;
    });
    expect(compared).toBeGreaterThan(1000);
  });

  it('takes a field exactly when Celery takes it', () => {
    const fields = [
      ...['*', '*/15', '5', ' 5', '5 ', '+5', '1-5', '5-1', '1-5/2', '50-10/7', '1-5-7', '1-5/2/3', '*/2-3'],
      ...['', ',', '1,', '-5', '1--5', '*/0', '*/', '1-5/', '5/2', '*5', '60', '99', '1-60', 'mon', 'monday'],
      ...['MON', 'mon-fri', 'fri-mon', 'xyz', '1 - 5', '*/100', '1.5', '0x1', 5, 60, -1, [1, 2], [], [99]],
    ];
    const { answers } = askCelery(
      fields.map((minute) => ({ fields: { minute }, zone: 'UTC', now: 1_795_229_441 })),
    );
    fields.forEach((minute, index) => {
      const next = readCrontab({ minute })?.nextRun(new Date(1_795_229_441_000), 'UTC')?.getTime();
      const answer = answers[index]?.local;
      expect(next, JSON.stringify(minute)).toBe(answer === undefined ? undefined : answer * 1000);
    });
  });
});

function next(fields: CrontabFields, after: string, zone: string): string | undefined {
  return readCrontab(fields)?.nextRun(new Date(after), zone)?.toISOString();
}

describe('a crontab', () => {
  it('wants the day of the month and the day of the week', () => {
    const friday13 = { minute: '0', hour: '7', day_of_month: '13', day_of_week: 'fri' };
    expect(next(friday13, '2026-11-21T00:00:00Z', 'UTC')).toBe('2027-08-13T07:00:00.000Z');
  });

  it('is read in its zone, on both sides of a change of clocks', () => {
    const seven = { minute: '0', hour: '7' };
    expect(next(seven, '2026-03-28T12:00:00Z', 'Europe/Prague')).toBe('2026-03-29T05:00:00.000Z');
    expect(next(seven, '2026-03-27T12:00:00Z', 'Europe/Prague')).toBe('2026-03-28T06:00:00.000Z');
    expect(next(seven, '2026-10-24T12:00:00Z', 'Europe/Prague')).toBe('2026-10-25T06:00:00.000Z');
  });

  it('runs later by the hour that is skipped in spring', () => {
    expect(next({ minute: '30', hour: '2' }, '2026-03-28T12:00:00Z', 'Europe/Prague')).toBe(
      '2026-03-29T01:30:00.000Z',
    );
  });

  it('runs once in the hour that comes twice in autumn', () => {
    const daily = { minute: '30', hour: '2' };
    expect(next(daily, '2026-10-24T12:00:00Z', 'Europe/Prague')).toBe('2026-10-25T00:30:00.000Z');
    expect(next(daily, '2026-10-25T00:30:00Z', 'Europe/Prague')).toBe('2026-10-26T01:30:00.000Z');
    const quarters = { minute: '*/15' };
    expect(next(quarters, '2026-10-25T00:45:00Z', 'Europe/Prague')).toBe('2026-10-25T02:00:00.000Z');
    expect(next(quarters, '2026-10-25T01:10:00Z', 'Europe/Prague')).toBe('2026-10-25T01:15:00.000Z');
  });

  it('has no next run on a date that never comes', () => {
    const crontab = readCrontab({ minute: '0', hour: '0', day_of_month: '31', month_of_year: '2,4,6,9,11' });
    expect(crontab?.nextRun(new Date('2026-11-21T00:00:00Z'), 'UTC')).toBe(null);
    const leap = { minute: '0', hour: '0', day_of_month: '29', month_of_year: '2', day_of_week: '1' };
    expect(next(leap, '2026-11-21T00:00:00Z', 'UTC')).toBe('2044-02-29T00:00:00.000Z');
  });

  it('takes names of months as Celery 5.3 and later do', () => {
    expect(expandField('jan,oct-feb/2', 1, 12)).toEqual([1, 2, 10, 12]);
  });

  it('is shown in one order, without spaces in its fields', () => {
    expect(crontabText({ minute: [0, 30], hour: '1, 2', day_of_week: 1 })).toBe(
      '0,30 1,2 * * 1 (m/h/dM/MY/d)',
    );
  });
});

describe('a zone', () => {
  it('is known or not', () => {
    expect(['UTC', 'Europe/Prague', 'Mars/Base', '', 5, null].map(isTimeZone)).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
  });
});
