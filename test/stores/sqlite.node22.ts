import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createSqliteDatabase } from '../../src/stores/sqlite/sqlite-database.ts';

const THREAD = new URL('../../src/stores/sqlite/sqlite-thread.ts', import.meta.url);

it('writes a batch in its thread and reads it back', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'monitor-sqlite-'));
  const database = createSqliteDatabase(join(folder, 'monitor.db'), THREAD);
  onTestFinished(async () => {
    await database.close();
    rmSync(folder, { recursive: true });
  });
  await database.script('CREATE TABLE task (id TEXT PRIMARY KEY, changed REAL)');
  const insert = {
    into: 'task',
    columns: [
      ['id', 'text'],
      ['changed', 'real'],
    ],
    tail: 'ON CONFLICT (id) DO NOTHING RETURNING id',
  } as const;
  expect(
    await database.insert(insert, [
      ['a', 'b'],
      [1, 2],
    ]),
  ).toEqual([{ id: 'a' }, { id: 'b' }]);
  expect(
    await database.insert(insert, [
      ['b', 'c'],
      [3, null],
    ]),
  ).toEqual([{ id: 'c' }]);
  expect(
    await database.query('SELECT changed FROM task WHERE id IN (SELECT value FROM json_each($1))', [
      ['b', 'c'],
    ]),
  ).toEqual([{ changed: 2 }, { changed: null }]);
});
