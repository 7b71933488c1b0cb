/** How the function of the host is asked for results, and what is said of what it answers. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { type CelerySources, type CelerySqlOptions, celerySources } from '../../../src/celery.ts';
import { readSqlOptions } from '../../../src/sources/celery/sql/sql-options.ts';
import { createSqlReader, type SqlReader } from '../../../src/sources/celery/sql/sql-reader.ts';
import { parseSqlTime } from '../../../src/sources/celery/sql/sql-values.ts';
import { componentOf, context } from '../../helpers/celery-events.ts';
import { until } from '../../helpers/redis-server.ts';
import { taskOf } from './postgres-lab.ts';

type Query = (...call: Parameters<CelerySqlOptions['query']>) => unknown;

function open(query: Query): CelerySources {
  const sql = { dialect: 'postgres', query } as CelerySqlOptions;
  const sources = celerySources({ broker: 'sqs://', sql, backend: 'django-db' });
  onTestFinished(() => sources.close());
  return sources;
}

/** What the check of the backend says is wrong. */
const errorOf = async (query: Query): Promise<string | null | undefined> =>
  (await open(query).health.checkBackend?.(context))?.error;

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

describe('the reader of a database', () => {
  function readerOf(query: CelerySqlOptions['query'], timeoutMs?: number): SqlReader {
    const options = readSqlOptions({ dialect: 'postgres', query }, {});
    if (options === null) throw new Error('there are options');
    return createSqlReader(options, timeoutMs);
  }
  const ONE = { text: 'SELECT 1 AS one', limit: 1 };

  it.each(['DELETE FROM a', 'SELECT 1; DROP TABLE a', 'WITH a AS (DELETE FROM b) SELECT 1', ' SELECT 1'])(
    'runs a single SELECT and nothing else: %s',
    async (text) => {
      const reader = readerOf(() => []);
      await expect(reader.select({ text, limit: 1 })).rejects.toThrow(TypeError);
      expect(reader.requests()).toBe(0);
    },
  );

  it('sends nothing to a database that is silent until it has answered', async () => {
    let answer: (rows: object[]) => void = () => {};
    const reader = readerOf(() => new Promise((resolve) => (answer = resolve)), 20);
    await expect(reader.select(ONE)).rejects.toThrow();
    expect(reader.state()).toMatchObject({ up: false, problem: { code: 'TimeoutError' } });
    await expect(reader.select(ONE, AbortSignal.timeout(50))).rejects.toThrow();
    expect(reader.requests()).toBe(1);
    answer([]);
    await new Promise((resolve) => setImmediate(resolve));
    const later = reader.select(ONE);
    while (reader.requests() < 2) await new Promise((resolve) => setImmediate(resolve));
    answer([{ one: 1 }]);
    expect(await later).toEqual([{ one: 1 }]);
    expect(reader.state()).toMatchObject({ up: true, problem: null });
  });

  it('refuses statements after it was closed', async () => {
    const reader = readerOf(() => []);
    reader.close();
    await expect(reader.select(ONE)).rejects.toThrow();
    expect(reader.requests()).toBe(0);
  });

  it('finds sizes in a SQLite before 3.43, and asks for what it lacks once', async () => {
    const asked: string[] = [];
    const options = readSqlOptions(
      {
        dialect: 'sqlite',
        query(text: string) {
          asked.push(text);
          if (text.includes('octet_length')) throw new Error('no such function: octet_length');
          return [{ n: 1 }];
        },
      },
      {},
    );
    if (options === null) throw new Error('there are options');
    const reader = createSqlReader(options);
    const statement = { text: `SELECT ${reader.dialect.size('"a"')} AS n FROM b`, limit: 1 };
    expect(await reader.select(statement)).toEqual([{ n: 1 }]);
    expect(await reader.select(statement)).toEqual([{ n: 1 }]);
    const old = 'SELECT length(CAST("a" AS BLOB)) AS n FROM b LIMIT 1';
    expect(asked).toEqual(['SELECT octet_length("a") AS n FROM b LIMIT 1', old, old]);
  });
});

describe('dates of a database', () => {
  it.each([
    ['2026-11-23T01:02:03.456789Z', 'Europe/Prague', '2026-11-23T01:02:03.456Z'],
    ['2026-11-23T01:02:03.456789', 'UTC', '2026-11-23T01:02:03.456Z'],
    ['2026-11-23T01:02:03', 'Europe/Prague', '2026-11-23T00:02:03.000Z'],
    ['2026-07-23T01:02:03', 'Europe/Prague', '2026-07-22T23:02:03.000Z'],
  ])('are read in their zone: %s in %s', (text, zone, moment) => {
    expect(new Date(parseSqlTime(text, zone) ?? Number.NaN).toISOString()).toBe(moment);
  });

  it.each(['', 'infinity', '0000-00-00T00:00:00', 'yesterday'])(
    'are null where they are none: %j',
    (text) => {
      expect(parseSqlTime(text, 'UTC')).toBe(null);
    },
  );
});
