import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type CelerySources, type CelerySourcesOptions, celerySources } from '../../../src/celery.ts';
import { componentOf, context } from '../../helpers/celery-events.ts';
import { type PostgresServer, postgresMissing, startPostgres } from '../../helpers/postgres.ts';
import { titleUnless, until } from '../../helpers/redis-server.ts';
import {
  createDjangoTables,
  createSqlalchemyTable,
  type DjangoRow,
  storeDjango,
  type Watched,
  watchResults,
} from './result-lab.ts';
import { checkPlans, fillResults } from './results-plans.ts';
import type { AppDatabase } from './sql-databases.ts';

const TASKS = 'django_celery_results_taskresult';
const GROUPS = 'django_celery_results_groupresult';

describe.skipIf(postgresMissing !== null)(titleUnless(postgresMissing, 'results in PostgreSQL'), () => {
  let server: PostgresServer;
  let database: AppDatabase & { client(role: string): AppDatabase['sql'] };
  let count = 0;
  const opened: { close(): unknown }[] = [];

  beforeAll(async () => {
    server = await startPostgres();
  });

  beforeEach(async () => {
    database = await open(`db${++count}`);
  });

  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close();
    await database.close();
  });

  afterAll(() => server?.close());

  async function open(name: string): Promise<typeof database> {
    await server.createDatabase(name);
    const pools: pg.Pool[] = [];
    const sent: { text: string; values: readonly string[] }[] = [];
    const client = (role: string): AppDatabase['sql'] => {
      const pool = new pg.Pool({ connectionString: server.url(name, role), max: 2 });
      pool.on('error', () => {});
      pools.push(pool);
      return {
        dialect: 'postgres',
        query(text, values) {
          sent.push({ text, values });
          return pool.query(text, values).then(({ rows }) => rows as object[]);
        },
      };
    };
    return {
      ...{ django: {}, sqlalchemy: '', sent, client, sql: client('postgres') },
      admin: (text) => server.query(text, [], name),
      close: async () => void (await Promise.all(pools.map((pool) => pool.end()))),
    };
  }

  function watch(...args: Parameters<typeof watchResults>): Watched {
    const watched = watchResults(...args);
    opened.push(watched);
    return watched;
  }

  function monitor(sql: AppDatabase['sql'], options: Partial<CelerySourcesOptions> = {}): CelerySources {
    const sources = celerySources({ broker: 'sqs://', sql, ...options });
    opened.push(sources);
    return sources;
  }

  const store = (row: DjangoRow): Promise<void> => storeDjango(database, row);
  const task = async (sources: CelerySources, id: string) => sources.tasks.getTask(id, context);
  const hintsOf = async (sources: CelerySources): Promise<string> =>
    JSON.stringify((await componentOf(sources, 'backend')).config.hints);

  it('are found by indexes alone', async () => {
    await fillResults(database, 'django');
    await checkPlans(database, 'django');
  });

  describe('of django-celery-results', () => {
    beforeEach(() => createDjangoTables(database));

    it('are reported once each time they are written, and not if they were there before', async () => {
      await store({ task_id: 'before', status: 'SUCCESS', result: '1' });
      const watched = watch(database.sql);
      await until(() => watched.ups.length > 0);
      await store({ task_id: 'a', status: 'STARTED', result: '{"pid": 1}' });
      await until(() => watched.statesOf('a').length === 1);
      await database.admin(`UPDATE ${TASKS} SET status = 'SUCCESS', date_done = now() WHERE task_id = 'a'`);
      await until(() => watched.statesOf('a').length === 2);
      await store({ task_id: 'last', status: 'SUCCESS', result: '2' });
      await until(() => watched.statesOf('last').length === 1);
      expect(watched.tasks.map(({ task_id: id, status }) => [id, status])).toEqual([
        ['a', 'STARTED'],
        ['a', 'SUCCESS'],
        ['last', 'SUCCESS'],
      ]);
    });

    it('are found when they are committed after newer ones, or by a clock that is behind', async () => {
      const watched = watch(database.sql);
      await until(() => watched.ups.length > 0);
      const late = new pg.Client(server.url(`db${count}`));
      await late.connect();
      opened.push({ close: () => late.end() });
      await late.query('BEGIN');
      const columns = 'task_id, status, content_type, content_encoding, date_created, date_done';
      const insert = (id: string, date: string) =>
        `INSERT INTO ${TASKS} (${columns}) VALUES ('${id}', 'SUCCESS', 'application/json', 'utf-8', ${date}, ${date})`;
      await late.query(insert('late', "now() - interval '1 hour'"));
      await database.admin(insert('newer', 'now()'));
      await until(() => watched.statesOf('newer').length === 1);
      await late.query('COMMIT');
      await until(() => watched.statesOf('late').length === 1);
      await database.admin(insert('ahead', "now() + interval '1 hour'"));
      await until(() => watched.statesOf('ahead').length === 1);
      // A result of another clock does not hide those of this one.
      await database.admin(
        `UPDATE ${TASKS} SET status = 'FAILURE', date_done = now() WHERE task_id = 'newer'`,
      );
      await until(() => watched.statesOf('newer').includes('FAILURE'));
    });

    it('are read after an outage as if there had been none', async () => {
      const watched = watch(database.sql);
      await until(() => watched.ups.length > 0);
      await server.kill();
      await until(() => !watched.backend.published.state().up);
      const { problem } = watched.backend.published.state();
      expect(problem?.sentence).toMatch(/^The database (?:refuses connections|closed the connection)/);
      await server.start();
      await store({ task_id: 'meanwhile', status: 'SUCCESS', result: '1' });
      await until(() => watched.statesOf('meanwhile').length === 1, 15_000);
      await until(() => watched.backend.published.state().up);
      expect(watched.backend.published.state()).toMatchObject({ reconnects: 1, problem: null });
      expect(watched.ups).toEqual([false]);
    });

    it('are given up on in time while the database is silent', async () => {
      const watched = watch(database.sql, null, 100);
      await until(() => watched.ups.length > 0);
      server.freeze();
      try {
        await until(() => watched.backend.published.state().problem?.code === 'TimeoutError');
        const before = database.sent.length;
        expect(await watched.backend.check(AbortSignal.timeout(200))).toMatchObject({ code: 'TimeoutError' });
        // Nothing piles up in the pool of the host.
        expect(database.sent.length).toBe(before);
      } finally {
        server.thaw();
      }
      await until(() => watched.backend.published.state().up, 15_000);
    });

    it('are read with groups, and with the headers of chords that run', async () => {
      const dates = "'application/json', 'utf-8', now(), now()";
      const columns = 'group_id, result, content_type, content_encoding, date_created, date_done';
      const group = (id: string) =>
        `INSERT INTO ${GROUPS} (${columns}) VALUES ('${id}', '[["${id}", null], [[["m1", null], null]]]', ${dates})`;
      await database.admin(group('old'));
      const watched = watch(database.sql);
      await until(() => watched.ups.length > 0);
      await database.admin(group('new'));
      await database.admin(
        `INSERT INTO django_celery_results_chordcounter (group_id, sub_tasks, count) VALUES ('chord', '[[["h1", null], null]]', 1)`,
      );
      await until(() => watched.groups.length === 2);
      expect(watched.groups).toEqual([
        { id: 'new', text: '{"result": [["new", null], [[["m1", null], null]]]}' },
        { id: 'chord', text: '{"result": [["chord", null], [[["h1", null], null]]]}' },
      ]);
      const step = await watched.backend.stored.scan(null, async (ids) => ids, context.signal);
      const stored: string[] = [];
      for await (const part of step.parts) stored.push(...part.groups.map(({ text }) => text));
      expect(stored.map((text) => /"(\w+)"/.exec(text.slice(9))?.[1])).toEqual(['new', 'old', 'chord']);
    });

    it('show what they hold, and why a result is missing', async () => {
      const done = Date.parse('2026-11-23T01:02:03.456Z');
      await store({
        task_id: 'ok',
        status: 'SUCCESS',
        task_name: 'shop.add',
        task_args: '"(1, 2)"',
        worker: 'celery@a',
        result: '{"a": [1, NaN]}',
        meta: '{"children": [[["child", ["ok", null]], null]]}',
        done,
      });
      await store({
        task_id: 'pickled',
        status: 'SUCCESS',
        result: 'gAWVBQ==',
        content_type: 'application/x-python-serialize',
        content_encoding: 'binary',
      });
      await store({ task_id: 'long', status: 'SUCCESS', result: `"${'x'.repeat(300_000)}"` });
      await store({ task_id: 'broken', status: 'SUCCESS', result: '{"a": ' });
      await store({ task_id: 'waiting', status: 'PENDING', task_name: 'shop.add', created: done, done });
      await store({
        task_id: 'step',
        status: 'FAILURE',
        task_name: 'shop.add',
        result: '{}',
        done,
        created: done,
      });
      const sources = monitor(database.sql, { retention: { maxAgeMs: 100 * 365 * 86_400_000 } });
      await until(async () => (await task(sources, 'ok')) !== null);
      const ok = await task(sources, 'ok');
      expect(ok).toMatchObject({
        ...{ state: 'SUCCESS', name: 'shop.add', args: '(1, 2)', worker: 'celery@a' },
        ...{ result: "{'a': [1, nan]}", finished: new Date(done), children: ['child'] },
      });
      // Rows name no parent, so that nobody knows whether there is one.
      expect(ok?.rootId ?? null).toBe(null);
      const why = async (id: string) => {
        const found = await task(sources, id);
        return [found?.state, found?.result, found?.timeline?.at(-1)?.detail];
      };
      const noJson = 'The stored result is not in JSON, so it cannot be read.';
      expect(await why('pickled')).toEqual(['SUCCESS', null, noJson]);
      expect(await why('broken')).toEqual(['SUCCESS', null, noJson]);
      expect(await why('long')).toEqual(['SUCCESS', null, 'The stored result is too long to be read.']);
      expect((await task(sources, 'long'))?.truncated).toEqual(['result']);
      expect(await task(sources, 'waiting')).toMatchObject({ state: 'PENDING', name: 'shop.add' });
      expect(await task(sources, 'step')).toMatchObject({ state: 'FAILURE', flags: ['consequence'] });
    });

    it('name the right that a user lacks', async () => {
      await server.createRole(`reader${count}`);
      await store({ task_id: 'a', status: 'SUCCESS', result: '1' });
      const sql = database.client(`reader${count}`);
      const sources = monitor(sql, { backend: 'django-db' });
      await until(async () => (await hintsOf(sources)).includes('GRANT'));
      expect(await hintsOf(sources)).toContain(
        `GRANT SELECT ON \\"${TASKS}\\", \\"${GROUPS}\\", \\"django_celery_results_chordcounter\\" TO <user>;`,
      );
      expect((await componentOf(sources, 'backend')).status).toBe('down');
      await database.admin(`GRANT SELECT ON ${TASKS} TO reader${count}`);
      await until(async () => (await task(sources, 'a'))?.state === 'SUCCESS', 15_000);
      await until(async () => (await componentOf(sources, 'backend')).status === 'up', 15_000);
      expect(await hintsOf(sources)).toContain(
        `GRANT SELECT ON \\"${GROUPS}\\", \\"django_celery_results_chordcounter\\" TO <user>;`,
      );
    });

    it('show no secret of the client, whatever it throws', async () => {
      const sources = monitor({
        dialect: 'postgres',
        query: () => Promise.reject(new Error('connect postgres://me:hunter2@db.internal/shop failed')),
      });
      await until(async () => (await componentOf(sources, 'backend')).status === 'down');
      const shown = JSON.stringify([
        await sources.components.listComponents(context),
        sources.tasks.status?.(),
      ]);
      expect(shown).toContain('The client of the database has failed.');
      expect(shown).not.toMatch(/hunter2|db\.internal/);
    });
  });

  it('of an app without tables are none, with a hint, until there are tables', async () => {
    const sources = monitor(database.sql);
    await until(async () => (await hintsOf(sources)).includes('neither'));
    await until(async () => (await componentOf(sources, 'backend')).status === 'up');
    expect(sources.tasks.status?.().ok).toBe(true);
    const named = monitor(database.sql, { backend: 'django-db' });
    await until(async () => (await componentOf(named, 'backend')).status === 'down');
    expect((await componentOf(named, 'backend')).config.error).toBe(
      'A table does not exist in this database.',
    );
    await createDjangoTables(database);
    await store({ task_id: 'a', status: 'SUCCESS', result: '1' });
    await until(async () => (await task(sources, 'a'))?.state === 'SUCCESS', 20_000);
    await until(async () => (await task(named, 'a'))?.state === 'SUCCESS', 20_000);
  });

  it('of SQLAlchemy without further columns have a state, times and the exception of the traceback', async () => {
    await createSqlalchemyTable(database, false);
    const insert = (id: string, state: string, traceback: string) =>
      database.admin(
        `INSERT INTO celery_taskmeta (task_id, status, result, traceback, date_done) VALUES ('${id}', '${state}', '\\x8004', ${traceback}, now() AT TIME ZONE 'Asia/Tokyo')`,
      );
    await insert('failed', 'FAILURE', "E'Traceback:\\nValueError: no luck\\n'");
    const sources = monitor(
      { ...database.sql, timezone: 'Asia/Tokyo' },
      { backend: 'db+postgresql://x:SECRET@y/z' },
    );
    await until(async () => (await task(sources, 'failed')) !== null);
    const failed = await task(sources, 'failed');
    expect(failed).toMatchObject({ state: 'FAILURE', exception: "ValueError('no luck')", name: null });
    expect(Math.abs(Date.now() - Number(failed?.finished))).toBeLessThan(60_000);
    const wrong = monitor(database.sql);
    await until(async () => (await componentOf(wrong, 'backend')).config.table === 'celery_taskmeta');
    await until(() => wrong.tasks.status?.().ok === true);
    await insert('new', 'SUCCESS', 'NULL');
    await until(async () => (await hintsOf(wrong)).includes('9 h too late'), 15_000);
    expect(await hintsOf(wrong)).toContain("sql: { timezone: '<zone>' }");
    expect(await hintsOf(sources)).not.toContain('timezone');
    expect(JSON.stringify(await sources.components.listComponents(context))).not.toContain('SECRET');
  });
});
