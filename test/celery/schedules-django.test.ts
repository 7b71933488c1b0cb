/** The tables of django-celery-beat, as a host's function answers them, and what the source lists of them. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  type CelerySettings,
  type CelerySources,
  type CelerySourcesOptions,
  celerySources,
} from '../../src/celery.ts';
import type { Schedule } from '../../src/model.ts';
import { componentOf, context, eventMessage } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import { redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

const SCHEDULER = 'django_celery_beat.schedulers:DatabaseScheduler';
const NOW = Date.UTC(2026, 10, 23, 12, 30);
const S = 1_000;
const MINUTE = 60 * S;

type Row = Readonly<Record<string, unknown>>;

/** A database that has these entries, or fails with this error. */
interface Tables {
  rows: readonly Row[];
  error: unknown;
  /** When a user last changed an entry. */
  updated?: string | null;
}

const text = (time: number): string => new Date(time).toISOString();
const ago = (ms: number): string => text(Date.now() - ms);

/** An entry as drivers of MySQL return it. */
function row(id: number, more: Row = {}): Row {
  return {
    ...{ id, name: `entry ${id}`, task: 'report', enabled: 1, one_off: 0, args: '[1]' },
    ...{ interval_id: 1, every: 60, period: 'seconds' },
    ...{ last_run_at: ago(10_000), total_run_count: 5, date_changed: ago(MINUTE) },
    ...more,
  };
}

/** What the reader asks for: the row of changes, or a page of entries. */
function answer(
  { rows, error, updated = ago(MINUTE) }: Tables,
  statement: string,
  values: readonly string[],
): object[] {
  if (error !== null) throw error;
  if (statement.includes('LEFT JOIN') || !/COUNT|last_update/.test(statement))
    return rows.filter(({ id }) => Number(id) > Number(values[0])).slice(0, 500);
  return [{ updated, changed: JSON.stringify(rows), total: BigInt(rows.length) }];
}

function open(tables: Tables, options: CelerySourcesOptions = {}): CelerySources {
  const sources = celerySources({
    // Nothing is in Redis: no schedule of redbeat is looked for.
    ...{ broker: 'amqp://127.0.0.1:1', backend: null, control: false },
    sql: { dialect: 'mysql', query: (statement, values) => answer(tables, statement, values) },
    ...options,
  });
  onTestFinished(() => sources.close());
  return sources;
}

const list = async (sources: CelerySources) => await sources.schedules.listSchedules(context);
const beat = (sources: CelerySources) => componentOf(sources, 'beat');

const held = (...rows: readonly Row[]): Tables => ({ rows, error: null });
const failing = (code: string): Tables => ({ rows: [], error: { code } });
const NO_TABLE = 'ER_NO_SUCH_TABLE';
const DENIED = 'ER_TABLEACCESS_DENIED_ERROR';
const AWAY = 'ECONNREFUSED';

