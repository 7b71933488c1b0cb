/** How the function of the host is asked for results, and what is said of what it answers. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { type CelerySources, type CelerySqlOptions, celerySources } from '../../../src/celery.ts';
import { componentOf, context } from '../../helpers/celery-events.ts';
import { sqliteMissing } from '../../helpers/other-node.ts';
import { titleUnless, until } from '../../helpers/redis-server.ts';
import { taskOf } from './postgres-lab.ts';
import { createDjangoTables, storeDjango } from './result-lab.ts';
import { DATABASES } from './sql-databases.ts';

type Query = (...call: Parameters<CelerySqlOptions['query']>) => unknown;

function open(query: Query, dialect: CelerySqlOptions['dialect'] = 'postgres'): CelerySources {
  const sql = { dialect, query } as CelerySqlOptions;
  const sources = celerySources({ broker: 'sqs://', sql, backend: 'django-db' });
  onTestFinished(() => sources.close());
  return sources;
}

/** What the check of the backend says is wrong. */
const errorOf = async (query: Query): Promise<string | null | undefined> =>
  (await open(query).health.checkBackend?.(context))?.error;

const SQLITE = DATABASES[2];

describe('the database of an app', () => {
  it('is asked one thing at a time, and nothing while it is silent', async () => {
    let running = 0;
    let most = 0;
    let isSilent = false;
    const sources = open(async () => {
      running += 1;
      most = Math.max(most, running);
      if (isSilent) await new Promise(() => {});
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return [];
    });
    await Promise.all(Array.from({ length: 20 }, (_, at) => taskOf(sources, `task-${at}`)));
    expect(most).toBe(1);
    await until(() => running === 0);
    isSilent = true;
    const check = async () => await sources.health.checkBackend?.({ signal: AbortSignal.timeout(50) });
    expect(await check()).toMatchObject({ ok: false, error: expect.stringContaining('does not answer') });
    expect(await check()).toMatchObject({ ok: false });
    expect(most).toBe(1);
  });

  describe.skipIf(sqliteMissing !== null)(titleUnless(sqliteMissing, 'SQLite'), () => {
    it('may be older than 3.43, which cannot count bytes', async () => {
      const database = await SQLITE.open();
      onTestFinished(() => database.close());
      await createDjangoTables(database);
      await storeDjango(database, { task_id: 'a', status: 'SUCCESS', result: '1' });
      const sources = open((text, values) => {
        if (text.includes('octet_length')) throw new Error('no such function: octet_length');
        return database.sql.query(text, values);
      }, 'sqlite');
      await until(async () => (await taskOf(sources, 'a'))?.result === '1');
    });
  });

  it.each([
    [{ code: '42501', message: 'permission denied for table x' }, /may not read a table/],
    [{ code: 'ER_TABLEACCESS_DENIED_ERROR' }, /may not read a table/],
    [{ code: '28P01' }, /refuses the user name or password/],
    [
      { code: 'ER_ACCESS_DENIED_ERROR', message: "Access denied for user 'me'@'secret'" },
      /user name or password/,
    ],
    [{ code: 'ECONNREFUSED' }, /refuses connections/],
    [{ message: '', errors: [{ code: 'ECONNREFUSED' }] }, /refuses connections/],
    [{ message: 'Failed query: secret', cause: { code: '57P01' } }, /is starting/],
    [{ message: 'Cannot use a pool after calling end on the pool' }, /has been closed/],
    [{ message: 'database is locked' }, /has locked the database/],
    [{ message: 'something secret' }, /^The client of the database has failed\.$/],
    ['a string', /^The client of the database has failed\.$/],
    [null, /^The client of the database has failed\.$/],
  ])('is explained in a sentence of our own when it fails with %j', async (error, sentence) => {
    const said = await errorOf(() => {
      throw error;
    });
    expect(said).toMatch(sentence);
    expect(said).not.toMatch(/secret|for table x/);
  });

  it.each([undefined, { rows: [] }, [[{ one: 1 }], []], [1]])(
    'needs a function that resolves to rows, unlike %j',
    async (answer) => {
      expect(await errorOf(() => answer)).toContain('rows as objects');
    },
  );

  it.each([{ code: '42P01' }, { message: 'no such table: celery_taskmeta' }])(
    'is told to lack a table where it fails with %j',
    async (error) => {
      const sources = open(() => {
        throw error;
      });
      const config = async () => (await componentOf(sources, 'backend')).config;
      await until(async () => (await config()).error === 'A table does not exist in this database.');
    },
  );
});
