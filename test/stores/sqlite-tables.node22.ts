import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { StoredQuery } from '../../src/history/store.ts';
import { createSqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { expectForeignRowsSkipped } from './foreign-rows.ts';
import { DAY, storedQuery, taskOf } from './samples.ts';

const THREAD = new URL('../../src/stores/sqlite/sqlite-thread.ts', import.meta.url);

interface Database {
  exec(text: string): void;
  close(): void;
  prepare(text: string): { all(...values: unknown[]): Record<string, unknown>[] };
}
type Open = new (path: string) => Database;

/** A file, stores in it as of several processes, and the database itself. */
function newFile() {
  const folder = mkdtempSync(join(tmpdir(), 'monitor-sqlite-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'monitor.db');
  const storeOf = (isReadOnly = false, thread = THREAD) =>
    createSqliteStore({
      path,
      thread,
      retention: { taskDays: 7, rollupDays: 90 },
      isReadOnly,
      deployment: null,
    });
  const open = async (isReadOnly = false, source = 'shop', thread = THREAD) => {
    const store = storeOf(isReadOnly, thread);
    const session = await store.open({ source, deployment: null, isReadOnly });
    onTestFinished(() => store.close(session));
    return session;
  };
  const raw = () => {
    const sqlite = process.getBuiltinModule('node:sqlite') as unknown as { readonly DatabaseSync: Open };
    const database = new sqlite.DatabaseSync(path);
    onTestFinished(() => database.close());
    return database;
  };
  return { folder, storeOf, open, raw };
}

/** A thread that notes each statement that it prepares, one a line. */
function notingThread(file: string): URL {
  const line = `const { appendFileSync } = process.getBuiltinModule('node:fs');
    const { prototype } = process.getBuiltinModule('node:sqlite').DatabaseSync;
    const { prepare } = prototype;
    prototype.prepare = function (text) {
      appendFileSync(${JSON.stringify(file)}, JSON.stringify(text) + '\\n');
      return prepare.call(this, text);
    }`;
  return new URL(
    `data:text/javascript,${encodeURIComponent(`${line}; await import(${JSON.stringify(THREAD.href)})`)}`,
  );
}

/** Lists whose rows come by an index, without being sorted. */
const LISTS: readonly Partial<StoredQuery>[] = [
  {},
  { order: 'asc' },
  { since: new Date(1), until: new Date(9) },
  { states: ['FAILURE'] },
  { names: ['a'] },
  { names: ['a'], workers: ['w'] },
  { names: ['a'], states: ['FAILURE'] },
  { workers: ['w'] },
  { queues: ['q'] },
  { states: ['FAILURE'], causes: ['c'] },
  { rootId: 'r' },
  { parentId: 'p' },
  { groupId: 'g' },
  { isOpen: true },
  { sort: 'received' },
  { sort: 'started', order: 'asc' },
  { sort: 'finished' },
  { sort: 'runtime' },
  { sort: 'name' },
  { sort: 'state', order: 'asc' },
];

it('reads every list by an index, without looking at all tasks or sorting them', async () => {
  const { folder, open, raw } = newFile();
  const file = join(folder, 'statements');
  const session = await open(false, 'shop', notingThread(file));
  const { tasks } = session;
  await tasks.write(Array.from({ length: 8 }, (_, ago) => taskOf(`t${ago}`, { day: DAY - ago, name: 'a' })));
  for (const list of LISTS) {
    await tasks.list(storedQuery(list));
    await tasks.list(
      storedQuery({
        ...list,
        after: { key: list.sort === 'name' || list.sort === 'state' ? 'a' : 1, id: 'x' },
      }),
    );
    // Memory is filled in this order alone.
    if (list.sort === undefined) await tasks.records(storedQuery(list));
  }
  await tasks.count(storedQuery({ names: ['a'] }), 9);
  await tasks.read(['a']);
  for (const link of ['rootId', 'parentId', 'groupId', 'chordId'] as const) {
    await tasks.linked(link, ['a'], 9);
    await tasks.linkedIds(link, ['a'], 9);
  }
  const texts = new Set(
    readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as string),
  );
  const reading = [...texts].filter(
    (text) => /^\s*(?:SELECT|WITH)/i.test(text) && text.includes('monitor_task'),
  );
  expect(reading.length).toBeGreaterThan(LISTS.length);
  const database = raw();
  // Rows without a value to sort by, and those of a value that few have, are sorted by their ids.
  const sorted = reading.filter(
    (text) => !/(?: IS NULL|(?:name|state) = \?2(?: AND id > \?3)?) ORDER BY id/.test(text),
  );
  const slow = sorted.flatMap((text) => {
    const lines = database
      .prepare(`EXPLAIN QUERY PLAN ${text}`)
      .all()
      .map(({ detail }) => String(detail));
    // Rows with the same value to sort by are put in order among each other.
    const wrong = lines.filter((line) => /TEMP B-TREE (?!FOR LAST TERM)|^SCAN monitor/.test(line));
    return wrong.length === 0 ? [] : [{ text, wrong }];
  });
  expect(slow).toEqual([]);
});

it('drops old days but for what is open, and writes of a process that has not noticed', async () => {
  const { open } = newFile();
  const [one, other] = [await open(), await open(false, 'other')];
  const old = DAY - 9;
  await one.tasks.write([
    taskOf('done', { day: old }),
    taskOf('open', { day: old, isOpen: true }),
    taskOf('kept', { day: DAY - 6 }),
  ]);
  expect(await one.tasks.write([taskOf('done', { day: old, version: 2 })])).toEqual(new Set(['done']));
  await one.tasks.dropBefore(DAY - 7, DAY);
  expect(await one.tasks.write([taskOf('done', { day: old, version: 3 })])).toEqual(new Set());
  expect(await other.tasks.list(storedQuery())).toEqual([]);
  expect((await one.tasks.list(storedQuery())).map(({ id }) => id).toSorted()).toEqual(['kept', 'open']);
});

it('lets several processes write and drop days at once, and readers see all of them', async () => {
  const { open } = newFile();
  const writers = await Promise.all(Array.from({ length: 3 }, () => open()));
  const reader = await open(true);
  expect(await reader.tasks.count(storedQuery(), 100)).toBe(0);
  await Promise.all(
    Array.from({ length: 12 }, (_, at) =>
      writers[at % 3]?.tasks.write([taskOf(`t${at}`, { day: DAY - at }), taskOf(`u${at}`, { day: DAY - 6 })]),
    ),
  );
  expect(await reader.tasks.count(storedQuery(), 100)).toBe(24);
  // Others write into a day while it is dropped.
  const [first, ...others] = writers;
  await Promise.all([
    first?.tasks.dropBefore(DAY - 3, DAY),
    ...others.map((session, at) =>
      session.tasks.write([taskOf(`late${at}`, { day: DAY - 8 }), taskOf(`new${at}`)]),
    ),
  ]);
  await first?.tasks.dropBefore(DAY - 3, DAY);
  const left = (await reader.tasks.list(storedQuery())).map(({ id }) => id);
  expect(left.toSorted()).toEqual(['new0', 'new1', 't0', 't1', 't2', 't3']);
});

it('uses the space of dropped days again', async () => {
  const { open } = newFile();
  const session = await open();
  const record = JSON.stringify('x'.repeat(1_000));
  const fill = (day: number) =>
    session.tasks.write(Array.from({ length: 2_000 }, (_, at) => taskOf(`${day}-${at}`, { day, record })));
  await fill(DAY - 9);
  const size = await session.size();
  await session.tasks.dropBefore(DAY - 7, DAY);
  expect(await session.size()).toBeLessThanOrEqual(size);
  await fill(DAY);
  expect(await session.size()).toBeLessThan(size * 1.1);
});

it("leaves the app's own tables in the file alone, whatever they are called", async () => {
  const { open, raw } = newFile();
  const session = await open();
  await session.tasks.write([taskOf('done', { day: DAY - 9 })]);
  const database = raw();
  const tables = ['monitoring_d1', 'monitors_d20', 'Monitor_readings_d3', 'monitor_custom_d7', 'monitor_d2'];
  for (const table of tables)
    database.exec(
      `CREATE TABLE "${table}" (a); INSERT INTO "${table}" VALUES (1); CREATE INDEX "i_${table}" ON "${table}" (a)`,
    );
  const objects = () =>
    database
      .prepare('SELECT name FROM sqlite_schema ORDER BY name')
      .all()
      .map(({ name }) => name);
  const before = objects();
  await session.tasks.dropBefore(DAY - 7, DAY);
  expect(await session.tasks.list(storedQuery())).toEqual([]);
  expect(objects()).toEqual(before);
  for (const table of tables) expect(database.prepare(`SELECT a FROM "${table}"`).all()).toEqual([{ a: 1 }]);
});

it('shows all other tasks when somebody has written rows that are none of its own', async () => {
  const { open, raw, storeOf } = newFile();
  // Creates the tables.
  await open(false, 'other');
  const database = raw();
  await expectForeignRowsSkipped(storeOf, {
    exec: (text) => database.exec(text),
    tasks: 'monitor_task',
    long: 'hex(zeroblob(9000000))',
    numbers: ["changed = 'text'", "changed = x'00ff'", 'changed = -9e999', 'version = 9223372036854775807'],
  });
});
