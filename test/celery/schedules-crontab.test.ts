import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type CelerySettings, celerySources } from '../../src/celery.ts';
import { celeryMissing } from '../helpers/celery-app.ts';
import { PYTHON } from '../helpers/engines.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { openArrayDeployment } from './array-deployment.ts';

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

/** As a host writes them. */
type CrontabFields = Readonly<Record<string, unknown>>;

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

const FIELDS = fc.record({
  minute: fieldOf(0, 59),
  hour: fieldOf(0, 23),
  day_of_month: fieldOf(1, 31),
  month_of_year: fieldOf(1, 12),
  day_of_week: fieldOf(0, 6, DAYS),
});
const MOMENT = fc.oneof(
  fc.integer({ min: Date.UTC(2023, 0) / 1000, max: Date.UTC(2032, 0) / 1000 }),
  fc
    .tuple(fc.constantFrom(...CHANGES), fc.integer({ min: -100_000, max: 20_000 }))
    .map(([change, off]) => Date.parse(change) / 1000 + off),
);

/** Some crontabs at each of some moments in some zone. */
const cases: readonly Case[] = fc
  .sample(fc.tuple(fc.constantFrom(...ZONES), MOMENT, fc.array(FIELDS, { minLength: 15, maxLength: 15 })), {
    numRuns: 80,
    seed: 20_260_101,
  })
  .flatMap(([zone, now, all]) =>
    all.map((fields) => {
      // West of Greenwich, Celery 5.2 leaves out the rest of a month in the evening, which 5.3 has mended.
      const days = zone.startsWith('America') ? { day_of_month: '*', month_of_year: '*' } : {};
      return { fields: { ...fields, ...days }, zone, now };
    }),
  );

/** What the source shows as the next run of each of these, in milliseconds since 1970. */
async function nextRuns(all: readonly Case[]): Promise<(number | null)[]> {
  const next: (number | null)[] = [];
  onTestFinished(() => void vi.useRealTimers());
  for (let from = 0; from < all.length; ) {
    const { zone, now } = all[from] as Case;
    const count = all.slice(from).findIndex((one) => one.zone !== zone || one.now !== now);
    const part = all.slice(from, count === -1 ? undefined : from + count);
    vi.useFakeTimers({ now: now * 1000, toFake: ['Date'] });
    const entries = part.map(
      ({ fields }, at) => [`entry ${at}`, { task: 'report', schedule: fields }] as const,
    );
    const settings = { timezone: zone, beat_schedule: Object.fromEntries(entries) };
    const { schedules, sources } = openArrayDeployment({ control: false, settings });
    const shown = new Map(
      (await schedules())?.map(({ name, nextRunAt }) => [name, nextRunAt?.getTime() ?? null]),
    );
    next.push(...part.map((_, at) => shown.get(`entry ${at}`) ?? null));
    await sources.close();
    from += part.length;
  }
  return next;
}

const wallClocks = new Map<string, Intl.DateTimeFormat>();

/** What a clock in the zone shows at this time, as if it were in UTC. */
function localTime(time: number, zone: string): number {
  const clock =
    wallClocks.get(zone) ??
    new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' });
  wallClocks.set(zone, clock);
  return Date.parse(`${clock.format(time).replace(' ', 'T')}Z`);
}

/** Whether a clock shows this local time then; if no clock ever does, an hour later. */
function isAt(time: number, local: number, zone: string): boolean {
  const shown = localTime(time, zone);
  return shown === local || (shown === local + HOUR && localTime(time - HOUR, zone) !== local);
}

const HOUR = 3_600_000;

describe.skipIf(celeryMissing !== null)(titleUnless(celeryMissing, 'the next run of a crontab'), () => {
  it('is the one that Celery waits for, in zones with and without daylight saving time', async () => {
    const { version, answers } = askCelery(cases);
    const exact = !version.startsWith('5.2');
    const shown = await nextRuns(cases);
    let compared = 0;
    cases.forEach(({ fields, zone, now }, index) => {
      const answer = answers[index];
      const next = shown[index] ?? null;
      const label = JSON.stringify({ fields, zone, now: new Date(now * 1000), next, answer });
      if (answer?.local === undefined || answer.seconds === undefined) {
        expect(next, label).toBe(null);
        return;
      }
      const local = answer.local * 1000;
      expect(next !== null && isAt(next, local, zone), label).toBe(true);
      // Celery 5.2 counts in the offset of now, until it looks again after the change.
      const changes = localTime(next ?? 0, zone) - (next ?? 0) !== localTime(now * 1000, zone) - now * 1000;
      // And later versions place what they see twice in the past.
      if (exact ? answer.seconds > 0 : !changes) expect(next, label).toBe((now + answer.seconds) * 1000);
      compared += 1;
    });
    expect(compared).toBeGreaterThan(1000);
  });

  it('takes a field exactly when Celery takes it', async () => {
    const fields = [
      ...['*', '*/15', '5', ' 5', '5 ', '+5', '1-5', '5-1', '1-5/2', '50-10/7', '1-5-7', '1-5/2/3', '*/2-3'],
      ...['', ',', '1,', '-5', '1--5', '*/0', '*/', '1-5/', '5/2', '*5', '60', '99', '1-60', 'mon', 'monday'],
      ...['MON', 'mon-fri', 'fri-mon', 'xyz', '1 - 5', '*/100', '1.5', '0x1', 5, 60, -1, [1, 2], [], [99]],
    ];
    const minutes = fields.map((minute) => ({ fields: { minute }, zone: 'UTC', now: 1_795_229_441 }));
    const { answers } = askCelery(minutes);
    const shown = await nextRuns(minutes);
    fields.forEach((minute, index) => {
      const answer = answers[index]?.local;
      expect(shown[index], JSON.stringify(minute)).toBe(answer === undefined ? null : answer * 1000);
    });
  });
});

