import { closeSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { expect } from 'vitest';
import { sqliteMissing } from '../helpers/other-node.ts';
import { until } from '../helpers/redis-server.ts';
import { faultCase } from './kit/fault-case.ts';
import { expectAll, listAll, storeFigures } from './kit/kept-history.ts';
import { type SqliteHistory, sqliteHistory, useSqlite } from './kit/sqlite-host.ts';

const sqliteCase: typeof faultCase = (row, title, run) =>
  faultCase(row, title, run, { missing: sqliteMissing, timeout: 180_000 });

/** Waits until the store says what is wrong. */
async function untilCode(kept: SqliteHistory, ...codes: readonly (string | null)[]): Promise<void> {
  const seen = new Set<unknown>();
  const isThere = async (): Promise<boolean> => {
    const { code } = await storeFigures(kept);
    seen.add(code);
    return codes.some((one) => one === code);
  };
  await until(isThere, 60_000).catch(() => expect([...seen]).toEqual(codes));
}

sqliteCase(87, 'a backup holds the lock of the SQLite file', async (bench) => {
  const kept = await sqliteHistory(bench);
  const end = await useSqlite(kept.path, "database.exec('BEGIN IMMEDIATE');");
  const recording = kept.recordFor(6_000);
  // Several calls wait for the lock, one after the other.
  await untilCode(kept, 'locked', 'timeout');
  await bench.expectAnswer(kept.host, '/api/tasks/?limit=20', { status: 200, aimMs: 50 });
  await recording;
  // It can still be read.
  await expectAll(bench, kept);
  await end();
  bench.figure('until all was kept, ms', await kept.untilStored());
  await untilCode(kept, null);
  await expectAll(bench, kept);
});

sqliteCase(88, 'a long read holds an old state of the SQLite file', async (bench) => {
  const kept = await sqliteHistory(bench);
  const end = await useSqlite(
    kept.path,
    "database.exec('BEGIN'); database.prepare('SELECT count(*) FROM monitor_task').get();",
  );
  await kept.recordFor(1_500);
  // Nobody waits for it.
  bench.figure('until all was kept, ms', await kept.untilStored());
  expect((await storeFigures(kept)).code).toBe(null);
  await expectAll(bench, kept);
  await end();
});

sqliteCase(89, 'the SQLite file is deleted', async (bench) => {
  const kept = await sqliteHistory(bench);
  for (const end of ['', '-wal', '-shm']) rmSync(`${kept.path}${end}`, { force: true });
  const before = kept.recorded();
  await kept.recordFor(1_500);
  await bench.expectAnswer(kept.host, '/api/tasks/?limit=20', { status: 200, aimMs: 50 });
  await until(async () => (await kept.stored()) >= kept.recorded() - before, 60_000);
  await untilCode(kept, null);
  // What was only in the file is gone. Everything else is there, and is listed once.
  await bench.expectAnswer(kept.host, '/api/tasks/task-7/', { status: 404 });
  const listed = await listAll(bench, kept);
  const missing = Array.from({ length: kept.recorded() - before }, (_, at) => before + at).filter(
    (number) => !listed.has(number),
  );
  expect(missing).toEqual([]);
  bench.figure('tasks listed of those before', listed.size - (kept.recorded() - before));
});

sqliteCase(90, 'the SQLite file is overwritten', async (bench) => {
  const kept = await sqliteHistory(bench);
  // So that nothing of it is in the log.
  await (await useSqlite(kept.path, "database.exec('PRAGMA wal_checkpoint(TRUNCATE)');"))();
  const file = openSync(kept.path, 'r+');
  const { size } = statSync(kept.path);
  for (let at = 0; at < size; at += 4_096) writeSync(file, Buffer.alloc(4_096, 0xa5), 0, 4_096, at);
  closeSync(file);
  const recording = kept.recordFor(3_000);
  await untilCode(kept, 'corrupt');
  await recording;
  const newest = kept.recorded() - 1;
  await bench.expectAnswer(kept.host, '/api/tasks/?limit=20', { status: 200, aimMs: 50 });
  await bench.expectAnswer(kept.host, `/api/tasks/task-${newest}/`, { status: 200 });
  // Nobody knows whether it was ever there.
  await bench.expectAnswer(kept.host, '/api/tasks/task-7/', { status: [503, 504] });
  const { hints } = await storeFigures(kept);
  expect(hints).toEqual([expect.stringContaining('move it away')]);
  // That is done while the host runs.
  rmSync(kept.path);
  await kept.recordFor(2_000);
  await untilCode(kept, null);
  const latest = `/api/tasks/task-${kept.recorded() - 1}/`;
  await until(async () => (await kept.host.get(latest)).status === 200);
});
