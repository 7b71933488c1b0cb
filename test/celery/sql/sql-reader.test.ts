import { describe, expect, it } from 'vitest';
import type { CelerySqlQuery } from '../../../src/celery.ts';
import { problemOf } from '../../../src/sources/celery/problem.ts';
import { readSqlOptions } from '../../../src/sources/celery/sql/sql-options.ts';
import { createSqlReader, type SqlReader } from '../../../src/sources/celery/sql/sql-reader.ts';
import { parseSqlTime } from '../../../src/sources/celery/sql/sql-values.ts';

function readerOf(query: CelerySqlQuery, timeoutMs?: number, dialect = 'postgres'): SqlReader {
  const options = readSqlOptions({ dialect, query }, {});
  if (options === null) throw new Error('there are options');
  return createSqlReader(options, timeoutMs);
}

const codeOf = (promise: Promise<unknown>): Promise<string | null> =>
  promise.then(
    () => null,
    (error: unknown) => problemOf(error).code,
  );

const ONE = { text: 'SELECT 1 AS one', limit: 1 };

describe('the reader of a database', () => {
  it('writes the placeholders of the dialect and a limit, and binds texts', async () => {
    const asked: unknown[] = [];
    const query: CelerySqlQuery = (...call) => {
      asked.push(call);
      return [];
    };
    const statement = { text: 'SELECT a FROM b WHERE c = ? AND d = ?', values: ['x', '1'], limit: 7 };
    await readerOf(query).select(statement);
    await readerOf(query, undefined, 'mysql').select(statement);
    expect(asked).toEqual([
      ['SELECT a FROM b WHERE c = $1 AND d = $2 LIMIT 7', ['x', '1']],
      ['SELECT a FROM b WHERE c = ? AND d = ? LIMIT 7', ['x', '1']],
    ]);
  });

  it('finds sizes in a SQLite before 3.43, too', async () => {
    const asked: string[] = [];
    const query: CelerySqlQuery = (text) => {
      asked.push(text);
      if (text.includes('octet_length')) throw new Error('no such function: octet_length');
      return [{ n: 1 }];
    };
    const reader = readerOf(query, undefined, 'sqlite');
    const statement = { text: `SELECT ${reader.dialect.size('"a"')} AS n FROM b`, limit: 1 };
    expect(await reader.select(statement)).toEqual([{ n: 1 }]);
    expect(await reader.select(statement)).toEqual([{ n: 1 }]);
    const old = 'SELECT length(CAST("a" AS BLOB)) AS n FROM b LIMIT 1';
    expect(asked).toEqual(['SELECT octet_length("a") AS n FROM b LIMIT 1', old, old]);
  });

  it.each(['DELETE FROM a', 'SELECT 1; DROP TABLE a', 'WITH a AS (DELETE FROM b) SELECT 1', ' SELECT 1'])(
    'runs a single SELECT and nothing else: %s',
    async (text) => {
      const reader = readerOf(() => []);
      await expect(reader.select({ text, limit: 1 })).rejects.toThrow(TypeError);
      expect(reader.requests()).toBe(0);
    },
  );

  it('runs one statement at a time, in order', async () => {
    let running = 0;
    const texts: string[] = [];
    const reader = readerOf(async (text) => {
      running += 1;
      expect(running).toBe(1);
      texts.push(text);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return [];
    });
    await Promise.all([1, 2, 3].map((n) => reader.select({ text: `SELECT ${n} AS one`, limit: 1 })));
    expect(texts).toEqual([1, 2, 3].map((n) => `SELECT ${n} AS one LIMIT 1`));
  });

  it('gives up on a database that is silent, and sends nothing more until it has answered', async () => {
    let answer: (rows: object[]) => void = () => {};
    const reader = readerOf(
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
      20,
    );
    expect(await codeOf(reader.select(ONE))).toBe('TimeoutError');
    expect(reader.state()).toMatchObject({ up: false, problem: { code: 'TimeoutError' } });
    const next = reader.select(ONE, AbortSignal.timeout(50));
    expect(await codeOf(next)).toBe('TimeoutError');
    expect(reader.requests()).toBe(1);
    answer([]);
    await new Promise((resolve) => setImmediate(resolve));
    const later = reader.select(ONE);
    while (reader.requests() < 2) await new Promise((resolve) => setImmediate(resolve));
    answer([{ one: 1 }]);
    expect(await later).toEqual([{ one: 1 }]);
    expect(reader.state()).toMatchObject({ up: true, problem: null });
  });

  it.each([
    [{ code: '42501', message: 'permission denied for table x' }, 'NOPERM'],
    [{ code: 'ER_TABLEACCESS_DENIED_ERROR' }, 'NOPERM'],
    [{ code: '42P01' }, 'NOTABLE'],
    [{ message: 'no such table: celery_taskmeta' }, 'NOTABLE'],
    [{ code: '28P01' }, 'WRONGPASS'],
    [{ code: 'ER_ACCESS_DENIED_ERROR', message: "Access denied for user 'me'@'secret'" }, 'WRONGPASS'],
    [{ code: 'ECONNREFUSED' }, 'ECONNREFUSED'],
    [{ message: '', errors: [{ code: 'ECONNREFUSED' }] }, 'ECONNREFUSED'],
    [{ message: 'Failed query: secret', cause: { code: '57P01' } }, 'STARTING'],
    [{ message: 'Cannot use a pool after calling end on the pool' }, 'POOLCLOSED'],
    [{ message: 'database is locked' }, 'LOCKED'],
    [{ message: 'something secret' }, 'UNKNOWN'],
    ['a string', 'UNKNOWN'],
    [null, 'UNKNOWN'],
  ])('shows its own sentence for %j', async (error, code) => {
    const reader = readerOf(() => {
      throw error;
    });
    const problem = await reader.check();
    expect(problem?.code).toBe(code);
    expect(problem?.sentence).not.toMatch(/secret|celery_taskmeta/);
  });

  it.each([undefined, { rows: [] }, [[{ one: 1 }], []], [1]])(
    'says what to write for a function that resolves to %j',
    async (answer) => {
      const reader = readerOf((() => answer) as unknown as CelerySqlQuery);
      expect(await reader.check()).toMatchObject({
        code: 'BADROWS',
        sentence: expect.stringContaining('rows as objects'),
      });
    },
  );

  it('refuses statements after it was closed', async () => {
    const reader = readerOf(() => []);
    reader.close();
    expect(await codeOf(reader.select(ONE))).toBe('CLOSED');
    expect(reader.requests()).toBe(0);
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