describe('schedules with django-celery-beat', () => {
  it('are its entries, and those that it has copied are listed once', async () => {
    const beat_schedule = {
      'entry 1': { task: 'report', schedule: 60 },
      other: { task: 'mail', schedule: 5 },
    };
    const sources = open(held(row(1), row(2, { enabled: 0 }), row(3, { name: null })), {
      settings: { beat_schedule },
    });
    expect(await list(sources)).toMatchObject([
      { id: 'django_celery_beat:1', name: 'entry 1', enabled: true, args: '(1,)', totalRunCount: 5 },
      { id: 'django_celery_beat:2', enabled: false, nextRunAt: null },
      { id: 'other', enabled: null, nextRunAt: null },
    ]);
    const config = { scheduler: 'django', entries: 3, unreadable: 1 };
    expect(await beat(sources)).toMatchObject({ status: 'up', config });
  });

  it('are not there without its tables or entries, and the static ones are', async () => {
    const beat_schedule = { other: { task: 'mail', schedule: 5 } };
    for (const tables of [failing(NO_TABLE), held()]) {
      expect(await list(open(tables))).toBe(null);
      expect(await list(open(tables, { settings: { beat_schedule } }))).toMatchObject([
        { id: 'other', enabled: true },
      ]);
    }
  });

  it('are up to 5,000, and are not counted each time then', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const elapsed = vi.spyOn(performance, 'now');
    onTestFinished(() => elapsed.mockRestore());
    const tables = held(...Array.from({ length: 6_000 }, (_, at) => row(at + 1)));
    const statements: string[] = [];
    const query = (statement: string, values: string[]): object[] => {
      statements.push(statement);
      return answer(tables, statement, values);
    };
    const sources = open(tables, { sql: { dialect: 'mysql', query } });
    elapsed.mockReturnValue(1_000);
    expect(await list(sources)).toHaveLength(5_000);
    const begin = statements.length;
    elapsed.mockReturnValue(20_000);
    await list(sources);
    expect(statements.slice(begin)).toEqual([expect.not.stringContaining('COUNT')]);
    tables.rows = tables.rows.slice(1);
    tables.updated = ago(0);
    elapsed.mockReturnValue(50_000);
    expect((await beat(sources)).config).toMatchObject({ entries: 5_999 });
  });

  it('end, whatever the function of the host answers', async () => {
    let statements = 0;
    const query = (): object[] => {
      statements += 1;
      return Array.from({ length: 2_000 }, () => row(1, { total: '1', args: statements, name: 'endless' }));
    };
    expect(await list(open(held(), { sql: { dialect: 'sqlite', query } }))).toHaveLength(1);
  });

  it('say what to write where a setting names it and there is no database', async () => {
    const settings = { beat_scheduler: SCHEDULER };
    const sources = celerySources({ broker: 'amqp://127.0.0.1:1', control: false, settings });
    onTestFinished(() => sources.close());
    expect(await beat(sources)).toMatchObject({
      status: 'unknown',
      config: { hints: [expect.stringMatching(/pass it as sql: \{ dialect, query \}/)] },
    });
  });

  it('say which right is missing, and are only cut off where a setting names it', async () => {
    const sources = open(failing(DENIED));
    expect(await list(sources)).toBe(null);
    expect(sources.schedules.status?.()).toMatchObject({ ok: true });
    expect((await beat(sources)).config).toMatchObject({
      hints: [expect.stringContaining('SELECT on the six tables')],
    });
    const named = open(failing(DENIED), { settings: { beat_scheduler: SCHEDULER } });
    await expect(list(named)).rejects.toMatchObject({ code: 'source_unavailable' });
    expect(await beat(named)).toMatchObject({
      status: 'unknown',
      config: { entries: null, error: expect.any(String) },
    });
  });

  it('stay as they were while the database is away, and say so', async () => {
    await expect(list(open(failing(AWAY)))).rejects.toMatchObject({ code: 'source_unavailable' });
    const tables = held(row(1));
    const sources = open(tables);
    expect(await list(sources)).toHaveLength(1);
    tables.error = { code: AWAY };
    await until(async () => {
      expect(await list(sources)).toHaveLength(1);
      return sources.schedules.status?.().ok === false;
    });
    expect(sources.schedules.status?.()).toMatchObject({ asOf: expect.any(Date) });
    expect(await beat(sources)).toMatchObject({ status: 'unknown' });
  });

  it('have no secrets', async () => {
    const kwargs = '{"user": "ann", "password": "hunter2"}';
    const shown = await list(open(held(row(1, { args: '["redis://:hunter2@host/0"]', kwargs }))));
    expect(shown).toMatchObject([{ kwargs: "{'user': 'ann', 'password': '***'}" }]);
    expect(JSON.stringify(shown)).not.toContain('hunter2');
  });

  it('say that beat is down when it has missed a run, and how to see more while that is not known', async () => {
    expect(await beat(open(held(row(1, { last_run_at: ago(10 * MINUTE) }))))).toMatchObject({
      status: 'down',
    });
    expect(await beat(open(held(row(1, { last_run_at: null, every: 7_200 }))))).toMatchObject({
      status: 'unknown',
      config: { hints: [expect.stringContaining('task_send_sent_event = True')] },
    });
  });
});

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'runs of django-celery-beat'), () => {
  it('are seen before beat has stored them', async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.close());
    const publisher = createClient({ url: redis.url() });
    await publisher.connect();
    onTestFinished(() => publisher.destroy());
    const stored = Date.now() - 130_000;
    const sources = open(held(row(1, { last_run_at: text(stored) })), { broker: redis.url() });
    await until(() => sources.tasks.status?.().ok === true);
    const nextRun = async () => (await list(sources))?.[0]?.nextRunAt?.getTime() ?? null;
    expect(await nextRun()).toBe(null);
    for (const [at, time] of [stored, stored + MINUTE, stored + 2 * MINUTE].entries()) {
      const call = { name: 'report', args: '(1,)', kwargs: '{}', retries: 0, parent_id: null };
      const event = {
        type: 'task-sent',
        uuid: `run ${at}`,
        hostname: 'gen1@vm',
        pid: 9,
        timestamp: time / 1000,
      };
      await publisher.publish('/0.celeryev/task.sent', eventMessage({ ...event, ...call }));
    }
    await until(async () => (await nextRun()) === stored + 3 * MINUTE);
  });
});

