/**
 * One engine of the benchmark `store`: `<sqlite or postgres> <tasks>`. Writes tasks of eight days through the store,
 * and times what reads them. Prints JSON.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HistoryStore, StoredQuery, StoredTask, StoreSession } from '../src/history/store.ts';
import { storedQuery } from '../test/stores/samples.ts';

/** What is printed. Times in milliseconds. */
export interface EngineFigures {
  readonly firstWrites: number;
  readonly secondWrites: number;
  readonly bytesPerTask: number;
  readonly times: readonly { readonly name: string; readonly p50: number; readonly p95: number }[];
}

const DAY_MS = 86_400_000;
const DAYS = 8;
const BATCH = 1_000;
const ROUNDS = 100;
const TODAY = Math.floor(Date.now() / DAY_MS);
const FIRST = (TODAY - DAYS + 1) * DAY_MS;

const [, , engine, given] = process.argv;
const count = Number(given);

const idOf = (at: number): string => createHash('md5').update(String(at)).digest('hex');
const some = (below: number): number => Math.floor(Math.random() * below);

/** Workflows of ten tasks, one failure in a hundred, 50 names, 20 workers, 5 queues. */
function taskAt(at: number, version: number): StoredTask {
  const timestamp = FIRST + Math.floor((at * DAYS * DAY_MS) / count);
  const root = at - (at % 10);
  const name = `app.tasks.name_${at % 50}`;
  const args = `[${at}, "${'x'.repeat(60)}"]`;
  const entries = [3, 4, 5].map((kind) => [kind, timestamp, 0, `celery@worker-${at % 20}`, 0]);
  return {
    ...{ id: idOf(at), day: Math.floor(timestamp / DAY_MS), version, isOpen: at % 5_000 === 0 },
    ...{ record: JSON.stringify({ name, args, kwargs: '{}', result: 'true', entries }), texts: null },
    ...{ state: at % 100 === 0 ? 'FAILURE' : 'SUCCESS', name, worker: `celery@worker-${at % 20}` },
    ...{ queue: `queue-${at % 5}`, rootId: idOf(root), parentId: at === root ? null : idOf(root) },
    ...{ groupId: at % 10 > 5 ? idOf(-root) : null, chordId: null, timestamp, received: timestamp - 3_000 },
    ...{ started: timestamp - 2_000, finished: timestamp, runtime: (at % 997) / 100 },
  };
}

/** Tasks written each second. */
async function writeAll({ tasks }: StoreSession, version: number, most: number): Promise<number> {
  const from = performance.now();
  for (let at = 0; at < most; at += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, most - at) }, (_, next) => taskAt(at + next, version));
    await tasks.write(batch);
  }
  return (most * 1_000) / (performance.now() - from);
}

/** Pages behind a random position, by each filter. */
function pages({ tasks }: StoreSession): Readonly<Record<string, () => Promise<unknown>>> {
  const page = (filters: () => Partial<StoredQuery>) => () =>
    tasks.list({
      ...storedQuery(),
      after: { key: FIRST + some(DAYS * DAY_MS), id: idOf(some(count)) },
      ...filters(),
    });
  const whole = (filters: () => Partial<StoredQuery>) => page(() => ({ after: null, ...filters() }));
  const root = (): string => idOf(some(count / 10) * 10);
  return {
    'one task': () => tasks.read([idOf(some(count))]),
    'page of 100': page(() => ({})),
    'by state, common': page(() => ({ states: ['SUCCESS'] })),
    'by state, rare': page(() => ({ states: ['FAILURE'] })),
    'by name': page(() => ({ names: [`app.tasks.name_${some(50)}`] })),
    'by worker': page(() => ({ workers: [`celery@worker-${some(20)}`] })),
    'by queue': page(() => ({ queues: [`queue-${some(5)}`] })),
    'by root': whole(() => ({ rootId: root() })),
    'by parent': whole(() => ({ parentId: root() })),
    'by group': whole(() => ({ groupId: idOf(-some(count / 10) * 10) })),
    'by run time': whole(() => ({ sort: 'runtime' })),
    'by time of start': whole(() => ({ sort: 'started', order: 'asc' })),
    'by name, sorted': whole(() => ({ sort: 'name' })),
    'by state, sorted': whole(() => ({ sort: 'state' })),
    'count up to 10,000': () => tasks.count(storedQuery(), 10_000),
  };
}

async function time(
  name: string,
  work: () => Promise<unknown>,
  rounds = ROUNDS,
): Promise<EngineFigures['times'][number]> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const from = performance.now();
    await work();
    times.push(performance.now() - from);
  }
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? Number.NaN;
  return { name, p50: at(0.5), p95: at(0.95) };
}

async function measure(store: HistoryStore, beforeRows: () => Promise<unknown>): Promise<EngineFigures> {
  const session = await store.open({ source: 'bench', deployment: null, isReadOnly: false });
  await beforeRows();
  const firstWrites = await writeAll(session, 1, count);
  const bytesPerTask = (await session.size()) / count;
  const secondWrites = await writeAll(session, 2, Math.min(count, 50_000));
  const times = [];
  for (const [name, work] of Object.entries(pages(session))) times.push(await time(name, work));
  times.push(await time('drop a day', () => session.tasks.dropBefore(TODAY - DAYS + 2), 1));
  await store.close(session);
  return { firstWrites, secondWrites, bytesPerTask, times };
}

const settings = { retention: { taskDays: 7, rollupDays: 90 }, isReadOnly: false, deployment: null };

async function inSqlite(): Promise<EngineFigures> {
  const { createSqliteStore } = await import('../src/stores/sqlite/create-sqlite-store.ts');
  const folder = mkdtempSync(join(tmpdir(), 'monitor-bench-'));
  const thread = new URL('../src/stores/sqlite/sqlite-thread.ts', import.meta.url);
  try {
    return await measure(
      createSqliteStore({ ...settings, path: join(folder, 'monitor.db'), thread }),
      async () => {},
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function inPostgres(): Promise<EngineFigures> {
  const { default: pg } = await import('pg');
  const { postgresStore } = await import('../src/postgres.ts');
  const { startPostgres } = await import('../test/helpers/postgres.ts');
  const server = await startPostgres({ settings: { shared_buffers: '1GB', max_wal_size: '4GB' } });
  const pool = new pg.Pool({ connectionString: server.url(), max: 3 });
  // The store creates the tables of coming days; these have passed already.
  const createDays = async (): Promise<void> => {
    for (let day = TODAY - DAYS + 1; day < TODAY; day++)
      await pool.query(
        `CREATE TABLE task_monitor_task_d${day} PARTITION OF task_monitor_task FOR VALUES FROM (${day}) TO (${day + 1})`,
      );
  };
  try {
    return await measure(postgresStore(pool), createDays);
  } finally {
    await pool.end();
    await server.close();
  }
}

console.log(JSON.stringify(await (engine === 'sqlite' ? inSqlite() : inPostgres())));
