import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { StoredQuery } from '../../src/history/store.ts';
import { tableNames } from '../../src/stores/sql/names.ts';
import {
  countTasks,
  countValue,
  type ListPart,
  linkedTasks,
  listTasks,
  nextValue,
  readTasks,
  type Statement,
  type TaskPart,
} from '../../src/stores/sql/task-statements.ts';
import { createSqliteStore } from '../../src/stores/sqlite/create-sqlite-store.ts';
import { SQLITE } from '../../src/stores/sqlite/sqlite-dialect.ts';
import { DAY, storedQuery, taskOf } from './samples.ts';
import { toVersion1 } from './version-1.ts';

const THREAD = new URL('../../src/stores/sqlite/sqlite-thread.ts', import.meta.url);
const NAMES = tableNames(null, 'monitor_');
const TASKS = { dialect: SQLITE, table: NAMES.task, canSearch: false };

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
  const open = async (isReadOnly = false, source = 'shop') => {
    const retention = { taskDays: 7, rollupDays: 90 };
    const store = createSqliteStore({ path, thread: THREAD, retention, isReadOnly, deployment: null });
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
  return { open, raw };
}

function tablesOf(database: Database): unknown[] {
  return database
    .prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'monitor_task_d%' ORDER BY name",
    )
    .all()
    .map(({ name }) => name);
}
const tableOf = (day: number) => `monitor_task_d${day}`;

const page = (query: Partial<StoredQuery>, part: Partial<ListPart> = {}, columns: TaskPart = 'listed') =>
  listTasks(
    TASKS,
    storedQuery(query),
    { hasKey: true, after: { key: 1, id: 'x' }, limit: 100, ...part },
    columns,
  );

/** For each statement, the index that it is to use in each day, with or without the last columns sorted apart. */
const PLANS: readonly (readonly [title: string, statement: Statement, index: string])[] = [
  ['a page', page({}), 'task_changed'],
  ['records of a page', page({}, {}, 'record'), 'task_changed'],
  ['a page, oldest first', page({ order: 'asc' }), 'task_changed'],
  ['a page of a time', page({ since: new Date(1), until: new Date(9) }), 'task_changed'],
  ['by state', page({ states: ['FAILURE'] }), 'task_state'],
  ['by name', page({ names: ['a'] }), 'task_name'],
  ['by name and worker', page({ names: ['a'], workers: ['w'] }), 'task_name'],
  ['by name and state', page({ names: ['a'], states: ['FAILURE'] }), 'task_name'],
  ['by worker', page({ workers: ['w'] }), 'task_worker'],
  ['by queue', page({ queues: ['q'] }), 'task_queue'],
  ['by cause', page({ states: ['FAILURE'], causes: ['c'] }), 'task_cause'],
  ['by root', page({ rootId: 'r' }), 'task_root'],
  ['by parent', page({ parentId: 'p' }), 'task_parent'],
  ['by group', page({ groupId: 'g' }), 'task_group'],
  ['open ones', page({ isOpen: true }), 'task_open'],
  ['by time of receipt', page({ sort: 'received' }), 'task_received'],
  ['by time of start', page({ sort: 'started', order: 'asc' }), 'task_started'],
  ['by end', page({ sort: 'finished' }), 'task_finished'],
  ['by run time', page({ sort: 'runtime' }), 'task_runtime'],
  ['a common name, sorted by name', page({ sort: 'name' }, { value: 'a', isCommon: true }), 'key'],
  ['a common state, sorted by state', page({ sort: 'state' }, { value: 'a', isCommon: true }), 'key'],
  ['how many have a name', countValue(TASKS, { sort: 'name' }, 'a', 9), 'task_name'],
  ['the next name', nextValue(TASKS, storedQuery({ sort: 'name' }), 'a'), 'task_name'],
  ['the first state', nextValue(TASKS, storedQuery({ sort: 'state', order: 'asc' }), null), 'task_state'],
  ['some ids', readTasks(TASKS, ['a'], 'whole'), 'key'],
  ['what names a root', linkedTasks(TASKS, 'rootId', ['a'], 9, 'relatives'), 'task_root'],
  ['what names a chord', linkedTasks(TASKS, 'chordId', ['a'], 9, 'id'), 'task_chord'],
  ['a count by name', countTasks(TASKS, storedQuery({ names: ['a'] }), 9), 'task_name'],
];