describe('a crontab', () => {
  const daily = { minute: '30', hour: '2' };
  const quarters = { minute: '*/15' };
  const seven = { minute: '0', hour: '7' };
  const leap = { minute: '0', hour: '0', day_of_month: '29', month_of_year: '2', day_of_week: '1' };
  const rows: [why: string, fields: CrontabFields, after: string, zone: string, next: string | null][] = [
    [
      'wants the day of the month and the day of the week',
      { ...seven, day_of_month: '13', day_of_week: 'fri' },
      ...(['2026-11-21T00:00:00Z', 'UTC', '2027-08-13T07:00:00.000Z'] as const),
    ],
    [
      'is read in its zone before a change',
      seven,
      '2026-03-27T12:00:00Z',
      'Europe/Prague',
      '2026-03-28T06:00:00.000Z',
    ],
    ['and after it', seven, '2026-03-28T12:00:00Z', 'Europe/Prague', '2026-03-29T05:00:00.000Z'],
    ['in autumn, too', seven, '2026-10-24T12:00:00Z', 'Europe/Prague', '2026-10-25T06:00:00.000Z'],
    [
      'runs later by the skipped hour',
      daily,
      '2026-03-28T12:00:00Z',
      'Europe/Prague',
      '2026-03-29T01:30:00.000Z',
    ],
    [
      'runs once in the hour that comes twice',
      daily,
      '2026-10-24T12:00:00Z',
      'Europe/Prague',
      '2026-10-25T00:30:00.000Z',
    ],
    ['and not again', daily, '2026-10-25T00:30:00Z', 'Europe/Prague', '2026-10-26T01:30:00.000Z'],
    [
      'leaves the second such hour out',
      quarters,
      '2026-10-25T00:45:00Z',
      'Europe/Prague',
      '2026-10-25T02:00:00.000Z',
    ],
    ['unless it is that', quarters, '2026-10-25T01:10:00Z', 'Europe/Prague', '2026-10-25T01:15:00.000Z'],
    [
      'has no next run on a date that never comes',
      { minute: '0', hour: '0', day_of_month: '31', month_of_year: '2,4,6,9,11' },
      ...(['2026-11-21T00:00:00Z', 'UTC', null] as const),
    ],
    ['finds a leap day that is a Monday', leap, '2026-11-21T00:00:00Z', 'UTC', '2044-02-29T00:00:00.000Z'],
    [
      'takes names of months as Celery 5.3 and later do',
      { ...seven, day_of_month: '1', month_of_year: 'jan,oct-feb/2' },
      ...(['2026-10-21T00:00:00Z', 'UTC', '2026-12-01T07:00:00.000Z'] as const),
    ],
  ];

  it('has the next run that its fields say', async () => {
    const all = rows.map(([, fields, after, zone]) => ({ fields, zone, now: Date.parse(after) / 1000 }));
    const shown = (await nextRuns(all)).map((time) => (time === null ? null : new Date(time).toISOString()));
    expect(rows.map(([why], at) => [why, shown[at]])).toEqual(rows.map(([why, , , , next]) => [why, next]));
  });

  it('is shown in one order, without spaces in its fields', async () => {
    const schedule = { minute: [0, 30], hour: '1, 2', day_of_week: 1 };
    const settings = { beat_schedule: { only: { task: 'report', schedule } } };
    const { schedules } = openArrayDeployment({ control: false, settings });
    expect((await schedules())?.[0]?.schedule).toBe('0,30 1,2 * * 1 (m/h/dM/MY/d)');
  });

  it('needs a zone that there is', () => {
    const open = (timezone: unknown) =>
      celerySources({ broker: 'redis://127.0.0.1:1', settings: { timezone } as CelerySettings });
    for (const zone of ['Mars/Base', '', 5]) expect(() => open(zone)).toThrow(/'settings.timezone' must be/);
  });
});
