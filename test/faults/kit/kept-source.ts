/** A source whose history is kept in PostgreSQL. */
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { type MemorySources, memorySources } from '../../../src/memory.ts';
import { postgresStore } from '../../../src/postgres.ts';
import { type PostgresServer, startPostgres } from '../../helpers/postgres.ts';
import { until } from '../../helpers/redis-server.ts';
import type { FaultBench } from './fault-case.ts';
import { BEFORE, IN_MEMORY, type KeptHistory, recordFor } from './kept-history.ts';

/** A source with a store. */
export interface KeptSource extends KeptHistory {
  readonly server: PostgresServer;
  /** Records tasks until the time is over. */
  recordFor(ms: number): Promise<void>;
  /**
   * Waits until every task can be read from the store, and is well.
   *
   * @param lost how many are not there
   * @returns milliseconds
   */
  untilKept(lost?: () => Promise<number>): Promise<number>;
}

/** How to make one. */
export interface KeptSourceOptions {
  /** Clock of the host. */
  readonly now?: () => number;
  /** Called before the tables are created. */
  readonly prepare?: (server: PostgresServer) => Promise<void>;
}

export async function keptSource(
  bench: FaultBench,
  { now = Date.now, prepare }: KeptSourceOptions = {},
): Promise<KeptSource> {
  const server = await startPostgres();
  onTestFinished(() => server.close());
  await prepare?.(server);
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
  const history: KeptHistory = {
    host,
    recorded: () => count,
    record(more) {
      for (const end = count + more; count < end; count++) recordTask(sources, count);
    },
    stored: () => storedCount(server),
  };
  const kept: KeptSource = {
    ...history,
    server,
    recordFor: (ms) => recordFor(history, ms),
    async untilKept(lost = async () => 0) {
      const start = performance.now();
      await until(async () => (await history.stored()) === count - (await lost()), 60_000);
      await until(async () => (await host.get('/api/tasks/task-0/')).status === 200, 60_000);
      return Math.round(performance.now() - start);
    },
  };
  kept.record(BEFORE);
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
