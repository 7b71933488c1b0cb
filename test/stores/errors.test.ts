import { expect, it } from 'vitest';
import { describePostgresError } from '../../src/stores/postgres/postgres-errors.ts';
import { guardDatabase } from '../../src/stores/sql/guarded-database.ts';
import type { SqlDatabase } from '../../src/stores/sql/sql-database.ts';
import { StoreError } from '../../src/stores/sql/store-error.ts';
import { containing, fromColumn, toColumn } from '../../src/stores/sql/text-key.ts';
import { SQLITE } from '../../src/stores/sqlite/sqlite-dialect.ts';
import { describeSqliteError } from '../../src/stores/sqlite/sqlite-errors.ts';
import { SqliteFault } from '../../src/stores/sqlite/sqlite-worker.ts';

it.each([
  [{ code: '53100', message: 'secret' }, 'disk_full'],
  [{ code: '25006' }, 'read_only'],
  [{ code: '28P01' }, 'unreachable'],
  [{ code: '57P01' }, 'unreachable'],
  [{ code: '57014' }, 'timeout'],
  [{ code: '55P03' }, 'locked'],
  [{ code: '40P01' }, 'conflict'],
  [{ code: '42501' }, 'permission'],
  [{ code: 'XX001' }, 'corrupt'],
  [{ code: '42601' }, 'failed'],
  [{ code: 'ECONNREFUSED' }, 'unreachable'],
  [{ code: 'CONNECT_TIMEOUT' }, 'unreachable'],
  [new Error('timeout exceeded when trying to connect'), 'unreachable'],
  [new Error('Cannot use a pool after calling end on the pool'), 'unreachable'],
  [new Error('Connection terminated unexpectedly'), 'unreachable'],
  [new TypeError('secret'), 'failed'],
  [null, 'failed'],
])('names the failure of PostgreSQL %j', (error, code) => {
  const described = describePostgresError(error);
  expect(described.code).toBe(code);
  expect(described.message + described.remedy).toMatch(/^(?!.*secret).+\..+\.$/);
});

it.each([
  [13, '', 'disk_full'],
  [8 | (1 << 8), '', 'read_only'],
  [5 | (2 << 8), '', 'locked'],
  [11, '', 'corrupt'],
  [26, '', 'corrupt'],
  [14, '', 'unreachable'],
  [10 | (4 << 8), '', 'failed'],
  [0, 'ENOSPC', 'disk_full'],
  [0, 'EACCES', 'permission'],
  [0, 'EXPIRED', 'timeout'],
  [0, 'ERR_WORKER', 'failed'],
])('names the failure %i %s of SQLite', (number, given, code) => {
  const described = describeSqliteError(new SqliteFault({ number, code: given, message: 'secret' }));
  expect(described.code).toBe(code);
  expect(described.message + described.remedy).toMatch(/^(?!.*secret).+\..+\.$/);
});

/** A database that does what it is told, one step for each call. */
function scripted(steps: readonly (() => Promise<never[]>)[]): SqlDatabase & { readonly texts: string[] } {
  const texts: string[] = [];
  const run = (text: string): Promise<never[]> => {
    texts.push(text);
    return steps[texts.length - 1]?.() ?? Promise.resolve([]);
  };
  const script = async (text: string): Promise<void> => void (await run(text));
  return {
    texts,
    dialect: SQLITE,
    read: run,
    write: run,
    batch: ({ text }) => run(text),
    script,
    close: async () => {},
  };
}

const conflict = () => Promise.reject(new StoreError('conflict', 'Another instance.'));

it('tries again what others have disturbed, a few times', async () => {
  const twice = scripted([conflict, conflict]);
  await guardDatabase(twice, describeSqliteError).write('x', [1]);
  expect(twice.texts).toHaveLength(3);
  const always = scripted(Array.from({ length: 9 }, () => conflict));
  await expect(guardDatabase(always, describeSqliteError).write('x', [1])).rejects.toMatchObject({
    code: 'conflict',
  });
  expect(always.texts).toHaveLength(4);
});

it('waits for no answer longer than its deadline, and ignores a late failure', async () => {
  let fail = (): void => {};
  const late = scripted([
    () => new Promise<never[]>((_, reject) => (fail = () => reject(new Error('late')))),
  ]);
  const guarded = guardDatabase(late, describeSqliteError, { read: 10, write: 10 });
  await expect(guarded.read('x', [1])).rejects.toMatchObject({ code: 'timeout' });
  fail();
});

it.each(['', 'plain "quoted" {a,b}', 'a\\b', '\0', 'half \ud800 pair', '😀é'])(
  'keeps the text %j in a column',
  (text) => {
    expect(fromColumn(toColumn(text))).toBe(text);
    expect(toColumn(text)).not.toContain('\0');
  },
);

it.each([
  ['abc', '%abc%'],
  ['50%_off\\now', String.raw`%50\%\_off%`],
  ['é says "hello" loud', '% says %'],
  ['ab', null],
  ['ééé', null],
])('looks for the text %j as %j', (text, pattern) => {
  expect(containing(text)).toBe(pattern);
});
