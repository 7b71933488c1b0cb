import { beforeEach, describe, expect, it } from 'vitest';
import { componentOf, context } from '../../helpers/celery-events.ts';
import { postgresMissing } from '../../helpers/postgres.ts';
import { titleUnless, until } from '../../helpers/redis-server.ts';
import { hintsOf, type PostgresLab, taskOf, usePostgresLab } from './postgres-lab.ts';
import { createDjangoTables, createSqlalchemyTable, type DjangoRow, storeDjango } from './result-lab.ts';

const TASKS = 'django_celery_results_taskresult';
const GROUPS = 'django_celery_results_groupresult';

describe.skipIf(postgresMissing !== null)(
  titleUnless(postgresMissing, 'a source on results in PostgreSQL alone'),
  () => {
    let database: PostgresLab;

    usePostgresLab((opened) => {
      database = opened;
    });

    const store = (row: DjangoRow): Promise<void> => storeDjango(database, row);

    describe('of django-celery-results', () => {
      beforeEach(() => createDjangoTables(database));

      it('shows what they hold, and why a result is missing', async () => {
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
        const sources = database.monitor(database.sql, { retention: { taskDays: 36_500 } });
        await until(async () => (await taskOf(sources, 'ok')) !== null);
        const ok = await taskOf(sources, 'ok');
        expect(ok).toMatchObject({
          ...{ state: 'SUCCESS', name: 'shop.add', args: '(1, 2)', worker: 'celery@a' },
          ...{ result: "{'a': [1, nan]}", finished: new Date(done), children: ['child'] },
        });
        // Rows name no parent, so that nobody knows whether there is one.
        expect(ok?.rootId ?? null).toBe(null);
        const why = async (id: string) => {
          const found = await taskOf(sources, id);
          return [found?.state, found?.result, found?.timeline?.at(-1)?.detail];
        };
        const noJson = 'The stored result is not in JSON, so it cannot be read.';
        expect(await why('pickled')).toEqual(['SUCCESS', null, noJson]);
        expect(await why('broken')).toEqual(['SUCCESS', null, noJson]);
        expect(await why('long')).toEqual(['SUCCESS', null, 'The stored result is too long to be read.']);
        expect((await taskOf(sources, 'long'))?.truncated).toEqual(['result']);
        expect(await taskOf(sources, 'waiting')).toMatchObject({ state: 'PENDING', name: 'shop.add' });
        expect(await taskOf(sources, 'step')).toMatchObject({ state: 'FAILURE', flags: ['consequence'] });
        expect(await taskOf(sources, "it's; DROP")).toBeNull();
        // Single statements with a limit, in which values are bound.
        for (const { text } of database.sent) expect(text).toMatch(/^SELECT [^;]* LIMIT \d+$/);
        expect(database.sent.some(({ values }) => values.includes("it's; DROP"))).toBe(true);
      });

      it('names the right that a user lacks', async () => {
        await database.server.createRole(`reader_${database.name}`);
        await store({ task_id: 'a', status: 'SUCCESS', result: '1' });
        const sql = database.client(`reader_${database.name}`);
        const sources = database.monitor(sql, { backend: 'django-db' });
        await until(async () => (await hintsOf(sources)).includes('GRANT'));
        expect(await hintsOf(sources)).toContain(
          `GRANT SELECT ON \\"${TASKS}\\", \\"${GROUPS}\\", \\"django_celery_results_chordcounter\\" TO <user>;`,
        );
        expect((await componentOf(sources, 'backend')).status).toBe('down');
        await database.admin(`GRANT SELECT ON ${TASKS} TO reader_${database.name}`);
        await until(async () => (await taskOf(sources, 'a'))?.state === 'SUCCESS', 15_000);
        await until(async () => (await componentOf(sources, 'backend')).status === 'up', 15_000);
        expect(await hintsOf(sources)).toContain(
          `GRANT SELECT ON \\"${GROUPS}\\", \\"django_celery_results_chordcounter\\" TO <user>;`,
        );
      });

      it('shows no secret of the client, whatever it throws', async () => {
        const sources = database.monitor({
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

    it('shows none without tables, with a hint, until there are tables', async () => {
      const sources = database.monitor(database.sql);
      await until(async () => (await hintsOf(sources)).includes('neither'));
      await until(async () => (await componentOf(sources, 'backend')).status === 'up');
      expect(sources.tasks.status?.().ok).toBe(true);
      const named = database.monitor(database.sql, { backend: 'django-db' });
      await until(async () => (await componentOf(named, 'backend')).status === 'down');
      expect((await componentOf(named, 'backend')).config.error).toBe(
        'A table does not exist in this database.',
      );
      await createDjangoTables(database);
      await store({ task_id: 'a', status: 'SUCCESS', result: '1' });
      await until(async () => (await taskOf(sources, 'a'))?.state === 'SUCCESS', 20_000);
      await until(async () => (await taskOf(named, 'a'))?.state === 'SUCCESS', 20_000);
    });

    it('shows no start of a task that started before, and that the body of a broken chord never ran', async () => {
      await createSqlalchemyTable(database, false);
      const insert = (id: string, state: string, traceback: string) =>
        database.admin(
          `INSERT INTO celery_taskmeta (task_id, status, result, traceback) VALUES ('${id}', '${state}', '\\x8004', ${traceback})`,
        );
      const joined = '  File "/lib/celery/app/builtins.py", line 78, in unlock_chord\\n    ret = j(\\n';
      const chordError = "celery.exceptions.ChordError: Dependency bad raised ValueError(\\'boom\\')\\n";
      await insert('runs', 'STARTED', 'NULL');
      await insert('body', 'FAILURE', `E'Traceback (most recent call last):\\n${joined}${chordError}'`);
      await insert('waits', 'FAILURE', `E'Traceback (most recent call last):\\n${chordError}'`);
      const sources = database.monitor(database.sql);
      await until(
        async () => (await taskOf(sources, 'waits')) !== null && (await taskOf(sources, 'runs')) !== null,
      );
      expect(await taskOf(sources, 'body')).toMatchObject({ state: 'FAILURE', flags: ['consequence'] });
      expect(await taskOf(sources, 'waits')).toMatchObject({ state: 'FAILURE', flags: [] });
      // The next polls do not take it for one that has just started.
      const polls = (): number => database.sent.filter(({ text }) => text.includes(' AS clock ')).length;
      const before = polls();
      await until(() => polls() > before + 2, 30_000);
      expect(await taskOf(sources, 'runs')).toMatchObject({ state: 'STARTED', started: null });
      await database.admin(
        "UPDATE celery_taskmeta SET status = 'SUCCESS', date_done = now() WHERE task_id = 'runs'",
      );
      await until(async () => (await taskOf(sources, 'runs'))?.state === 'SUCCESS', 15_000);
    });

    it('shows those of SQLAlchemy with a state, times and the exception of the traceback', async () => {
      await createSqlalchemyTable(database, false);
      const insert = (id: string, state: string, traceback: string) =>
        database.admin(
          `INSERT INTO celery_taskmeta (task_id, status, result, traceback, date_done) VALUES ('${id}', '${state}', '\\x8004', ${traceback}, now() AT TIME ZONE 'Asia/Tokyo')`,
        );
      await insert('failed', 'FAILURE', "E'Traceback:\\nValueError: no luck\\n'");
      const sources = database.monitor(
        { ...database.sql, timezone: 'Asia/Tokyo' },
        { backend: 'db+postgresql://x:SECRET@y/z' },
      );
      await until(async () => (await taskOf(sources, 'failed')) !== null);
      const failed = await taskOf(sources, 'failed');
      expect(failed).toMatchObject({ state: 'FAILURE', exception: "ValueError('no luck')", name: null });
      expect(Math.abs(Date.now() - Number(failed?.finished))).toBeLessThan(60_000);
      const wrong = database.monitor(database.sql);
      await until(async () => (await componentOf(wrong, 'backend')).config.table === 'celery_taskmeta');
      await until(() => wrong.tasks.status?.().ok === true);
      await insert('new', 'SUCCESS', 'NULL');
      await until(async () => (await hintsOf(wrong)).includes('9 h too late'), 15_000);
      expect(await hintsOf(wrong)).toContain("sql: { timezone: '<zone>' }");
      expect(await hintsOf(sources)).not.toContain('timezone');
      expect(JSON.stringify(await sources.components.listComponents(context))).not.toContain('SECRET');
    });
  },
);