it('reads each day by its index, and merges the days without sorting them', async () => {
  const { open, raw } = newFile();
  const session = await open();
  const days = Array.from({ length: 8 }, (_, ago) => DAY - ago);
  await session.tasks.write(days.map((day) => taskOf(`t${day}`, { day })));
  const database = raw();
  const all = [...days, DAY + 1, DAY + 2];
  const planOf = ({ text }: Statement) => {
    const lines = database
      .prepare(`EXPLAIN QUERY PLAN ${text.replaceAll(/\$(\d+)/g, '?$1')}`)
      .all()
      .map(({ detail }) => String(detail));
    const searches = lines.filter((line) => line.startsWith('SEARCH'));
    return { lines, used: searches.map((line) => /INDEX (\S+)/.exec(line)?.[1]).toSorted() };
  };
  for (const [title, statement, index] of PLANS) {
    const { lines, used } = planOf(statement);
    const expected = all.map((day) =>
      index === 'key' ? `sqlite_autoindex_${tableOf(day)}_1` : `monitor_${index}_d${day}`,
    );
    expect([title, used]).toEqual([title, expected.toSorted()]);
    // Rows with the same value to sort by are put in order among each other.
    const sorted = lines.filter((line) =>
      /TEMP B-TREE (?!FOR LAST TERM)|^SCAN monitor|MATERIALIZE/.test(line),
    );
    expect([title, sorted]).toEqual([title, []]);
  }
  // A name that few rows have is found by its index.
  const rare = planOf(page({ sort: 'name' }, { value: 'a' })).used;
  expect(rare).toEqual(all.map((day) => `monitor_task_name_d${day}`).toSorted());
});

it('has a table for today and the next two days, creates others when they are written, and drops old ones', async () => {
  const { open, raw } = newFile();
  const [one, reader] = [await open(), await open(false, 'other')];
  const database = raw();
  const coming = [DAY, DAY + 1, DAY + 2].map(tableOf);
  expect(tablesOf(database)).toEqual(coming);
  const old = DAY - 9;
  await one.tasks.write([
    taskOf('done', { day: old }),
    taskOf('open', { day: old, isOpen: true }),
    taskOf('kept', { day: DAY - 6 }),
  ]);
  expect(tablesOf(database)).toEqual([tableOf(old), tableOf(DAY - 6), ...coming]);
  expect(await one.tasks.write([taskOf('done', { day: old, version: 2 })])).toEqual(new Set(['done']));
  await one.tasks.dropBefore(DAY - 7);
  expect(tablesOf(database)).toEqual([tableOf(DAY - 6), ...coming]);
  // A process that has not noticed goes on: what it writes was dropped.
  expect(await one.tasks.write([taskOf('done', { day: old, version: 3 })])).toEqual(new Set());
  expect(await reader.tasks.list(storedQuery())).toEqual([]);
  expect((await one.tasks.list(storedQuery())).map(({ id }) => id).toSorted()).toEqual(['kept', 'open']);
});

