import { describe, expect, it, onTestFinished } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import type { TaskChange } from '../../src/history/history.ts';
import { createDjangoReader } from '../../src/sources/celery/schedules/django/django-reader.ts';
import { createSchedules, type Schedules } from '../../src/sources/celery/schedules/schedules.ts';
import type { CelerySettings } from '../../src/sources/celery/settings.ts';
import { readSqlOptions } from '../../src/sources/celery/sql/sql-options.ts';
import { createSqlReader } from '../../src/sources/celery/sql/sql-reader.ts';
import { context } from '../helpers/celery-events.ts';

const SCHEDULER = 'django_celery_beat.schedulers:DatabaseScheduler';
const MINUTE = 60_000;

type Row = Readonly<Record<string, unknown>>;

/** A database that has these entries, or fails with this error. */
interface Tables {
  rows: readonly Row[];
  error: unknown;
}

const ago = (ms: number): string => new Date(Date.now() - ms).toISOString();

/** An entry as drivers of MySQL return it. */
function row(id: number, more: Row = {}): Row {
  const interval = { interval_id: 1, every: 60, period: 'seconds' };
  const run = { last_run_at: ago(10_000), total_run_count: 5, date_changed: ago(MINUTE) };
  return {
    id,
    name: `entry ${id}`,
    task: 'report',
    enabled: 1,
    one_off: 0,
    args: '[1]',
    ...interval,
    ...run,
    ...more,
  };
}

/** What the reader asks for: the row of changes, or a page of entries. */
function answer({ rows, error }: Tables, text: string, values: readonly string[]): object[] {
  if (error !== null) throw error;
  if (!text.includes('COUNT(*)'))
    return rows.filter(({ id }) => Number(id) > Number(values[0])).slice(0, 500);
  return [{ updated: ago(MINUTE), changed: JSON.stringify(rows), total: BigInt(rows.length) }];
}

function schedulesOf(
  tables: Tables,
  settings: CelerySettings = {},
  conf: Record<string, unknown> = {},
): Schedules {
  const query = (text: string, values: string[]): object[] => answer(tables, text, values);
  const sql = readSqlOptions({ dialect: 'mysql', query }, settings);
  if (sql === null) throw new Error('There is no database.');
  const schedules = createSchedules({
    name: 'celery',
    settings,
    redbeat: { reader: null, unreadable: null },
    django: createDjangoReader(createSqlReader(sql), settings),
    conf: async () => new Map(Object.entries(conf)),
  });
  onTestFinished(() => schedules.close());
  return schedules;
}

const held = (...rows: readonly Row[]): Tables => ({ rows, error: null });
const NO_TABLE = { code: 'ER_NO_SUCH_TABLE' };
const DENIED = { code: 'ER_TABLEACCESS_DENIED_ERROR' };
const AWAY = { code: 'ECONNREFUSED' };

