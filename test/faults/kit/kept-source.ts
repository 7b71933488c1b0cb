/** A source whose history is kept in PostgreSQL, and what its cases ask of it. */
import pg from 'pg';
import { expect, onTestFinished } from 'vitest';
import { type MemorySources, memorySources } from '../../../src/memory.ts';
import { postgresStore } from '../../../src/postgres.ts';
import type { TasksBody } from '../../../src/wire.ts';
import { type PostgresServer, startPostgres } from '../../helpers/postgres.ts';
import { until } from '../../helpers/redis-server.ts';
import type { Host } from '../../router/host-kit.ts';
import type { FaultBench } from './fault-case.ts';

/** Most tasks that memory holds: all others are only in the store. */
const IN_MEMORY = 200;
/** How many tasks each case records before the fault, and meanwhile. */
const BEFORE = 1_000;
const MEANWHILE = 600;
/** Milliseconds between two tasks that are recorded during the fault. */
const PACE_MS = 10;

/** A source with a store. */
export interface KeptSource {
  readonly server: PostgresServer;
  readonly host: Host;
  /** Tasks recorded so far. */
  recorded(): number;
  /** Records tasks until the time is over. */
  recordFor(ms: number): Promise<void>;
  /** Waits until every task can be read from the store, and is well. @returns milliseconds */
  untilKept(): Promise<number>;
}

/** @param now clock of the host */
export async function keptSource(bench: FaultBench, now: () => number = Date.now): Promise<KeptSource> {
  const server = await startPostgres();
  onTestFinished(() => server.close());
  const pool = new pg.Pool({ connectionString: server.url(), max: 5 });
  pool.on('error', () => {});
  const sources = memorySources({ store: postgresStore(pool), retention: { maxTasks: IN_MEMORY }, now });
  // Before the server is closed, so that the pool can end its connections.
  onTestFinished(async () => {
    await sources.close();
    await Promise.race([pool.end(), new Promise((resolve) => setTimeout(resolve, 2_000))]);
  });
  const host = await bench.serve({ sources });
  let count = 0;
  const record = (): void => recordTask(sources, count++);
  const kept: KeptSource = {
    server,
    host,
    recorded: () => count,
    async recordFor(ms) {
      const end = performance.now() + ms;
      for (let done = 0; done < MEANWHILE && performance.now() < end; done++) {
        record();
        await new Promise((resolve) => setTimeout(resolve, PACE_MS));
      }
    },
    async untilKept() {
      const start = performance.now();
      await until(async () => (await storedCount(server)) === count, 60_000);
      await until(async () => (await host.get('/api/tasks/task-0/')).status === 200, 60_000);
      return Math.round(performance.now() - start);
    },
  };
  while (count < BEFORE) record();
  await kept.untilKept();
  return kept;
}

function recordTask(sources: MemorySources, number: number): void {
  const id = `task-${number}`;
  sources.record({ id, state: 'STARTED', name: `job.${number % 5}`, args: [number] });
  sources.record({ id, state: number % 10 === 0 ? 'FAILURE' : 'SUCCESS', result: number });
}

async function storedCount(server: PostgresServer): Promise<number> {
  const [table] = await server.query<{ name: string | null }>(
    "SELECT to_regclass('task_monitor_task') AS name",
  );
  if (table?.name === null) return 0;
  const [row] = await server.query<{ count: string }>(
    "SELECT count(*) FROM task_monitor_task WHERE state IN ('SUCCESS', 'FAILURE')",
  );
  return Number(row?.count);
}

/**
 * What has to hold while the store cannot be used: recent tasks are listed at once; older ones are neither denied nor
 * left out silently.
 */
export async function expectOnlyRecent(bench: FaultBench, { host, recorded }: KeptSource): Promise<void> {
  const newest = recorded() - 1;
  const { body } = await bench.expectAnswer<TasksBody>(host, '/api/tasks/?limit=20', {
    status: 200,
    aimMs: 50,
  });
  expect(body.tasks.map(({ task_id: id }) => id)).toContain(`task-${newest}`);
  await bench.expectAnswer(host, `/api/tasks/task-${newest}/`, { status: 200 });
  // Not asked for before: of what was, the last answer is shown.
  await bench.expectAnswer(host, '/api/tasks/task-7/', { status: [503, 504] });
  const { body: all } = await bench.expectAnswer<TasksBody>(host, '/api/tasks/?limit=1000', {
    status: [200, 503, 504],
  });
  if (all.tasks !== undefined) expect(all.next_cursor).not.toBeNull();
}

/** Walks through all tasks. */
export async function expectAll(bench: FaultBench, { host, recorded }: KeptSource): Promise<void> {
  const ids = new Set<string>();
  let cursor: string | null = null;
  do {
    const path: string = `/api/tasks/?limit=500${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
    const { body } = await bench.expectAnswer<TasksBody>(host, path, { status: 200 });
    for (const { task_id: id } of body.tasks) ids.add(id);
    cursor = body.next_cursor;
  } while (cursor !== null);
  expect(ids.size).toBe(recorded());
}
