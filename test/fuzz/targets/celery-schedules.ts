/** Schedules: what redbeat stores, what workers say of `beat_schedule`, rows of django-celery-beat, texts of crontabs. */
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { expect, vi } from 'vitest';
import { type CelerySources, celerySources } from '../../../src/celery.ts';
import type { Schedule } from '../../../src/model.ts';
import { pass } from '../../celery/array-deployment.ts';
import { createArrayMailbox } from '../../celery/array-mailbox.ts';
import { componentOf, context } from '../../helpers/celery-events.ts';
import { checkBody } from '../../helpers/openapi-check.ts';
import { type RedisServer, redisMissing, startRedis } from '../../helpers/redis-server.ts';
import { holdClock, NOW, openPlain, serializer } from '../deployment.ts';
import { anyValue, longText, number, pythonJson, text } from '../inputs.ts';
import { misfit, mutated } from '../mutations.ts';
import { BATCH } from '../said.ts';
import { REDBEAT } from '../seeds.ts';
import { defineTarget } from '../target.ts';

const files = (...names: string[]): string[] => names.map((name) => `sources/celery/schedules/${name}.ts`);
const held = { open: async () => holdClock(), close: async () => void vi.useRealTimers() };

/** Rows by name. Each must be one that the API describes, and be listed once. */
async function listed(sources: CelerySources): Promise<ReadonlyMap<string, Schedule>> {
  const rows = (await sources.schedules.listSchedules(context)) ?? [];
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
  for (const row of rows) {
    expect((row.schedule ?? '').length).toBeLessThan(20_000);
    checkBody('ScheduleBody', serializer.schedule(row, 'fuzz'));
  }
  expect(Number((await componentOf(sources, 'beat')).config.unreadable ?? 0)).toBeGreaterThanOrEqual(0);
  return new Map(rows.map((row) => [row.name, row]));
}

function stored(seeds: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 8, arbitrary: mutated(seeds) },
    { weight: 8, arbitrary: misfit(seeds.map((seed) => JSON.parse(seed) as unknown)).map(pythonJson) },
    { weight: 3, arbitrary: text },
    { weight: 1, arbitrary: longText() },
  );
}

const TEXTS = [
  '30 2 * * mon-fri',
  '<crontab: 0,30 */2 * * * (m/h/d/dM/MY)>',
  '<crontab: [0, 30] {5} (1,) * fri-mon (m/h/dM/MY/d)>',
  '1 day, 0:00:05.500000',
  '<freq: 30.00 seconds>',
  '<solar: sunset at latitude 51.5, longitude: -0.12>',
];
/** Anything in the place of a schedule. */
const given = fc.oneof(
  { weight: 6, arbitrary: mutated(TEXTS) },
  { weight: 6, arbitrary: fc.oneof(text, anyValue) },
  { weight: 1, arbitrary: longText() },
);
const EVERY = { __type__: 'interval', every: 30, relative: true };
const NIGHTLY = { __type__: 'crontab', minute: '30', hour: '2', day_of_week: 'mon-fri', day_of_month: '*' };
const LAST = Date.UTC(2026, 10, 21, 2);
const DUE = NOW / 1_000 + 60;
const MOMENT = { __type__: 'datetime', year: 2026, month: 11, day: 21, hour: 2, timezone: 'UTC' };
const META = JSON.stringify({ last_run_at: MOMENT, total_run_count: 3 });
const GOOD = JSON.stringify({ name: 'good', task: 'good.task', schedule: EVERY, enabled: true });

let server: RedisServer | null = null;
let redis: Redis | null = null;

