import mysql from 'mysql2/promise';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySources, type CelerySqlOptions, celerySources } from '../../../src/celery.ts';
import { componentOf, context } from '../../helpers/celery-events.ts';
import { djangoBeatMissing, runDjango } from '../../helpers/django-beat.ts';
import { titleUnless, until } from '../../helpers/redis-server.ts';
import { codeBlocks } from '../../packaging/code-blocks.ts';
import { hintsOf, taskOf } from './postgres-lab.ts';
import { createSqlalchemyTable, storeDjango } from './result-lab.ts';
import { type AppDatabase, DATABASES } from './sql-databases.ts';

type Client = Pick<CelerySqlOptions, 'query'> & { close(): Promise<void> };

/** The user of the documentation. */
const [user, password] = ['monitor', 'change-me'];

const CLIENTS: Readonly<Record<string, (port: number) => Client>> = {
  PostgreSQL(port) {
    const pool = new pg.Pool({ host: '127.0.0.1', port, database: 'postgres', user, password, max: 1 });
    pool.on('error', () => {});
    return {
      query: (text, values) => pool.query(text, values).then(({ rows }) => rows),
      close: () => pool.end(),
    };
  },
  MariaDB(port) {
    const pool = mysql.createPool({ host: '127.0.0.1', port, user, password, database: 'shop' });
    return {
      query: (text, values) => pool.execute(text, values).then(([rows]) => rows as object[]),
      close: () => pool.end(),
    };
  },
};

/** The statements of the documentation that make the user, in this order. */
const [postgres = [], mariadb = []] = codeBlocks('docs/sql-results.md')
  .filter(({ language }) => language === 'sql')
  .map(({ text }) =>
    text
      .replaceAll(/^--.*$/gm, '')
      .split(';')
      .map((statement) => statement.trim())
      .filter((statement) => statement !== ''),
  );

const FORBIDDEN = [
  'SELECT * FROM secret',
  "INSERT INTO secret VALUES ('b')",
  "UPDATE celery_taskmeta SET status = 'FAILURE'",
  'DELETE FROM django_celery_results_taskresult',
  'UPDATE django_celery_beat_periodictask SET enabled = enabled',
  'CREATE TABLE other (id integer)',
  'DROP TABLE celery_taskmeta',
];

describe.each(
  DATABASES.flatMap(({ name, missing, open }) => {
    const client = CLIENTS[name];
    const statements = name === 'MariaDB' ? mariadb : postgres;
    return client === undefined
      ? []
      : [{ name, missing: missing ?? djangoBeatMissing, open, client, statements }];
  }),
)('the user of $name that the documentation makes', ({ name, missing, open, client, statements }) => {
  describe.skipIf(missing !== null)(titleUnless(missing, `in a real ${name}`), () => {
    let database: AppDatabase;
    let reader: Client;
    const opened: CelerySources[] = [];

    beforeAll(async () => {
      database = await open();
      const project = { database: database.django, apps: ['django_celery_results'] };
      await runDjango(project, 'run', "call_command('migrate', verbosity=0); fill()");
      await createSqlalchemyTable(database);
      await database.admin('CREATE TABLE secret (name varchar(10))');
      await storeDjango(database, { task_id: 'a', status: 'SUCCESS', result: '1' });
      await database.admin("INSERT INTO celery_taskmeta (task_id, status) VALUES ('b', 'SUCCESS')");
      for (const statement of statements) await database.admin(statement);
      reader = client(Number(database.django.PORT));
    });

    afterAll(async () => {
      for (const sources of opened) await sources.close();
      await reader?.close();
      await database?.close();
    });

    it.each([
      ['django-db', 'a'],
      ['database', 'b'],
    ])('may read results of %s and schedules', async (backend, id) => {
      const sql = { dialect: database.sql.dialect, query: reader.query };
      const sources = celerySources({ broker: 'sqs://', sql, backend });
      opened.push(sources);
      await until(async () => (await taskOf(sources, id))?.state === 'SUCCESS', 15_000);
      await until(async () => (await componentOf(sources, 'backend')).status === 'up');
      expect(await hintsOf(sources)).not.toContain('GRANT');
      expect((await sources.schedules.listSchedules(context))?.length).toBeGreaterThan(20);
      expect((await componentOf(sources, 'beat')).config).toMatchObject({ scheduler: 'django', error: null });
    });

    it.each(FORBIDDEN)('may not run %s', async (statement) => {
      await expect((async () => reader.query(statement, []))()).rejects.toThrow(/denied|must be owner/);
    });
  });
});
