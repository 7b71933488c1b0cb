import { chownSync, statSync } from 'node:fs';
import { expect } from 'vitest';
import { sqliteMissing } from '../helpers/other-node.ts';
import { type PostgresServer, postgresMissing } from '../helpers/postgres.ts';
import { until } from '../helpers/redis-server.ts';
import { type FaultBench, faultCase } from './kit/fault-case.ts';
import { expectAll, type KeptHistory, storeFigures } from './kit/kept-history.ts';
import { keptSource } from './kit/kept-source.ts';
import { mountMissing, mountSmallDisk, type SmallDisk } from './kit/small-disk.ts';
import { sqliteHistory } from './kit/sqlite-host.ts';

const DISK_MIB = 48;
const postgresDiskMissing = postgresMissing ?? mountMissing;
const sqliteDiskMissing = sqliteMissing ?? mountMissing;
const timeout = 180_000;

/** The disk is full, and free again. What is stored can be read all the time, and what happens is written later. */
async function fillAndFree(
  bench: FaultBench,
  kept: KeptHistory & { recordFor(ms: number): Promise<void> },
  disk: SmallDisk,
): Promise<void> {
  disk.fill();
  await kept.recordFor(3_000);
  // Some more fits where there is room within the files.
  await until(async () => {
    kept.record(5);
    return (await storeFigures(kept)).code === 'disk_full';
  }, 30_000);
  await bench.expectAnswer(kept.host, '/api/tasks/?limit=20', { status: 200, aimMs: 50 });
  await bench.expectAnswer(kept.host, '/api/tasks/task-0/', { status: 200 });
  await expectAll(bench, kept);
  disk.free();
  await until(async () => (await kept.stored()) === kept.recorded(), 90_000);
  await until(async () => (await storeFigures(kept)).code === null);
  expect((await storeFigures(kept)).lost).toBe(0);
  await expectAll(bench, kept);
}

faultCase(
  85,
  'the disk of PostgreSQL is full for a while',
  async (bench) => {
    const disk = mountSmallDisk(DISK_MIB);
    // Its log stays elsewhere: without room for that, PostgreSQL ends by itself, as in row 79.
    const prepare = async (server: PostgresServer): Promise<void> => {
      const { uid, gid } = statSync(server.directory);
      chownSync(disk.folder, uid, gid);
      await server.query(`CREATE TABLESPACE small LOCATION '${disk.folder}'`);
      await server.query("ALTER SYSTEM SET default_tablespace = 'small'");
      await server.query('SELECT pg_reload_conf()');
    };
    await fillAndFree(bench, await keptSource(bench, { prepare }), disk);
  },
  { missing: postgresDiskMissing, timeout },
);

faultCase(
  86,
  'the disk of SQLite is full for a while',
  async (bench) => {
    const disk = mountSmallDisk(DISK_MIB);
    await fillAndFree(bench, await sqliteHistory(bench, disk.folder), disk);
  },
  { missing: sqliteDiskMissing, timeout },
);
