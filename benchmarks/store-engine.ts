/**
 * One engine of the benchmark `store`: `<sqlite or postgres> <tasks> <steps> <where>`. Fills the store, times its
 * reads, and drops a day. Prints JSON.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StoreEngine } from '../src/history/store.ts';
import { storeOption } from '../src/history/store-parts.ts';
import { type CauseFigures, fillCauses, timeCauses } from './store-causes.ts';
import { DAYS, type FillFigures, fill, type RawDatabase, TODAY, tasksOf } from './store-fill.ts';
import { type DropFigures, type ReadFigures, timeDrop, timeReads } from './store-timing.ts';

/** The printed result; `null`: not requested. */
export interface EngineFigures {
  readonly fill: FillFigures | null;
  readonly reads: readonly ReadFigures[];
  readonly causes: CauseFigures | null;
  readonly drop: DropFigures | null;
}

const [, , engine, given, steps = '', where = ''] = process.argv;
const tasks = tasksOf(Number(given));
const settings = { retention: { taskDays: 7, rollupDays: 90 }, isReadOnly: false, deployment: null };

/** @param before prepares the tables for rows of past days; `after` follows the last row */
async function measure(
  store: StoreEngine,
  raw: RawDatabase,
  { before, after }: { before(): Promise<unknown>; after(): Promise<unknown> },
): Promise<EngineFigures> {
  const session = await store.open({ source: 'bench', deployment: null, isReadOnly: false });
  try {
    let filled: FillFigures | null = null;
    if (steps.includes('fill')) {
      await before();
      filled = await fill(session, raw, tasks);
      await fillCauses(session);
      await after();
    }
    const reads = steps.includes('read') ? await timeReads(session, tasks) : [];
    const causes = steps.includes('causes') ? await timeCauses(session) : null;
    const drop = steps.includes('drop') ? await timeDrop(session, tasks) : null;
    return { fill: filled, reads, causes, drop };
  } finally {
    await store.close(session);
  }
}

async function inSqlite(): Promise<EngineFigures> {
  const { createSqliteStore } = await import('../src/stores/sqlite/sqlite-store.ts');
  const folder = mkdtempSync(join(tmpdir(), 'monitor-bench-'));
  const thread = new URL('../src/stores/sqlite/sqlite-thread.ts', import.meta.url);
  const path = where === '' ? join(folder, 'monitor.db') : where;
  const sqlite = process.getBuiltinModule('node:sqlite') as unknown as {
    DatabaseSync: new (path: string) => { exec(text: string): void; close(): void };
  };
  const run = async (statement: string): Promise<void> => {
    const database = new sqlite.DatabaseSync(path);
    database.exec(statement);
    database.close();
  };
  try {
    const nothing = async (): Promise<void> => {};
    const hooks = { before: nothing, after: nothing };
    const raw = { prefix: 'monitor_', run, withoutIndexes: (work: () => Promise<void>) => work() };
    return await measure(createSqliteStore({ ...settings, path, thread }), raw, hooks);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function inPostgres(): Promise<EngineFigures> {
  const { default: pg } = await import('pg');
  const { postgresStore } = await import('../src/postgres.ts');
  const { startPostgres } = await import('../test/helpers/postgres.ts');
  const server =
    where === ''
      ? await startPostgres({ settings: { shared_buffers: '1GB', max_wal_size: '4GB' } })
      : { url: () => where, close: async () => {} };
  const pool = new pg.Pool({ connectionString: server.url(), max: 3 });
  const run = async (statement: string): Promise<void> => void (await pool.query(statement));
  const withoutIndexes = async (work: () => Promise<void>): Promise<void> => {
    const { rows } = await pool.query<{ name: string; text: string }>(
      `SELECT indexname AS name, replace(indexdef, ' ON ONLY ', ' ON ') AS text FROM pg_indexes
       WHERE tablename = 'task_monitor_task' AND indexdef NOT LIKE 'CREATE UNIQUE%'`,
    );
    for (const { name } of rows) await run(`DROP INDEX ${name}`);
    await work();
    for (const { text } of rows) await run(`SET maintenance_work_mem = '512MB'; ${text}`);
  };
  const hooks = {
    // The store creates the tables of coming days; these have passed already.
    async before() {
      for (let day = TODAY - DAYS + 1; day < TODAY; day++)
        await run(
          `CREATE TABLE task_monitor_task_d${day} PARTITION OF task_monitor_task FOR VALUES FROM (${day}) TO (${day + 1})`,
        );
    },
    // Autovacuum does the same, sooner or later.
    async after() {
      await run('VACUUM ANALYZE task_monitor_task');
      await run('VACUUM ANALYZE task_monitor_rollup');
    },
  };
  try {
    return await measure(
      storeOption(postgresStore(pool), { caller: 'bench', option: 'store' }) as StoreEngine,
      { prefix: 'task_monitor_', run, withoutIndexes },
      hooks,
    );
  } finally {
    await pool.end();
    await server.close();
  }
}

console.log(JSON.stringify(await (engine === 'sqlite' ? inSqlite() : inPostgres())));
