import pg from 'pg';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { context } from '../../helpers/celery-events.ts';
import { postgresMissing } from '../../helpers/postgres.ts';
import { titleUnless, until } from '../../helpers/redis-server.ts';
import { type PostgresLab, usePostgresLab } from './postgres-lab.ts';
import { createDjangoTables, type DjangoRow, storeDjango } from './result-lab.ts';

const TASKS = 'django_celery_results_taskresult';
const GROUPS = 'django_celery_results_groupresult';

describe.skipIf(postgresMissing !== null)(titleUnless(postgresMissing, 'results in PostgreSQL'), () => {
  let database: PostgresLab;

  usePostgresLab((opened) => {
    database = opened;
  });

  const store = (row: DjangoRow): Promise<void> => storeDjango(database, row);

  describe('of django-celery-results', () => {
    beforeEach(() => createDjangoTables(database));

    it('are reported once each time they are written, and not if they were there before', async () => {
      await store({ task_id: 'before', status: 'SUCCESS', result: '1' });
      const watched = database.watch(database.sql);
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

    it('are reported in the order in which they were written: a failure, then those of the steps behind it', async () => {
      const watched = database.watch(database.sql);
      await until(() => watched.ups.length > 0);
      await store({ task_id: 'failed', status: 'STARTED', result: '{}' });
      await until(() => watched.statesOf('failed').length === 1);
      const columns = 'task_id, status, content_type, content_encoding, date_created, date_done';
      const step = (id: string, ms: number) =>
        `('${id}', 'FAILURE', 'application/json', 'utf-8', now(), now() + interval '${ms} milliseconds')`;
      await database.admin(
        `BEGIN; INSERT INTO ${TASKS} (${columns}) VALUES ${step('second', 2)}, ${step('first', 1)};
         UPDATE ${TASKS} SET status = 'FAILURE', date_done = now() WHERE task_id = 'failed'; COMMIT`,
      );
      await until(() => watched.tasks.length === 4);
      expect(watched.tasks.map(({ task_id: id }) => id)).toEqual(['failed', 'failed', 'first', 'second']);
    });

    it('are found when they are committed after newer ones, or by a clock that is behind', async () => {
      const watched = database.watch(database.sql);
      await until(() => watched.ups.length > 0);
      const late = new pg.Client(database.server.url(database.name));
      await late.connect();
      onTestFinished(() => late.end());
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
      const watched = database.watch(database.sql);
      await until(() => watched.ups.length > 0);
      await database.server.kill();
      await until(() => !watched.backend.published.state().up);
      const { problem } = watched.backend.published.state();
      expect(problem?.sentence).toMatch(/^The database (?:refuses connections|closed the connection)/);
      await database.server.start();
      await store({ task_id: 'meanwhile', status: 'SUCCESS', result: '1' });
      await until(() => watched.statesOf('meanwhile').length === 1, 15_000);
      await until(() => watched.backend.published.state().up);
      expect(watched.backend.published.state()).toMatchObject({ reconnects: 1, problem: null });
      expect(watched.ups).toEqual([false]);
    });

    it('are given up on in time while the database is silent', async () => {
      const watched = database.watch(database.sql, null, 100);
      await until(() => watched.ups.length > 0);
      database.server.freeze();
      try {
        await until(() => watched.backend.published.state().problem?.code === 'TimeoutError');
        const before = database.sent.length;
        expect(await watched.backend.check(AbortSignal.timeout(200))).toMatchObject({ code: 'TimeoutError' });
        // Nothing piles up in the pool of the host.
        expect(database.sent.length).toBe(before);
      } finally {
        database.server.thaw();
      }
      await until(() => watched.backend.published.state().up, 15_000);
    });

    it('are read with groups, and with the headers of chords that run', async () => {
      const dates = "'application/json', 'utf-8', now(), now()";
      const columns = 'group_id, result, content_type, content_encoding, date_created, date_done';
      const group = (id: string) =>
        `INSERT INTO ${GROUPS} (${columns}) VALUES ('${id}', '[["${id}", null], [[["m1", null], null]]]', ${dates})`;
      await database.admin(group('old'));
      const watched = database.watch(database.sql);
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
  });
});