it('lets several processes create and drop days at once, and readers see all of them', async () => {
  const { open, raw } = newFile();
  const writers = await Promise.all(Array.from({ length: 3 }, () => open()));
  const reader = await open(true);
  expect(await reader.tasks.count(storedQuery(), 100)).toBe(0);
  // Each of them creates days that the others have not heard of.
  await Promise.all(
    Array.from({ length: 12 }, (_, at) =>
      writers[at % 3]?.tasks.write([taskOf(`t${at}`, { day: DAY - at }), taskOf(`u${at}`, { day: DAY - 6 })]),
    ),
  );
  expect(await reader.tasks.count(storedQuery(), 100)).toBe(24);
  // Others write into days while they are dropped.
  const [first, ...others] = writers;
  await Promise.all([
    first?.tasks.dropBefore(DAY - 3),
    ...others.map((session, at) =>
      session.tasks.write([taskOf(`late${at}`, { day: DAY - 8 }), taskOf(`new${at}`)]),
    ),
  ]);
  await first?.tasks.dropBefore(DAY - 3);
  const left = (await reader.tasks.list(storedQuery())).map(({ id }) => id);
  expect(left.toSorted()).toEqual(['new0', 'new1', 't0', 't1', 't2', 't3']);
  expect(tablesOf(raw())).toHaveLength(6);
});

it('drops what a process left behind that ended while it dropped a day', async () => {
  const { open, raw } = newFile();
  const session = await open();
  const database = raw();
  for (const day of [DAY - 9, DAY - 8])
    database.exec(`CREATE TABLE ${tableOf(day)} (id TEXT); INSERT INTO ${tableOf(day)} VALUES ('lost')`);
  // It begins anew where rows of the day are written again.
  await session.tasks.write([taskOf('a', { day: DAY - 8 })]);
  expect((await session.tasks.list(storedQuery())).map(({ id }) => id)).toEqual(['a']);
  await session.tasks.dropBefore(DAY - 7);
  expect(tablesOf(database)).toHaveLength(3);
});

it('uses the space of dropped days again', async () => {
  const { open } = newFile();
  const session = await open();
  const record = JSON.stringify('x'.repeat(1_000));
  const fill = (day: number) =>
    session.tasks.write(Array.from({ length: 2_000 }, (_, at) => taskOf(`${day}-${at}`, { day, record })));
  await fill(DAY - 9);
  const size = await session.size();
  await session.tasks.dropBefore(DAY - 7);
  expect(await session.size()).toBeLessThanOrEqual(size);
  await fill(DAY);
  expect(await session.size()).toBeLessThan(size * 1.1);
});

it('refuses rows of more days than lists can read', async () => {
  const { open } = newFile();
  const session = await open();
  const daysAgo = Array.from({ length: 140 }, (_, at) => taskOf(`t${at}`, { day: DAY - at }));
  // Creating all of their tables at once may take longer than a write may.
  for (let at = 0; at < 140; at += 35) await session.tasks.write(daysAgo.slice(at, at + 35));
  expect(await session.tasks.count(storedQuery(), 1_000)).toBe(140);
  const many = Array.from({ length: 20 }, (_, at) => taskOf(`u${at}`, { day: DAY - 1_000 - at }));
  await expect(session.tasks.write(many)).rejects.toMatchObject({ code: 'refused' });
});

it('adds causes to tables of version 1, and keeps their rows', async () => {
  const { open, raw } = newFile();
  const session = await open();
  const failed = { state: 'FAILURE', timestamp: 1 };
  await session.tasks.write([taskOf('old', failed), taskOf('older', { ...failed, day: DAY - 2 })]);
  const days = [DAY - 2, DAY, DAY + 1, DAY + 2].map(tableOf);
  raw().exec(`DROP VIEW monitor_task; ${toVersion1(days).join('; ')};
    CREATE VIEW monitor_task AS SELECT 1 AS source_id`);
  const [one] = await Promise.all([open(), open()]);
  expect((await one?.tasks.read(['old', 'older']))?.map(({ cause }) => cause)).toEqual([null, null]);
  await one?.tasks.write([
    taskOf('old', { ...failed, version: 2, cause: 'c' }),
    taskOf('new', { ...failed, day: DAY - 3, cause: 'c', timestamp: 2 }),
  ]);
  const found = await one?.tasks.list(storedQuery({ states: ['FAILURE'], causes: ['c'] }));
  expect(found?.map(({ id }) => id)).toEqual(['new', 'old']);
});
