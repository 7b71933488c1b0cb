import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { createSqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { storedQuery, taskOf } from './samples.ts';

const THREAD = new URL('../../src/stores/sqlite/sqlite-thread.ts', import.meta.url);
const PROCESS = fileURLToPath(new URL('sqlite-process.ts', import.meta.url));
const OPENING = { source: 'shop', deployment: null, isReadOnly: false };

function file(): string {
  const folder = mkdtempSync(join(tmpdir(), 'monitor-sqlite-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'monitor.db');
}

function storeOf(path: string, thread: URL = THREAD, isReadOnly = false) {
  const retention = { taskDays: 7, rollupDays: 90 };
  return createSqliteStore({ path, thread, retention, isReadOnly, deployment: null });
}

async function open(path: string, thread?: URL) {
  const store = storeOf(path, thread);
  const session = await store.open(OPENING);
  onTestFinished(() => store.close(session));
  return { store, session };
}

/** A thread with a line of its own before its program. */
function threadWith(line: string): URL {
  return new URL(
    `data:text/javascript,${encodeURIComponent(`${line}; await import(${JSON.stringify(THREAD.href)})`)}`,
  );
}

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

it('creates files that only their user may read, and takes the rights of others from one that exists', async () => {
  const path = file();
  const before = process.umask(0);
  onTestFinished(() => void process.umask(before));
  const { session } = await open(path);
  await session.tasks.write([taskOf('a')]);
  for (const end of ['', '-wal', '-shm']) expect([end, modeOf(path + end)]).toEqual([end, '600']);
  for (const [mode, left] of [
    [0o640, '640'],
    [0o666, '660'],
  ] as const) {
    const given = file();
    writeFileSync(given, '', { mode });
    const opened = await open(given);
    await opened.session.tasks.write([taskOf('a')]);
    for (const end of ['', '-wal', '-shm']) expect([end, modeOf(given + end)]).toEqual([end, left]);
  }
});

it('ends its threads with the last user, and starts them again for the next', async () => {
  const path = file();
  const store = storeOf(path);
  const first = await store.open(OPENING);
  const second = await store.open({ ...OPENING, source: 'other' });
  await store.close(first);
  await second.tasks.write([taskOf('a')]);
  expect(existsSync(`${path}-wal`)).toBe(true);
  await store.close(second);
  // The last connection has written everything into the file.
  expect(existsSync(`${path}-wal`)).toBe(false);
  const third = await store.open({ ...OPENING, source: 'other' });
  expect(await third.tasks.read(['a'])).toEqual([taskOf('a')]);
  await store.close(third);
});

it('is shared by several processes', async () => {
  const path = file();
  const names = ['one', 'two', 'three'];
  const outputs = await Promise.all(
    names.map((name) => promisify(execFile)(process.execPath, [PROCESS, path, name, '60'])),
  );
  const own = outputs.map(({ stdout }) => Number(stdout));
  expect(own.reduce((sum, count) => sum + count, 0)).toBe(60);
  const store = storeOf(path, THREAD, true);
  const session = await store.open({ ...OPENING, source: 'shared' });
  expect(await session.tasks.count(storedQuery(), 100)).toBe(60);
  expect((await session.feed.read(0, 1_000)).map(({ number }) => number)).toEqual(
    Array.from({ length: 180 }, (_, at) => at + 1),
  );
  await store.close(session);
});

it('creates the file anew when it was deleted, and says so', async () => {
  const path = file();
  const { session } = await open(path);
  await session.tasks.write([taskOf('lost')]);
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
  await expect(session.tasks.write([taskOf('a')])).rejects.toMatchObject({
    code: 'schema_missing',
    message: expect.stringContaining('deleted or replaced'),
  });
  expect(await session.tasks.write([taskOf('b')])).toEqual(new Set(['b']));
  expect(modeOf(path)).toBe('600');
  // The thread that reads notices by itself.
  await session.tasks.list(storedQuery()).catch(() => {});
  expect((await session.tasks.list(storedQuery())).map(({ id }) => id)).toEqual(['b']);
});

it('says what to do about a damaged file', async () => {
  const path = file();
  writeFileSync(path, 'not a database'.repeat(1_000));
  await expect(open(path)).rejects.toMatchObject({
    code: 'corrupt',
    remedy: expect.stringContaining('move it away'),
  });
  rmSync(path);
  const { session } = await open(path);
  expect(await session.tasks.write([taskOf('a')])).toEqual(new Set(['a']));
});

it('creates nothing where it may only read, and says when the folder is missing', async () => {
  const path = file();
  await expect(storeOf(path, THREAD, true).open(OPENING)).rejects.toMatchObject({ code: 'schema_missing' });
  expect(existsSync(path)).toBe(false);
  await expect(open(join(path, 'deeper', 'monitor.db'))).rejects.toMatchObject({ code: 'unreachable' });
});

it('reports a lock that somebody holds, and works again without it', async () => {
  const path = file();
  const { session } = await open(path);
  const sqlite = process.getBuiltinModule('node:sqlite') as unknown as {
    readonly DatabaseSync: new (path: string) => { exec(text: string): void; close(): void };
  };
  const backup = new sqlite.DatabaseSync(path);
  backup.exec('BEGIN IMMEDIATE');
  await expect(session.tasks.write([taskOf('a')])).rejects.toMatchObject({ code: 'locked' });
  // Reads do not wait for it.
  expect(await session.tasks.list(storedQuery())).toEqual([]);
  backup.exec('ROLLBACK');
  backup.close();
  expect(await session.tasks.write([taskOf('a')])).toEqual(new Set(['a']));
});

it.each([
  [{ errcode: 13 }, 'disk_full'],
  [{ errcode: 8 | (1 << 8) }, 'read_only'],
  [{ errcode: 5 | (2 << 8) }, 'locked'],
  [{ errcode: 11 }, 'corrupt'],
  [{ errcode: 10 | (4 << 8) }, 'failed'],
  [{ code: 'ENOSPC' }, 'disk_full'],
  [{ code: 'EACCES' }, 'permission'],
])('names the failure %j', async (failure, code) => {
  const failing = `process.getBuiltinModule('node:sqlite').DatabaseSync.prototype.prepare = () => {
    throw Object.assign(new Error('secret'), ${JSON.stringify(failure)});
  }`;
  const error: unknown = await open(file(), threadWith(failing)).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code });
  const { message, remedy } = error as { message: string; remedy: string };
  expect(message + remedy).toMatch(/^(?!.*secret).+\..+\.$/);
});

it('takes the class by either name, and refuses a Node without it', async () => {
  const renamed = `const real = process.getBuiltinModule.bind(process);
    process.getBuiltinModule = (name) => name === 'node:sqlite' ? { Database: real(name).DatabaseSync } : real(name)`;
  const { session } = await open(file(), threadWith(renamed));
  expect(await session.tasks.write([taskOf('a')])).toEqual(new Set(['a']));
  const without = threadWith('process.getBuiltinModule = () => undefined');
  await expect(open(file(), without)).rejects.toMatchObject({
    code: 'unsupported',
    remedy: expect.stringContaining('22.13'),
  });
});

it('starts the thread again when it has crashed, and refuses what it cannot keep up with', async () => {
  const path = file();
  await open(path);
  // Ends at the first batch, once: the file tells the second thread.
  const mark = `${path}.crashed`;
  const crashing = threadWith(`const fs = process.getBuiltinModule('node:fs');
    const { parentPort } = process.getBuiltinModule('node:worker_threads');
    parentPort.on('message', ({ work }) => {
      if (work.kind !== 'batch' || fs.existsSync(${JSON.stringify(mark)})) return;
      fs.writeFileSync(${JSON.stringify(mark)}, '');
      process.exit(3);
    })`);
  const { session } = await open(path, crashing);
  await expect(session.tasks.write([taskOf('a')])).rejects.toMatchObject({ code: 'failed' });
  expect(await session.tasks.write([taskOf('b')])).toEqual(new Set(['b']));
  const results = await Promise.allSettled(Array.from({ length: 600 }, () => session.tasks.read(['b'])));
  const refused = results.filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(100);
  expect(refused[0]).toMatchObject({ reason: { code: 'overloaded' } });
});