/** What is known of the runs of an entry, in seconds from now; `null`: nothing. */
interface Runs {
  readonly last: number | null;
  /** The last run of any entry that beat has stored. Default: the same. */
  readonly storedUntil?: number;
  /** When a user last changed an entry. */
  readonly updatedAt?: number;
}

const at = (seconds: number): string => text(NOW + seconds * S);

/** The entry with these columns, as the source lists it at a fixed time. */
async function shown(
  columns: Row,
  runs: Runs = { last: null },
  settings: CelerySettings = {},
): Promise<Schedule | undefined> {
  vi.useFakeTimers({ now: NOW, toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const { last, storedUntil, updatedAt } = runs;
  const base = {
    name: 'daily',
    total_run_count: 3,
    date_changed: at(-3600),
    last_run_at: last === null ? null : at(last),
  };
  const other = {
    enabled: 0,
    name: 'other',
    last_run_at: storedUntil === undefined ? null : at(storedUntil),
  };
  const rows = [row(7, { ...base, ...columns }), ...(storedUntil === undefined ? [] : [row(8, other)])];
  const updated = updatedAt === undefined ? null : at(updatedAt);
  const sources = open({ rows, error: null, updated }, { settings });
  return (await list(sources))?.find(({ name }) => name === 'daily');
}

const interval = (every: number, more: Row = {}): Row => ({ every, ...more });
const crontab = (fields: string, more: Row = {}): Row => {
  const [minute, hour, day_of_month, month_of_year, day_of_week] = fields.split(' ');
  const columns = { minute, hour, day_of_month, month_of_year, day_of_week, timezone: 'UTC' };
  return { interval_id: null, crontab_id: '2', ...columns, ...more };
};
const once = (ran: number): Row => ({ one_off: 1, total_run_count: ran });
const clocked = (seconds: number): Row => ({
  ...{ interval_id: null, clocked_id: 1, clocked_time: at(seconds), ...once(0) },
});

describe('the next run of an entry of django-celery-beat', () => {
  const start_time = at(90);
  /** In seconds from now. */
  const TABLES: Readonly<Record<string, readonly [columns: Row, runs: Runs, next: number | null][]>> = {
    'follows its last run': [
      [interval(30), { last: -10 }, 20],
      [crontab('*/5 * * * *'), { last: -1 }, 0],
      [crontab('*/5 * * * *'), { last: 0 }, 300],
      [crontab('0 13 * * *', { timezone: 'Europe/Prague' }), { last: -600 }, 84_600],
    ],
    'is not shown of one that is disabled, has run its only time, or ends before': [
      [interval(30, { enabled: 0 }), { last: -10 }, null],
      [interval(30, once(1)), { last: -10 }, null],
      [interval(30, once(0)), { last: -10 }, 20],
      [interval(30, { expires: at(20) }), { last: -10 }, null],
      [interval(30, { expires: at(21) }), { last: -10 }, 20],
    ],
    'is not before its start': [
      [interval(30, { start_time }), { last: -10 }, 90],
      [interval(30, { start_time: at(-90) }), { last: -10 }, 20],
      [clocked(9), { last: null }, 9],
    ],
    'is not known where versions of django-celery-beat differ': [
      // At its start, or at its next time after that.
      [crontab('0 7 * * *', { start_time: at(72_000) }), { last: -10 }, null],
      [crontab('0 7 * * *', { start_time }), { last: -10 }, 66_600],
      [crontab('*/5 * * * *', { start_time: at(300) }), { last: -10 }, null],
      [crontab('* * * * *', { start_time }), { last: -10 }, 90],
      [crontab('0 7 * * *', { start_time: at(63_000) }), { last: null, updatedAt: -60 }, null],
      [crontab('* * * * *', { start_time }), { last: null, updatedAt: -60 }, 90],
      // Counted from the change of the entry, or from when beat has read it.
      [interval(7200), { last: null, updatedAt: -3600 }, 3600],
      [interval(7200), { last: null, updatedAt: -60 }, null],
      [crontab('0 7 * * *'), { last: null, updatedAt: -60 }, 66_600],
      [interval(7200, { start_time }), { last: null, updatedAt: -60 }, null],
      [interval(60, { start_time }), { last: null, updatedAt: -60 }, 90],
    ],
    'was missed if beat has stored a later run of another entry': [
      [interval(60), { last: -200, storedUntil: -10 }, -140],
      [crontab('0 12 * * *'), { last: -86_400, storedUntil: -10 }, -1800],
    ],
    'is not known while beat may have run it without storing that': [
      [interval(60), { last: -200 }, null],
      [interval(60), { last: -140, storedUntil: -100 }, null],
      [interval(60, once(0)), { last: -200, storedUntil: -150 }, null],
    ],
    'is that of the next time of an overdue crontab': [
      [crontab('28 * * * *'), { last: -3600, storedUntil: -150 }, 3480],
      [crontab('28 * * * *', once(0)), { last: -3600, storedUntil: -150 }, null],
    ],
    'was missed if beat should have stored it by now': [
      [interval(60), { last: -304 }, null],
      [interval(60), { last: -305 }, -245],
      [interval(3600), { last: -4000 }, -400],
      [crontab('* * * * *'), { last: -600 }, -540],
      [crontab('0 12 * * *'), { last: -86_400 }, -1800],
      [clocked(-244), { last: null }, null],
      [clocked(-245), { last: null }, -245],
    ],
    'is shown as due for a minute': [[interval(60), { last: -110 }, -50]],
  };

  it.each(Object.entries(TABLES))('%s', async (_, rows) => {
    const next: (number | null)[] = [];
    for (const [columns, runs] of rows) {
      const found = (await shown(columns, runs))?.nextRunAt;
      next.push(found == null ? null : (found.getTime() - NOW) / S);
    }
    expect(next).toEqual(rows.map(([, , expected]) => expected));
  });

  it('was missed the later, the more rarely beat wakes up', async () => {
    const settings = { beat_max_loop_interval: 300 };
    expect((await shown(interval(60), { last: -530 }, settings))?.nextRunAt).toBe(null);
    expect((await shown(interval(60), { last: -600 }, settings))?.nextRunAt).not.toBe(null);
  });
});

describe('an entry of django-celery-beat', () => {
  it('shows once, start and end with its schedule', async () => {
    const limits = {
      one_off: 't',
      start_time: '2026-11-23T10:00:00.5Z',
      expires: '2026-12-01T00:00:00.000000',
    };
    expect((await shown(interval(30, limits)))?.schedule).toBe(
      'every 30 s, once, from 2026-11-23T10:00:00Z, until 2026-12-01T00:00:00Z',
    );
  });

  it('has crontabs in the zone of the app and times in UTC with DJANGO_CELERY_BEAT_TZ_AWARE = False', async () => {
    const entry = crontab('0 7 * * *', { timezone: 'Asia/Tokyo', last_run_at: '2026-11-23T10:00:00' });
    const zoneOf = async (settings: CelerySettings) => {
      const { timezone, lastRunAt } = (await shown(entry, { last: null }, settings)) ?? {};
      return [timezone, lastRunAt?.toISOString()];
    };
    const ten = '2026-11-23T10:00:00.000Z';
    expect(await zoneOf({})).toEqual(['Asia/Tokyo', ten]);
    const off = { DJANGO_CELERY_BEAT_TZ_AWARE: false };
    expect(await zoneOf({ ...off, timezone: 'Asia/Kolkata' })).toEqual(['Asia/Kolkata', ten]);
    expect((await zoneOf(off))[0] ?? null).toBe(null);
  });

  it('shows its arguments as Python does', async () => {
    const rows: [args: string, shown: string][] = [
      ['', '()'],
      ['[]', '()'],
      [' [1, "a", {"b": null}]', "(1, 'a', {'b': None})"],
      ['[1, ', '[1, '],
      [`["${'x'.repeat(9000)}"]`, `["${'x'.repeat(8190)}…`],
    ];
    const args: unknown[] = [];
    for (const [given] of rows) args.push((await shown(interval(30, { args: given })))?.args);
    expect(args).toEqual(rows.map(([, expected]) => expected));
  });
});
