/** Schedules: what redbeat stores, what workers say of `beat_schedule`, texts of crontabs. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { createRedactor } from '../../../src/redact.ts';
import { createSerializer } from '../../../src/serialize.ts';
import { readBinding } from '../../../src/sources/celery/brokers/redis/queues/bindings.ts';
import { readCrontab } from '../../../src/sources/celery/schedules/crontab.ts';
import { expandField } from '../../../src/sources/celery/schedules/crontab-field.ts';
import { djangoClock, djangoEntry } from '../../../src/sources/celery/schedules/django/django-entry.ts';
import { djangoSchedules } from '../../../src/sources/celery/schedules/django/django-schedule.ts';
import { redbeatEntry } from '../../../src/sources/celery/schedules/redbeat-entry.ts';
import {
  foreignScheduler,
  namesRedbeat,
  redbeatKeys,
  redbeatTiming,
} from '../../../src/sources/celery/schedules/redbeat-settings.ts';
import { redbeatSchedule, staticSchedule } from '../../../src/sources/celery/schedules/rows.ts';
import { runAfter } from '../../../src/sources/celery/schedules/rule.ts';
import { createRunObserver } from '../../../src/sources/celery/schedules/run-observer.ts';
import { readSchedule } from '../../../src/sources/celery/schedules/schedule-text.ts';
import { staticEntries } from '../../../src/sources/celery/schedules/static-entry.ts';
import { checkBody } from '../../helpers/openapi-check.ts';
import { anyValue, longText, pythonJson, text } from '../inputs.ts';
import { misfit, mutated } from '../mutations.ts';
import { REDBEAT } from '../seeds.ts';
import { defineTarget } from '../target.ts';

const files = (...names: string[]): string[] => names.map((name) => `sources/celery/schedules/${name}.ts`);
const serializer = createSerializer({ redactor: createRedactor() });
const NOW = Date.UTC(2026, 10, 21, 3);

const parsed = (seeds: readonly string[]): unknown[] => seeds.map((seed) => JSON.parse(seed) as unknown);

function stored(seeds: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 8, arbitrary: mutated(seeds) },
    { weight: 8, arbitrary: misfit(parsed(seeds)).map(pythonJson) },
    { weight: 3, arbitrary: text },
    { weight: 1, arbitrary: longText() },
  );
}

export const redbeatTarget = defineTarget({
  name: 'redbeat entries',
  share: 50,
  covers: files('redbeat-entry', 'rows', 'rule', 'rrule', 'zones'),
  inputs: fc.record({
    key: text,
    score: fc.oneof(text, fc.double().map(String), fc.constantFrom('-1', '1795229442', '1e300')),
    definition: stored(REDBEAT.map(({ definition }) => definition)),
    meta: fc.option(stored(REDBEAT.map(({ meta }) => meta))),
    zone: fc.constantFrom(null, 'UTC', 'Europe/Prague'),
  }),
  check({ key, score, definition, meta, zone }) {
    const entry = redbeatEntry(`redbeat:${key}x`, 'redbeat:', score, definition, meta);
    if (entry === null) return;
    checkBody('ScheduleBody', serializer.schedule(redbeatSchedule(entry, zone), 'fuzz'));
  },
});

const SCHEDULES = {
  nightly: {
    task: 'shop.mail',
    schedule: '<crontab: 30 2 * * mon-fri (m/h/dM/MY/d)>',
    args: [1],
    kwargs: { a: 1 },
  },
  often: { task: 'shop.ship', schedule: 30, options: { queue: 'q' }, relative: true },
  dusk: { task: 'a', schedule: { event: 'sunset', lat: 51.5, lon: -0.12 }, enabled: false },
  fields: {
    task: 'a',
    schedule: { minute: '*/5', hour: [1, 2], day_of_week: 'sat-mon', timezone: 'Asia/Kolkata' },
  },
  rule: {
    task: 'a',
    schedule: { freq: 3, interval: 2, until: 1_790_000_000, byhour: [1, 2], byweekday: [0] },
  },
};

export const staticTarget = defineTarget({
  name: 'beat_schedule of workers',
  share: 20,
  covers: files('static-entry', 'rows', 'schedule-text', 'redbeat-settings'),
  inputs: fc.oneof(misfit([SCHEDULES]), anyValue),
  check(value) {
    const { entries, unreadable } = staticEntries(value, 'Europe/Prague');
    expect(unreadable).toBeGreaterThanOrEqual(0);
    for (const entry of entries) {
      for (const last of [null, NOW - 5_000]) {
        const row = staticSchedule(`id ${entry.name}`, entry, { last, now: NOW });
        checkBody('ScheduleBody', serializer.schedule(row, 'fuzz'));
        if (row.nextRunAt != null && last !== null)
          expect(row.nextRunAt.getTime()).toBeGreaterThan(NOW - 60_001);
      }
    }
    if (typeof value !== 'object' || value === null) return;
    const configuration = value as Record<string, unknown>;
    redbeatKeys(configuration);
    redbeatTiming([configuration]);
    namesRedbeat(configuration);
    foreignScheduler(configuration);
  },
});