export const redbeatTarget = defineTarget({
  name: 'redbeat entries',
  share: 70,
  covers: files('redbeat-schedule', 'entry', 'schedule-text'),
  missing: redisMissing,
  // They are read from Redis: many turns of the event loop, none of which is timed by itself.
  isSlow: true,
  inputs: fc.record({
    entries: fc.array(
      fc.record({
        key: text,
        score: fc.oneof(number, fc.constantFrom(-1, 1_795_229_442)),
        definition: stored(REDBEAT.map(({ definition }) => definition)),
        meta: fc.option(stored(REDBEAT.map(({ meta }) => meta))),
      }),
      BATCH,
    ),
    schedules: fc.array(fc.oneof(given, misfit([EVERY, NIGHTLY])), BATCH),
    timezone: fc.constantFrom('UTC', 'Europe/Prague'),
  }),
  casesPerInput: 2 * BATCH.maxLength,
  async open() {
    vi.useFakeTimers({ now: NOW, toFake: ['Date'] });
    server = await startRedis();
    redis = new Redis(server.port, '127.0.0.1');
  },
  async close() {
    redis?.disconnect();
    await server?.close();
    vi.useRealTimers();
  },
  async check({ entries, schedules, timezone }) {
    const pipe = redis?.pipeline().flushall();
    const store = (key: string, score: number, definition: string, meta: string | null): void => {
      pipe?.zadd('redbeat::schedule', score, `redbeat:${key}`);
      pipe?.hset(`redbeat:${key}`, { definition, ...(meta !== null && { meta }) });
    };
    for (const { key, score, definition, meta } of entries) store(`${key}x`, score, definition, meta);
    for (const [at, schedule] of schedules.entries())
      store(`timed ${at}`, DUE, pythonJson({ name: `timed ${at}`, task: 'a', schedule }), META);
    store('good', DUE, GOOD, META);
    await pipe?.exec();
    const broker = server?.url() ?? '';
    const sources = celerySources({ broker, backend: null, control: false, settings: { timezone } });
    try {
      const rows = await listed(sources);
      const good = {
        task: 'good.task',
        schedule: 'every 30 s (relative)',
        lastRunAt: new Date(LAST),
        totalRunCount: 3,
      };
      expect(rows.get('good')).toMatchObject({ ...good, nextRunAt: new Date(LAST + 30_000) });
      for (const at of schedules.keys()) {
        const next = rows.get(`timed ${at}`)?.nextRunAt;
        if (next != null) expect(next.getTime()).toBeGreaterThanOrEqual(LAST);
      }
    } finally {
      await sources.close();
    }
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
const CONF = { timezone: 'Europe/Prague', beat_schedule: SCHEDULES };
const REDBEAT_CONF = {
  ...CONF,
  beat_scheduler: 'redbeat.RedBeatScheduler',
  redbeat_key_prefix: 'r:',
  redbeat_lock_timeout: 25,
  beat_max_loop_interval: 5,
};
const WORKERS = 20;
const settings = { timezone: 'UTC', beat_schedule: { good: { task: 'good.task', schedule: 30 } } };

export const staticTarget = defineTarget<readonly unknown[]>({
  name: 'beat_schedule of workers',
  share: 20,
  covers: files('static-schedule', 'entry', 'schedule-text', 'redbeat-schedule'),
  inputs: fc.array(
    fc.oneof({ weight: 3, arbitrary: misfit([CONF, REDBEAT_CONF]) }, { weight: 1, arbitrary: anyValue }),
    { minLength: WORKERS, maxLength: WORKERS },
  ),
  casesPerInput: WORKERS,
  ...held,
  async check(confs) {
    const workers = confs.map(
      (conf, at) =>
        [
          `w${at}@hostile`,
          ({ method }: { readonly method: string }) => ({ value: method === 'conf' ? conf : { ok: 'pong' } }),
        ] as const,
    );
    const control = createArrayMailbox(Object.fromEntries(workers), WORKERS);
    const { sources, hear } = openPlain({ settings, control });
    try {
      const listing = sources.schedules.listSchedules(context);
      await pass(3_000);
      await listing;
      // Runs of an entry, which have a next one.
      for (const [at, uuid] of ['first', 'second'].entries())
        hear({
          type: 'task-sent',
          uuid,
          name: 'shop.ship',
          args: '()',
          kwargs: '{}',
          timestamp: NOW / 1_000 - 60 + at * 30,
        });
      const rows = await listed(sources);
      expect(rows.get('good')).toMatchObject({ task: 'good.task', schedule: 'every 30 s', args: '()' });
      for (const { nextRunAt } of rows.values())
        if (nextRunAt != null) expect(nextRunAt.getTime()).toBeGreaterThan(NOW - 60_001);
    } finally {
      await sources.close();
    }
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
const GOOD_ROW = {
  id: 1,
  name: 'good',
  task: 'good.task',
  enabled: 1,
  interval_id: 1,
  every: 30,
  period: 'seconds',
};

/** A database with these entries, of which it answers one page. */
function answerOf(rows: readonly unknown[]) {
  return (statement: string, values: readonly string[]): object[] => {
    if (!statement.includes('LEFT JOIN') && /COUNT|last_update/.test(statement))
      return [{ updated: null, changed: null, total: rows.length }];
    return (values[0] === '0' ? rows : []) as object[];
  };
}

export const djangoTarget = defineTarget<readonly unknown[]>({
  name: 'entries of django-celery-beat',
  share: 20,
  covers: files('django/django-reader', 'django/django-schedule'),
  inputs: fc.array(
    misfit([
      DJANGO,
      { ...DJANGO, interval_id: '1', every: 30, period: 'seconds' },
      { ...DJANGO, crontab_id: null, clocked_id: 1, clocked_time: '2026-11-21T03:30:00Z' },
      { ...DJANGO, crontab_id: null, solar_id: 1, event: 'sunset', latitude: '51.5', longitude: -0.12 },
    ]),
    BATCH,
  ),
  casesPerInput: BATCH.maxLength,
  // Each statement has a turn of the event loop of its own.
  isSlow: true,
  async open() {
    vi.useFakeTimers({ now: NOW, toFake: ['Date'] });
  },
  close: held.close,
  async check(entries) {
    // Rows are objects, and ids are unique in a table.
    const rows = entries.map((entry, at) => ({ ...(entry as object), id: at + 2 }));
    const sources = celerySources({
      ...{ broker: 'amqp://127.0.0.1:1', backend: null, control: false },
      sql: { dialect: 'mysql', query: answerOf([GOOD_ROW, ...rows]) },
    });
    try {
      const good = (await listed(sources)).get('good');
      expect(good).toMatchObject({ id: 'django_celery_beat:1', task: 'good.task', schedule: 'every 30 s' });
    } finally {
      await sources.close();
    }
  },
});

/** A field of a crontab, and the values that it allows; `null`: it may be no field. */
type Field = readonly [field: unknown, allows: readonly number[] | null];

const span = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at);

const hostileField = fc.oneof(
  fc.stringMatching(/^[0-9*,/a-fmnost-]{0,12}$/),
  mutated(['*/5', '1-5', 'mon-fri', '22-3/2', 'jan,feb', '0,15,30']),
  fc.array(fc.oneof(fc.integer({ min: -1, max: 61 }), anyValue), { maxLength: 5 }),
  anyValue,
);

function fieldOf(min: number, max: number): fc.Arbitrary<Field> {
  const value = fc.integer({ min, max });
  return fc.oneof(
    hostileField.map((field): Field => [field, null]),
    fc.constant<Field>(['*', span(min, max)]),
    fc.array(value, { minLength: 1, maxLength: 4 }).map((values): Field => [values, values]),
    fc.array(value, { minLength: 1, maxLength: 4 }).map((values): Field => [values.join(), values]),
    fc
      .tuple(value, value)
      .map(([a, b]): Field => [`${a}-${b}`, a <= b ? span(a, b) : [...span(a, max), ...span(min, b)]]),
    fc
      .integer({ min: 1, max })
      .map((step): Field => [`*/${step}`, span(min, max).filter((_, at) => at % step === 0)]),
  );
}

const RANGES = {
  minute: [0, 59],
  hour: [0, 23],
  day_of_month: [1, 31],
  month_of_year: [1, 12],
  day_of_week: [0, 6],
} as const;
const crontab = fc.record({
  minute: fieldOf(...RANGES.minute),
  hour: fieldOf(...RANGES.hour),
  day_of_month: fieldOf(...RANGES.day_of_month),
  month_of_year: fieldOf(...RANGES.month_of_year),
  day_of_week: fieldOf(...RANGES.day_of_week),
});

/** What the fields say of a moment in UTC. */
const partsOf = (time: Date): Readonly<Record<keyof typeof RANGES, number>> => ({
  minute: time.getUTCMinutes(),
  hour: time.getUTCHours(),
  day_of_month: time.getUTCDate(),
  month_of_year: time.getUTCMonth() + 1,
  day_of_week: time.getUTCDay(),
});

export const crontabTarget = defineTarget({
  name: 'texts of schedules',
  share: 200,
  covers: files('crontab', 'schedule-text', 'entry'),
  inputs: fc.record({
    given: fc.array(given, BATCH),
    timezone: fc.constantFrom('UTC', 'Europe/Prague', undefined),
    crontabs: fc.array(crontab, BATCH),
  }),
  casesPerInput: 2 * BATCH.maxLength,
  ...held,
  async check({ given, timezone, crontabs }) {
    const entries: [string, object][] = [
      ...given.map((schedule, at): [string, object] => [`given ${at}`, { task: 'a', schedule }]),
      ...crontabs.map((fields, at): [string, object] => {
        const schedule = Object.fromEntries(Object.entries(fields).map(([name, [field]]) => [name, field]));
        return [`crontab ${at}`, { task: 'a', schedule: { ...schedule, timezone: 'UTC' } }];
      }),
      ['good', settings.beat_schedule.good],
    ];
    const zone = timezone === undefined ? { enable_utc: false } : { timezone };
    const { sources } = openPlain({
      settings: { ...zone, beat_schedule: Object.fromEntries(entries) },
    });
    try {
      const rows = await listed(sources);
      expect(rows.size).toBe(entries.length);
      expect(rows.get('good')).toMatchObject({ task: 'good.task', schedule: 'every 30 s' });
      for (const { nextRunAt } of rows.values())
        if (nextRunAt != null) expect(nextRunAt.getTime()).toBeGreaterThan(NOW);
      for (const [at, fields] of crontabs.entries()) {
        const next = rows.get(`crontab ${at}`)?.nextRunAt;
        if (next == null) continue;
        // The run is one that every field allows.
        for (const [name, value] of Object.entries(partsOf(next))) {
          const [, allows] = fields[name as keyof typeof RANGES];
          if (allows !== null) expect(allows).toContain(value);
        }
      }
    } finally {
      await sources.close();
    }
  },
});