describe('schedules with django-celery-beat', () => {
  it('are its entries, and those that it has copied are listed once', async () => {
    const beat_schedule = {
      'entry 1': { task: 'report', schedule: 60 },
      other: { task: 'mail', schedule: 5 },
    };
    const schedules = schedulesOf(held(row(1), row(2, { enabled: 0 })), { beat_schedule });
    expect(await schedules.source.listSchedules(context)).toMatchObject([
      { id: 'django_celery_beat:1', name: 'entry 1', enabled: true, args: '(1,)', totalRunCount: 5 },
      { id: 'django_celery_beat:2', enabled: false, nextRunAt: null },
      { id: 'other', enabled: null, nextRunAt: null },
    ]);
    expect(await schedules.component()).toMatchObject({
      status: 'up',
      config: { scheduler: 'django', entries: 2, unreadable: 0 },
    });
  });

  it('are not there without its tables or entries, and the static ones are', async () => {
    const beat_schedule = { other: { task: 'mail', schedule: 5 } };
    for (const tables of [{ rows: [], error: NO_TABLE }, held()]) {
      expect(await schedulesOf(tables).source.listSchedules(context)).toBe(null);
      expect(await schedulesOf(tables, { beat_schedule }).source.listSchedules(context)).toMatchObject([
        { id: 'other', enabled: true },
      ]);
    }
  });

  it('count rows that cannot be read', async () => {
    const schedules = schedulesOf(held(row(1), row(2, { name: null })));
    expect(await schedules.source.listSchedules(context)).toHaveLength(1);
    expect(await schedules.component()).toMatchObject({ config: { entries: 2, unreadable: 1 } });
  });

  it('are not counted each time where there are very many', async () => {
    const rows = Array.from({ length: 6_000 }, (_, at) => row(at + 1));
    const texts: string[] = [];
    let updated = ago(MINUTE);
    const query = (text: string, values: string[]): object[] => {
      texts.push(text);
      return text.includes('COUNT(*)') || !text.includes('LEFT JOIN')
        ? [{ updated, changed: 'then', total: rows.length }]
        : answer(held(...rows), text, values);
    };
    const sql = readSqlOptions({ dialect: 'mysql', query }, {});
    if (sql === null) throw new Error('There is no database.');
    const reader = createDjangoReader(createSqlReader(sql), {});
    expect((await reader.read()).entries).toHaveLength(5_000);
    const begin = texts.length;
    await reader.read();
    expect(texts.slice(begin)).toEqual([expect.not.stringContaining('COUNT')]);
    rows.shift();
    updated = ago(0);
    expect((await reader.read()).total).toBe(5_999);
  });

  it('end, whatever the function of the host answers', async () => {
    let statements = 0;
    const query = (): object[] => {
      statements += 1;
      return Array.from({ length: 2_000 }, () => row(1, { total: '1', args: statements, name: 'endless' }));
    };
    const sources = celerySources({
      broker: 'redis://127.0.0.1:1',
      sql: { dialect: 'sqlite', query },
      control: false,
    });
    onTestFinished(() => sources.close());
    expect(await sources.schedules.listSchedules(context)).toHaveLength(1);
  });

  it('say what to write where a setting names it and there is no database', async () => {
    const schedules = createSchedules({
      name: 'celery',
      settings: { beat_scheduler: SCHEDULER },
      redbeat: { reader: null, unreadable: null },
      django: null,
      conf: async () => null,
    });
    expect(await schedules.component()).toMatchObject({
      enabled: true,
      status: 'unknown',
      config: { hints: [expect.stringMatching(/pass it as sql: \{ dialect, query \}/)] },
    });
  });

  it('say which right is missing, and are only cut off where a setting names it', async () => {
    const denied = { rows: [], error: DENIED };
    const schedules = schedulesOf(denied);
    expect(await schedules.source.listSchedules(context)).toBe(null);
    expect(schedules.source.status?.()).toMatchObject({ ok: true });
    expect(await schedules.component()).toMatchObject({
      enabled: false,
      config: { hints: [expect.stringContaining('SELECT on the six tables')] },
    });
    const named = schedulesOf(denied, {}, { 'a@1': { beat_scheduler: SCHEDULER } });
    await expect(named.source.listSchedules(context)).rejects.toMatchObject({ code: 'source_unavailable' });
    expect(await named.component()).toMatchObject({
      enabled: true,
      status: 'unknown',
      config: { entries: null, error: expect.any(String) },
    });
  });

  it('stay as they were while the database is away, and say so', async () => {
    const tables = held(row(1));
    const schedules = schedulesOf(tables);
    await expect(schedulesOf({ rows: [], error: AWAY }).source.listSchedules(context)).rejects.toMatchObject({
      code: 'source_unavailable',
    });
    expect(await schedules.source.listSchedules(context)).toHaveLength(1);
    tables.error = AWAY;
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(await schedules.source.listSchedules(context)).toHaveLength(1);
    expect(schedules.source.status?.()).toMatchObject({ ok: false, asOf: expect.any(Date) });
    expect(await schedules.component()).toMatchObject({ status: 'unknown' });
  });

  it('show runs that were seen before beat has stored them', async () => {
    const stored = Date.now() - 130_000;
    const schedules = schedulesOf(held(row(1, { last_run_at: new Date(stored).toISOString() })));
    const nextRun = async () =>
      (await schedules.source.listSchedules(context))?.[0]?.nextRunAt?.getTime() ?? null;
    expect(await nextRun()).toBe(null);
    const runs = [stored, stored + MINUTE, stored + 2 * MINUTE];
    runs.forEach((time, index) => {
      const facts = { name: 'report', args: '(1,)', kwargs: '{}', parentId: null };
      schedules.observe({ type: 'sent', id: `run ${index}`, time, ...facts } as unknown as TaskChange);
    });
    expect(await nextRun()).toBe(stored + 3 * MINUTE);
  });

  it('of celerySources have no secrets', async () => {
    const kwargs = '{"user": "ann", "password": "hunter2"}';
    const tables = held(row(1, { args: '["redis://:hunter2@host/0"]', kwargs }));
    const query = (text: string, values: string[]): object[] => answer(tables, text, values);
    const sources = celerySources({
      broker: 'redis://127.0.0.1:1',
      sql: { dialect: 'mysql', query },
      control: false,
    });
    onTestFinished(() => sources.close());
    const list = await sources.schedules.listSchedules(context);
    expect(list).toMatchObject([
      { id: 'django_celery_beat:1', kwargs: "{'user': 'ann', 'password': '***'}" },
    ]);
    expect(JSON.stringify(list)).not.toContain('hunter2');
  });

  it('say that beat is down when it has missed a run, and how to see more while that is not known', async () => {
    const missed = schedulesOf(held(row(1, { last_run_at: ago(10 * MINUTE) })));
    expect(await missed.component()).toMatchObject({ status: 'down' });
    const never = schedulesOf(held(row(1, { last_run_at: null, every: 7_200 })));
    expect(await never.component()).toMatchObject({
      status: 'unknown',
      config: { hints: [expect.stringContaining('task_send_sent_event = True')] },
    });
  });
});
