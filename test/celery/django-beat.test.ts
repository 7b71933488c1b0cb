import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type CelerySources, type CelerySqlOptions, celerySources } from '../../src/celery.ts';
import type { Schedule } from '../../src/model.ts';
import { componentOf, context } from '../helpers/celery-events.ts';
import { type DjangoProject, djangoBeatMissing, runDjango } from '../helpers/django-beat.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { type AppDatabase, DATABASES } from './sql/sql-databases.ts';

/** What the real scheduler decides of an entry. Times in seconds since 1970. */
interface Decision {
  readonly due: boolean;
  readonly next: number;
}

/**
 * Entries of which versions of django-celery-beat decide differently, so that nothing is told: how long after its start an
 * overdue crontab runs, in seconds, up to version 2.7 and since.
 */
const DIFFERENT: Readonly<Record<string, readonly [before: number, since: number]>> = {
  'start of a crontab': [0, 300],
  'start of a daily crontab': [0, 19 * 3600],
  'start of a crontab, never': [0, 19 * 3600],
};
const IS_SINCE = 'import django_celery_beat; result = django_celery_beat.VERSION[:2] >= (2, 8)';
/** Version 2.4 sends its tasks with an end in the past, which no worker runs. */
const ENDED = ['disabled', 'once, done', 'expires before'];
/** When those that are due had to run, in seconds after the filling. */
const DUE: Readonly<Record<string, number>> = { overdue: -140, 'clocked, overdue': -400 };

describe.each(DATABASES)('the schedule of django-celery-beat in $name', ({ open, missing: without }) => {
  const missing = djangoBeatMissing ?? without;
  describe.skipIf(missing !== null)(titleUnless(missing, 'the real tables'), () => checkDatabase(open));
});

