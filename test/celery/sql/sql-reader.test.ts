/** How the function of the host is asked for results, and what is said of what it answers. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { type CelerySources, type CelerySqlOptions, celerySources } from '../../../src/celery.ts';
import { componentOf, context } from '../../helpers/celery-events.ts';
import { until } from '../../helpers/redis-server.ts';
import { holdTime, LONG, pass } from '../array-deployment.ts';
import { taskOf } from './postgres-lab.ts';

type Query = (...call: Parameters<CelerySqlOptions['query']>) => unknown;

function open(query: Query, more: Partial<CelerySqlOptions> = {}, backend = 'django-db'): CelerySources {
  const sql = { dialect: 'postgres', query, ...more } as CelerySqlOptions;
  const sources = celerySources({ broker: 'sqs://', sql, backend, retention: LONG });
  onTestFinished(() => sources.close());
  return sources;
}

const COLUMNS = ['id', 'task_id', 'status', 'date_done', 'result', 'traceback', 'meta'];

/** Answers like a database in which every table has this row. */
const tablesOf =
  (row: object): Query =>
  (text) =>
    /pg_attribute|information_schema|pragma_/.test(text)
      ? COLUMNS.map((name) => ({ name, type: 'text' }))
      : [row];

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

describe('the function of the host', () => {
  it.each([
    ['postgres', 'django-db'],
    ['mysql', 'database'],
    ['sqlite', 'django-db'],
  ] as const)(
    'is asked for single SELECTs with a limit, and given values apart: %s',
    async (dialect, backend) => {
      holdTime(Date.now());
      const id = "it's; DROP TABLE x";
      const asked: Parameters<Query>[] = [];
      const answer = tablesOf({ n: 1, task: id, state: 'STARTED', top: '2', clock: String(Date.now()) });
      const query: Query = (...call) => {
        asked.push(call);
        return answer(...call);
      };
      const sources = open(query, { dialect }, backend);
      await pass(8_000);
      expect(await taskOf(sources, id)).toMatchObject({ state: 'STARTED' });
      await sources.schedules.listSchedules(context);
      expect(new Set(asked.map(([text]) => text)).size).toBeGreaterThan(10);
      for (const [text] of asked) expect(text).toMatch(/^SELECT [^;]* LIMIT \d+$/);
      expect(asked.some(([, values]) => values.includes(id))).toBe(true);
    },
  );

  it('is asked nothing while it is silent, and again once it has answered', async () => {
    holdTime(Date.now());
    let asked = 0;
    let answer: (rows: object[]) => void = () => {};
    const sources = open(() => {
      asked += 1;
      return new Promise((resolve) => {
        answer = resolve;
      });
    });
    const check = async () => await sources.health.checkBackend?.(context);
    await pass(6_000);
    expect(asked).toBe(1);
    expect(await check()).toMatchObject({ ok: false, error: expect.stringContaining('does not answer') });
    await pass(30_000);
    expect(asked).toBe(1);
    answer([]);
    await pass(1_000);
    const later = check();
    for (let count = 0; count < 5; count += 1) {
      await pass(1_000);
      answer([{ one: 1 }]);
    }
    expect(await later).toEqual({ ok: true, error: null });
  });

  it('is asked nothing once the source is closed', async () => {
    let asked = 0;
    const sources = open(() => {
      asked += 1;
      return [];
    });
    await until(() => asked > 0);
    await sources.close();
    const before = asked;
    await sources.health.checkBackend?.(context);
    expect(asked).toBe(before);
  });

  it('is asked for sizes as a SQLite before 3.43 knows them, once that has refused the newer way', async () => {
    const asked: string[] = [];
    const answer = tablesOf({ n: 1, task: 'a', state: 'SUCCESS' });
    const query: Query = (text, values) => {
      asked.push(text);
      if (text.includes('octet_length')) throw new Error('no such function: octet_length');
      return answer(text, values);
    };
    const sources = open(query, { dialect: 'sqlite' });
    await until(async () => (await taskOf(sources, 'a'))?.state === 'SUCCESS');
    await taskOf(sources, 'b');
    const [newer = '', ...more] = asked.filter((text) => text.includes('octet_length'));
    expect(more).toEqual([]);
    const older = asked.filter((text) => text.includes('length(CAST('));
    expect(older.length).toBeGreaterThan(1);
    expect(older[0]).toBe(newer.replaceAll(/octet_length\(("\w+")\)/g, 'length(CAST($1 AS BLOB))'));
  });
});

describe('dates of a database', () => {
  /** When a task ended whose row has this date. */
  async function endOf(time: string, timezone: string): Promise<Date | null | undefined> {
    const sources = open(tablesOf({ n: 1, task: 'a', state: 'SUCCESS', time }), { timezone });
    await until(async () => (await taskOf(sources, 'a')) !== null);
    return (await taskOf(sources, 'a'))?.finished;
  }

  it.each([
    ['2025-11-23T01:02:03.456789Z', 'Europe/Prague', '2025-11-23T01:02:03.456Z'],
    ['2025-11-23T01:02:03.456789', 'UTC', '2025-11-23T01:02:03.456Z'],
    ['2025-11-23T01:02:03', 'Europe/Prague', '2025-11-23T00:02:03.000Z'],
    ['2025-07-23T01:02:03', 'Europe/Prague', '2025-07-22T23:02:03.000Z'],
  ])('are read in their zone: %s in %s', async (text, zone, moment) => {
    expect(await endOf(text, zone)).toEqual(new Date(moment));
  });

  it.each(['', 'infinity', '0000-00-00T00:00:00', 'yesterday'])(
    'are unknown where they are none: %j',
    async (text) => {
      expect(await endOf(text, 'UTC')).toBe(null);
    },
  );
});
