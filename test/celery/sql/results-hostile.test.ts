import { describe, expect, it } from 'vitest';
import type { CelerySqlOptions } from '../../../src/celery.ts';
import { context } from '../../helpers/celery-events.ts';
import { postgresMissing } from '../../helpers/postgres.ts';
import { titleUnless, until } from '../../helpers/redis-server.ts';
import { type PostgresLab, usePostgresLab } from './postgres-lab.ts';
import { createDjangoTables, createSqlalchemyTable, storeDjango, type Watched } from './result-lab.ts';

const TASKS = 'django_celery_results_taskresult';
const COLUMNS = 'task_id, status, content_type, content_encoding, date_created, date_done';

/** Rows of SUCCESS, all with one date. */
const rows = (prefix: string, count: number, date: string): string =>
  `INSERT INTO ${TASKS} (${COLUMNS}) SELECT '${prefix}-' || n, 'SUCCESS', 'application/json', 'utf-8', ${date}, ${date} FROM generate_series(1, ${count}) AS n`;

describe.skipIf(postgresMissing !== null)(
  titleUnless(postgresMissing, 'rows of results that nobody expects do not stop the others'),
  () => {
    let database: PostgresLab;
    usePostgresLab((opened) => {
      database = opened;
    });

    async function watch(query: CelerySqlOptions['query'] = database.sql.query): Promise<Watched> {
      const watched = database.watch({ ...database.sql, query });
      await until(() => watched.ups.length > 0);
      return watched;
    }

    it('thousands that one statement dates alike', async () => {
      await createDjangoTables(database);
      await database.admin(rows('old', 6_000, "now() - interval '1 hour'"));
      const watched = await watch();
      await database.admin(`UPDATE ${TASKS} SET status = 'FAILURE', date_done = now()`);
      await until(() => watched.tasks.length >= 6_000, 15_000);
      expect(new Set(watched.tasks.map(({ task_id: id }) => id)).size).toBe(6_000);
      await database.admin(rows('new', 1, 'now()'));
      await database.admin(
        `UPDATE ${TASKS} SET status = 'REVOKED', date_done = now() WHERE task_id = 'old-7'`,
      );
      await until(
        () => watched.statesOf('new-1').length > 0 && watched.statesOf('old-7').includes('REVOKED'),
      );
    });

    it('thousands that are dated in the future, which are not read again and again', async () => {
      await createDjangoTables(database);
      await database.admin(rows('old', 10, "now() - interval '1 hour'"));
      await database.admin(rows('future', 6_000, "now() + interval '9 hours'"));
      const watched = await watch();
      const begin = database.sent.length;
      await until(() => database.sent.length - begin > 40);
      const sent = database.sent.slice(begin).map(({ text }) => text);
      const pages = sent.filter((text) => text.includes('ORDER BY "date_done"')).length;
      expect(pages).toBeLessThanOrEqual(sent.filter((text) => text.includes('AS clock')).length + 1);
      await database.admin(
        `UPDATE ${TASKS} SET status = 'FAILURE', date_done = now() WHERE task_id = 'old-7'`,
      );
      await until(() => watched.statesOf('old-7').includes('FAILURE'));
      expect(watched.tasks).toHaveLength(1);
    });

    it('those without an id', async () => {
      await createSqlalchemyTable(database);
      const insert = (id: string, count: number) =>
        database.admin(
          `INSERT INTO celery_taskmeta (task_id, status, date_done) SELECT ${id}, 'SUCCESS', now() FROM generate_series(1, ${count}) AS n`,
        );
      await insert("'first-' || n", 10);
      await insert('NULL', 1_200);
      const watched = await watch();
      await insert('NULL', 1_200);
      await insert("'last-' || n", 1);
      await until(() => watched.statesOf('last-1').length > 0);
      const scanned: string[] = [];
      const select = async (ids: readonly string[]) => {
        scanned.push(...ids);
        return [];
      };
      let from: string | null = null;
      do from = (await watched.backend.stored.scan(from, select, context.signal)).next;
      while (from !== null);
      expect(scanned).toHaveLength(11);
    });

    it('one whose key JavaScript cannot hold', async () => {
      await createDjangoTables(database);
      await database.admin(`ALTER TABLE ${TASKS} ALTER id TYPE bigint`);
      await storeDjango(database, { task_id: 'before', status: 'SUCCESS', result: '1' });
      const watched = await watch();
      await database.admin(
        `INSERT INTO ${TASKS} (id, ${COLUMNS}) VALUES (9223372036854775807, 'huge', 'SUCCESS', 'application/json', 'utf-8', now(), now())`,
      );
      await storeDjango(database, { task_id: 'after', status: 'SUCCESS', result: '1' });
      await until(() => watched.statesOf('after').length > 0);
      expect(watched.backend.published.state().up).toBe(true);
      const scanned: string[] = [];
      const select = async (ids: readonly string[]) => {
        scanned.push(...ids);
        return [];
      };
      await watched.backend.stored.scan(null, select, context.signal);
      expect(scanned).toEqual(['after', 'before']);
    });

    it('ids that the database cannot hold', async () => {
      await createDjangoTables(database);
      await storeDjango(database, { task_id: 'good', status: 'SUCCESS', result: '1' });
      const watched = await watch();
      const found: string[] = [];
      for await (const part of watched.backend.stored.find(['a\0b', 'good'], context.signal))
        found.push(...part.map(({ id }) => id));
      expect(found).toEqual(['good']);
    });

    it('one is reported although the database is lost after it was found', async () => {
      await createDjangoTables(database);
      let failures = 1;
      const watched = await watch(async (text, values) => {
        if (text.includes('traceback') && text.includes(' IN (') && failures-- > 0)
          throw Object.assign(new Error(), { code: 'ECONNRESET' });
        return database.sql.query(text, values);
      });
      await storeDjango(database, { task_id: 'a', status: 'SUCCESS', result: '1' });
      await until(() => watched.statesOf('a').length > 0, 15_000);
      expect(failures).toBeLessThan(0);
    });

    it('one whose values cannot be read', async () => {
      await createDjangoTables(database);
      const watched = await watch(async (text, values) => {
        if (text.includes('traceback') && values.includes('bad')) throw new Error('cannot be converted');
        return database.sql.query(text, values);
      });
      await database.admin(
        `INSERT INTO ${TASKS} (${COLUMNS}) SELECT id, 'SUCCESS', 'application/json', 'utf-8', now(), now() FROM unnest(ARRAY['bad', 'good']) AS id`,
      );
      await until(() => watched.statesOf('good').length > 0, 15_000);
      expect(watched.statesOf('bad')).toEqual([]);
    });

    it('one whose columns are each as long as they may be, which is cut', async () => {
      await createDjangoTables(database);
      const watched = await watch();
      const long = 'x'.repeat(65_000);
      await storeDjango(database, {
        ...{ task_id: 'long', status: 'SUCCESS', task_args: `"${long}"`, traceback: '"'.repeat(65_000) },
        result: `[${'1,'.repeat(130_000)}1]`,
        meta: `{"children": [${'[["child", null], null],'.repeat(10_000)} null]}`,
      });
      await until(() => watched.statesOf('long').length > 0);
      const [text = {}] = watched.tasks;
      expect(Object.keys(text)).toEqual(expect.arrayContaining(['result', 'traceback']));
      expect(text).not.toHaveProperty('children');
      expect(text).toMatchObject({ status: 'SUCCESS', monitor_cut: ['args'] });
      expect(JSON.stringify(text).length).toBeLessThan(400_000);
    });

    it('long groups, which are taken in over several turns of the event loop', async () => {
      await createDjangoTables(database);
      let turn = 0;
      let isOpen = true;
      const next = (): void => {
        turn += 1;
        if (isOpen) setImmediate(next);
      };
      next();
      const turns: number[] = [];
      const { ups } = database.watch(database.sql, null, undefined, () => {
        turns.push(turn);
        const end = performance.now() + 11;
        while (performance.now() < end);
      });
      await until(() => ups.length > 0);
      await database.admin(
        `INSERT INTO django_celery_results_chordcounter (group_id, sub_tasks, count) SELECT 'chord-' || n, '[]', 1 FROM generate_series(1, 8) AS n`,
      );
      await until(() => turns.length === 8);
      isOpen = false;
      expect(new Set(turns).size).toBeGreaterThanOrEqual(7);
    });
  },
);