function checkDatabase(start: () => Promise<AppDatabase>): void {
  let database: AppDatabase;
  let project: DjangoProject;
  let statements: string[];
  /** Before and after the tables were filled, which takes as long as Python takes to start. */
  let filled: { readonly from: number; readonly to: number };
  let list: readonly Schedule[];
  let sources: CelerySources;
  const monotonic = performance.now.bind(performance);
  let ahead = 0;

  beforeAll(async () => {
    database = await start();
    project = { database: database.django };
    vi.spyOn(performance, 'now').mockImplementation(() => monotonic() + ahead);
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    await database?.close();
  });

  /** Lets so much time pass that what was read is no longer fresh. */
  function outdate(): void {
    ahead += 20_000;
  }

  function open(): CelerySources {
    statements = [];
    const { query } = database.sql;
    const counted: CelerySqlOptions = {
      ...database.sql,
      query(text, values) {
        statements.push(text);
        return query(text, values);
      },
    };
    // No broker answers: this is about the tables alone.
    return celerySources({
      ...{ broker: 'amqp://127.0.0.1:1', backend: null, control: false, redact: false },
      sql: counted,
    });
  }

  const byName = (name: string): Schedule | undefined => list.find((schedule) => schedule.name === name);

  it('is not looked for again and again where there are no tables', async () => {
    const none = open();
    expect(await none.schedules.listSchedules(context)).toBe(null);
    expect(await componentOf(none, 'beat')).toMatchObject({ status: 'disabled' });
    expect(none.schedules.status?.()).toMatchObject({ ok: true });
    outdate();
    expect(await none.schedules.listSchedules(context)).toBe(null);
    expect(statements).toHaveLength(1);
    await none.close();
  });

  /** Whether a time, which may be cut or rounded up to a second, is that of the filling. */
  function expectWhenFilled(time: number): void {
    expect(time).toBeGreaterThanOrEqual(filled.from - 1500);
    expect(time).toBeLessThanOrEqual(filled.to + 1500);
  }

  it('has the next runs that the real scheduler decides', async () => {
    await runDjango(project, 'migrate');
    const from = Date.now();
    await runDjango(project, 'fill');
    filled = { from, to: Date.now() };
    sources = open();
    list = (await sources.schedules.listSchedules(context)) ?? [];
    const decisions = (await runDjango(project, 'due')) as Record<string, Decision | null>;
    expect(list.map(({ name }) => name).sort()).toEqual(Object.keys(decisions).sort());
    const wrong = list.flatMap(({ name, nextRunAt }) => {
      const decision = decisions[name];
      const next = nextRunAt === null || nextRunAt === undefined ? null : nextRunAt.getTime() / 1000;
      if (name === 'broken') return [];
      if (name === 'solar' || name in DIFFERENT || ENDED.includes(name)) {
        return next === null ? [] : [[name, next, null]];
      }
      if (decision === null || decision === undefined || next === null) return [[name, next, decision]];
      if (decision.due) return next * 1000 <= Date.now() ? [] : [[name, next, 'is due']];
      // A start is rounded up to a second. One that never ran begins when the scheduler reads it.
      const slack = name === 'never' || name === 'once' ? 60 : 1.5;
      return Math.abs(next - decision.next) <= slack ? [] : [[name, next, decision.next]];
    });
    expect(wrong).toEqual([]);
    const isSince = await runDjango(project, 'run', IS_SINCE);
    for (const [name, [before, since]] of Object.entries(DIFFERENT)) {
      const start = Date.parse(/, from (\S+)/.exec(byName(name)?.schedule ?? '')?.[1] ?? '') / 1000;
      const late = Number(decisions[name]?.next) - start - (isSince === true ? since : before);
      expect({ name, late: Math.abs(late) < 1.5 }).toEqual({ name, late: true });
    }
    for (const [name, seconds] of Object.entries(DUE)) {
      const next = byName(name)?.nextRunAt?.getTime() ?? 0;
      expectWhenFilled(next - seconds * 1000);
    }
  });

  it('shows what is stored', () => {
    expect(byName('interval')).toMatchObject({
      id: expect.stringMatching(/^django_celery_beat:\d+$/),
      task: 'shop.add',
      schedule: 'every 30 s',
      enabled: true,
      args: "(1, 2.0, 'a')",
      kwargs: "{'password': 'hunter2', 'n': None}",
      queue: null,
      timezone: 'UTC',
      totalRunCount: 3,
    });
    expectWhenFilled(Number(byName('interval')?.lastRunAt) + 10_000);
    expect(byName('hours')).toMatchObject({ schedule: 'every 2 h', queue: 'mail' });
    expect(byName('disabled')).toMatchObject({
      schedule: 'every 0.5 s',
      enabled: false,
      lastRunAt: null,
      totalRunCount: 0,
    });
    expect(byName('once, done')).toMatchObject({
      schedule: 'every 1 h, once',
      enabled: true,
      totalRunCount: 1,
    });
    expect(byName('New York')).toMatchObject({
      schedule: '30 22-3 * * mon-fri (m/h/dM/MY/d)',
      timezone: 'America/New_York',
    });
    expect(byName('clocked')?.schedule).toMatch(/^at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(byName('solar')).toMatchObject({
      schedule: 'sunset at latitude 51.5, longitude -0.12',
      nextRunAt: null,
    });
    expect(byName('start')?.schedule).toMatch(/^every 30 s, from \d{4}-/);
    expect(byName('expires later')?.schedule).toMatch(/^every 30 s, until \d{4}-/);
    expect(byName('broken')?.args).toBe('[1, ');
  });

  it('is one small statement while nothing changes, and is read again when beat stores a run', async () => {
    expect(await componentOf(sources, 'beat')).toMatchObject({
      status: 'up',
      config: { scheduler: 'django', entries: list.length, unreadable: 0, error: null, hints: [] },
    });
    const count = statements.length;
    outdate();
    await sources.schedules.listSchedules(context);
    expect(statements).toHaveLength(count + 1);
    expect(statements.at(-1)).toMatch(/^SELECT \(SELECT .* AS total FROM \S+ LIMIT 1$/);
    // What beat does: it saves the entry, and leaves last_update as it is.
    await runDjango(
      project,
      'run',
      "e = ModelEntry(PeriodicTask.objects.get(name='hours'), app=app); next(e).save()",
    );
    outdate();
    list = (await sources.schedules.listSchedules(context)) ?? [];
    expect(byName('hours')).toMatchObject({ totalRunCount: 4 });
    expect(Math.abs(Number(byName('hours')?.nextRunAt) - Date.now() - 7_200_000)).toBeLessThan(10_000);
    await runDjango(project, 'run', "PeriodicTask.objects.filter(name='solar').delete()");
    outdate();
    list = (await sources.schedules.listSchedules(context)) ?? [];
    expect(byName('solar')).toBe(undefined);
    await sources.close();
  });

  it('is bounded', { timeout: 300_000 }, async () => {
    await runDjango(project, 'many', '6000');
    const many = open();
    const rows = (await many.schedules.listSchedules(context)) ?? [];
    expect(rows).toHaveLength(5000);
    expect(rows.every(({ enabled }) => enabled)).toBe(true);
    expect(await componentOf(many, 'beat')).toMatchObject({
      config: { entries: expect.toSatisfy((n) => n > 6000) },
    });
    await many.close();
  });
}
