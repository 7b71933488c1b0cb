/** The entries of `beat_schedule`: what a host writes in its settings, and what workers say of them. */
import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { CelerySettings } from '../../src/celery.ts';
import { celeryMissing } from '../helpers/celery-app.ts';
import { context } from '../helpers/celery-events.ts';
import { PYTHON } from '../helpers/engines.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { holdTime, openArrayDeployment, pass } from './array-deployment.ts';

const NOW = Date.parse('2026-11-21T00:00:00Z');

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

/** The entries of a schedule that a host writes, by their place. */
async function written(schedules: readonly unknown[], timezone = 'UTC') {
  holdTime(NOW);
  const entries = schedules.map((schedule, at) => [
    String(at).padStart(3, '0'),
    { task: 'report', schedule },
  ]);
  const settings = { timezone, beat_schedule: Object.fromEntries(entries) };
  return (await openArrayDeployment({ control: false, settings }).schedules()) ?? [];
}

/** The configurations that workers report. */
const said = (confs: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(confs).map(([worker, conf]) => [worker, { ping: { ok: 'pong' }, conf }]));

describe.skipIf(celeryMissing !== null)(titleUnless(celeryMissing, 'what workers say of schedules'), () => {
  it('is read whatever a schedule is made of', async () => {
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
    const entries = shown.map((schedule, at) => [String(at).padStart(3, '0'), { task: 'report', schedule }]);
    const beat_schedule = Object.fromEntries(entries);
    const { schedules } = openArrayDeployment({ workers: said({ 'w1@a': { beat_schedule } }) });
    const list = (await schedules()) ?? [];
    expect(list.map(({ schedule }) => schedule)).toEqual([
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
    expect(list.map(({ nextRunAt }) => nextRunAt !== null)).toEqual(list.map((_, at) => at < 3));
  });
});

describe('a schedule', () => {
  it('is read from the text of either version, by the order that the text names', async () => {
    const texts = [
      '<crontab: 30 2 mon-fri * * (m/h/d/dM/MY)>',
      '<crontab: 30 2 * * mon-fri (m/h/dM/MY/d)>',
      '30 2 * * mon-fri (m/h/dM/MY/d)',
    ];
    expect(await written(texts, 'Europe/Prague')).toMatchObject(
      texts.map(() => ({
        schedule: '30 2 * * mon-fri (m/h/dM/MY/d)',
        nextRunAt: new Date('2026-11-23T01:30:00.000Z'),
      })),
    );
  });

  it('is written by a host in many ways', async () => {
    const weekly = { freq: 2, interval: 2, byweekday: [{ __type__: 'weekday', wkday: 0 }, 4], until: 1e9 };
    const rows: [schedule: unknown, text: string, timezone?: string][] = [
      ['0 7 * * 1', '0 7 * * 1 (m/h/dM/MY/d)'],
      [{ minute: 0, hour: '7', day_of_week: 1 }, '0 7 * * 1 (m/h/dM/MY/d)'],
      [{ minute: 0, timezone: 'Asia/Tokyo' }, '0 * * * * (m/h/dM/MY/d)', 'Asia/Tokyo'],
      [30, 'every 30 s'],
      [{ every: 600, relative: true }, 'every 10 min (relative)'],
      [{ every: 5, period: 'minutes' }, 'every 5 min'],
      [{ event: 'sunset', lat: 51.5, lon: -0.12 }, 'sunset at latitude 51.5, longitude -0.12'],
      [
        { __type__: 'rrule', freq: 6, interval: 5, count: null, byhour: [1, 2, 3] },
        'every 5 s, byhour 1,2,3 (rrule)',
      ],
      [weekly, 'every 2 weeks, byweekday mon,fri, until 2001-09-09T01:46:40Z (rrule)'],
      [{ freq: 3, interval: 1, count: 3 }, 'every 1 d, count 3 (rrule)'],
      ['<crontab: 99 7 * * * (m/h/d/dM/MY)>', '99 7 * * * (m/h/dM/MY/d)'],
    ];
    const shown = await written(rows.map(([schedule]) => schedule));
    expect(shown.map(({ schedule, timezone }) => [schedule, timezone])).toEqual(
      rows.map(([, text, timezone = 'UTC']) => [text, timezone]),
    );
    expect(shown.map(({ nextRunAt }) => nextRunAt !== null)).toEqual(rows.map((_, at) => at < 3));
  });

  it('that is not understood is shown as it is, without a next run', async () => {
    const strange = [
      ...['<Every full moon>', 'whenever the moon is full', '99 * * * *', 'x'.repeat(100_000), ''],
      ...[null, undefined, true, [], {}, { every: '5' }, { every: 1, period: 'moons' }, Number.NaN, Infinity],
      ...[{ freq: 9 }, { event: 5 }, { event: 'sunset', lat: { toString: 5 }, lon: 1 }, { minute: { a: 1 } }],
      { minute: JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`) },
    ];
    const shown = await written(strange);
    expect(shown.map(({ nextRunAt }) => nextRunAt)).toEqual(strange.map(() => null));
    expect(shown.slice(0, 3).map(({ schedule }) => schedule)).toEqual(strange.slice(0, 3));
    expect(shown[3]?.schedule).toHaveLength(301);
  });
});

describe('the static schedule', () => {
  const daily = { task: 'report', schedule: '<crontab: 0 7 * * * (m/h/d/dM/MY)>' };

  it('is one where workers say the same, and two where they do not', async () => {
    const { schedules, component } = openArrayDeployment({
      workers: said({
        'a@1': { timezone: 'Europe/Prague', beat_schedule: { daily } },
        'b@1': { timezone: 'Europe/Prague', beat_schedule: { daily } },
        'c@1': { beat_schedule: { daily, broken: 5 } },
        'd@1': null,
        'e@1': { beat_schedule: [daily], timezone: 5 },
      }),
    });
    expect((await schedules())?.map(({ id, name, timezone }) => [id, name, timezone])).toEqual([
      ['daily', 'daily', 'Europe/Prague'],
      ['daily (2)', 'daily', 'UTC'],
    ]);
    expect((await component('beat')).config).toMatchObject({ entries: 2, unreadable: 1, timezone: null });
  });

  it('has the zone of the app: UTC by default, none when the machine of beat decides', async () => {
    const beat_schedule = { daily };
    const rows: [settings: CelerySettings, conf: object, zone: string | null][] = [
      [{ beat_schedule }, {}, 'UTC'],
      [{ beat_schedule, timezone: 'Asia/Tokyo' }, {}, 'Asia/Tokyo'],
      [{ beat_schedule, enable_utc: false }, {}, null],
      [{ beat_schedule, enable_utc: false, timezone: 'Asia/Tokyo' }, {}, 'Asia/Tokyo'],
      [{}, { beat_schedule, timezone: 'Asia/Tokyo' }, 'Asia/Tokyo'],
    ];
    const zones = rows.map(async ([settings, conf]) => {
      const { schedules } = openArrayDeployment({ settings, workers: said({ 'a@1': conf }) });
      return (await schedules())?.[0]?.timezone;
    });
    expect(await Promise.all(zones)).toEqual(rows.map(([, , zone]) => zone));
  });

  it('is asked for again after a minute, and who is silent is remembered for ten', async () => {
    holdTime(NOW);
    const workers = said({ 'a@1': { beat_schedule: { daily } } });
    const { broker, schedules } = openArrayDeployment({ workers });
    const asked = () => broker.asked.filter((command) => command === 'conf').length;
    const count = async () => (await schedules())?.length;
    await pass(1_000);
    expect([await count(), asked()]).toEqual([1, 1]);
    delete workers['a@1'];
    Object.assign(workers, said({ 'b@1': { beat_schedule: {} } }));
    await pass(58_000);
    expect([await count(), asked()]).toEqual([1, 1]);
    await pass(3_000);
    await count();
    await pass(3_000);
    expect([await count(), asked()]).toEqual([1, 2]);
    for (let minute = 0; minute < 11; minute += 1) {
      await pass(61_000);
      await count();
    }
    await pass(3_000);
    expect(await count()).toBe(0);
  });

  it('takes what a host writes, hostile values included', async () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    const beat_schedule: Record<string, unknown> = {
      a: { task: 'report', schedule: 30, args: [1, 2.5, 'x', null, true], kwargs: { deep: [{}] } },
      b: { task: 'report', schedule: 30, kwargs: cycle },
      c: { task: 'report', schedule: 30, args: [10n ** 30n] },
      nothing: null,
      thrower: {
        get schedule() {
          throw new Error('no');
        },
      },
    };
    const { schedules, component } = openArrayDeployment({ settings: { beat_schedule } });
    expect((await schedules())?.map(({ args, kwargs }) => [args, kwargs])).toEqual([
      ["(1, 2.5, 'x', None, True)", "{'deep': [{}]}"],
      ['()', '{"self":"[Circular]"}'],
      [`["${10n ** 30n}"]`, '{}'],
    ]);
    expect((await component('beat')).config).toMatchObject({ entries: 3, unreadable: 2 });
  });

  it('is not there where no beat is used, and a scheduler that is not read is named', async () => {
    const none = openArrayDeployment({ workers: said({ 'a@1': { beat_schedule: {} } }) });
    expect(await none.sources.schedules.listSchedules(context)).toBe(null);
    expect(await none.component('beat')).toMatchObject({ status: 'disabled' });
    expect(none.sources.schedules.status?.()).toMatchObject({ ok: true });
    const schedulers = ['my.Scheduler', 'celery.beat:PersistentScheduler', '', 5];
    const shown = schedulers.map(async (beat_scheduler) => {
      const { sources, component } = openArrayDeployment({ workers: said({ 'a@1': { beat_scheduler } }) });
      const list = await sources.schedules.listSchedules(context);
      return [list, String((await component('beat')).config.hints).includes('my.Scheduler')];
    });
    expect(await Promise.all(shown)).toEqual([[[], true], ...schedulers.slice(1).map(() => [null, false])]);
  });
});