const DJANGO = {
  id: 7,
  name: 'nightly',
  task: 'shop.mail',
  enabled: 1,
  one_off: false,
  total_run_count: '12',
  interval_id: null,
  crontab_id: 3,
  minute: '0,30',
  hour: '*/2',
  day_of_month: '*',
  month_of_year: '*',
  day_of_week: 'mon-fri',
  timezone: 'Europe/Prague',
  args: '[1, {"a": NaN}]',
  kwargs: '{"password": "secret"}',
  last_run_at: '2026-11-21T01:30:00.123456Z',
  date_changed: '2026-11-20 01:30:00',
  start_time: null,
  expires: '2026-12-24T00:00:00Z',
};

export const djangoTarget = defineTarget({
  name: 'entries of django-celery-beat',
  share: 20,
  covers: files('django/django-entry', 'django/django-schedule', 'django/next-run'),
  inputs: misfit([
    DJANGO,
    { ...DJANGO, interval_id: '1', every: 30, period: 'seconds' },
    { ...DJANGO, crontab_id: null, clocked_id: 1, clocked_time: '2026-11-21T03:30:00Z' },
    { ...DJANGO, crontab_id: null, solar_id: 1, event: 'sunset', latitude: '51.5', longitude: -0.12 },
  ]),
  check(value) {
    if (typeof value !== 'object' || value === null) return;
    const entry = djangoEntry(value as Record<string, unknown>, djangoClock({}, 'Europe/Prague'));
    if (entry === null) return;
    const snapshot = {
      entries: [entry],
      enabled: new Map([[entry.id, entry]]),
      total: 1,
      unreadable: 0,
      updatedAt: NOW - 600_000,
      storedUntil: entry.lastRunAt,
    };
    const context = { observer: createRunObserver(), timezone: 'UTC', unstored: 185_000, now: NOW };
    const steps = djangoSchedules(snapshot, context);
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    const [row] = step.value;
    if (row !== undefined) checkBody('ScheduleBody', serializer.schedule(row, 'fuzz'));
  },
});

const TEXTS = [
  '30 2 * * mon-fri',
  '<crontab: 0,30 */2 * * * (m/h/d/dM/MY)>',
  '<crontab: [0, 30] {5} (1,) * fri-mon (m/h/dM/MY/d)>',
  '1 day, 0:00:05.500000',
  '<freq: 30.00 seconds>',
  '<solar: sunset at latitude 51.5, longitude: -0.12>',
];
const field = fc.oneof(
  fc.stringMatching(/^[0-9*,/a-fmnost-]{0,12}$/),
  mutated(['*/5', '1-5', 'mon-fri', '22-3/2', 'jan,feb', '0,15,30']),
  fc.array(fc.oneof(fc.integer({ min: -1, max: 61 }), anyValue), { maxLength: 5 }),
  anyValue,
);

export const crontabTarget = defineTarget({
  name: 'texts of schedules',
  share: 200,
  covers: files('crontab', 'crontab-field', 'interval', 'schedule-text', 'rule'),
  inputs: fc.oneof(
    fc.record({
      given: fc.oneof(
        { weight: 6, arbitrary: mutated(TEXTS) },
        { weight: 6, arbitrary: fc.oneof(text, anyValue) },
        { weight: 1, arbitrary: longText() },
      ),
      zone: fc.constantFrom('UTC', 'Europe/Prague', null),
    }),
    fc.record({ fields: fc.tuple(field, field, field, field, field) }),
  ) as fc.Arbitrary<
    { given: unknown; zone: string | null } | { fields: [unknown, unknown, unknown, unknown, unknown] }
  >,
  check(input) {
    if ('given' in input) {
      const rule = readSchedule(input.given);
      expect((rule.text ?? '').length).toBeLessThan(20_000);
      const next = runAfter(rule, NOW, input.zone);
      if (next !== null) expect(next).toBeGreaterThanOrEqual(rule.crontab === null ? NOW : NOW + 1);
      if (typeof input.given === 'string') readBinding(input.given, '\u0006\u0016');
      return;
    }
    const [minute, hour, day, month, weekday] = input.fields;
    const next = readCrontab({
      minute,
      hour,
      day_of_month: day,
      month_of_year: month,
      day_of_week: weekday,
    })?.nextRun(new Date(NOW), 'UTC');
    if (next === null || next === undefined) return;
    expect(next.getTime()).toBeGreaterThan(NOW);
    // The run is one that every field allows.
    expect(expandField(minute ?? '*', 0, 59)).toContain(next.getUTCMinutes());
    expect(expandField(hour ?? '*', 0, 23)).toContain(next.getUTCHours());
    expect(expandField(day ?? '*', 1, 31)).toContain(next.getUTCDate());
    expect(expandField(month ?? '*', 1, 12)).toContain(next.getUTCMonth() + 1);
    expect(expandField(weekday ?? '*', 0, 6)).toContain(next.getUTCDay());
  },
});
