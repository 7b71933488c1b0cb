/** Monitors of BullMQ with recorded jobs, each in a process of its own that can be killed. */
import { fileURLToPath } from 'node:url';
import { type MonitorProcess, startMonitorProcess } from './monitor-process.ts';
import { sqliteNode } from './other-node.ts';

const THREAD = fileURLToPath(new URL('../../src/stores/sqlite/sqlite-thread.ts', import.meta.url));

const begin = `
  import { monitorEventLoopDelay } from 'node:perf_hooks';
  import express from 'express';
  import { createMonitorRouter } from './src/index.ts';
  import { bullmqSources } from './src/bullmq.ts';
  const { connection, database, file, thread } = JSON.parse(process.env.MONITOR);
`;

const end = `
  const sources = bullmqSources({ connection, store });
  const app = express();
  app.use('/monitor', createMonitorRouter({ sources, authorize: () => true, onError() {}, limits: { page: 1000 } }));
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  app.get('/monitor/cost', (_request, response) => {
    const { user, system } = process.cpuUsage();
    response.json({
      cpuMs: (user + system) / 1000,
      p99Ms: delay.percentile(99) / 1e6,
      mostMs: delay.max / 1e6,
      heapMb: process.memoryUsage().heapUsed / 2 ** 20,
    });
    delay.reset();
  });
  const server = app.listen(0, '127.0.0.1', () => console.log('port ' + server.address().port));
  process.once('SIGTERM', async () => {
    await sources.close();
    process.exit(0);
  });
`;

const POSTGRES = `${begin}
  import pg from 'pg';
  import { postgresStore } from './src/postgres.ts';
  const pool = new pg.Pool({ connectionString: database, max: 4 });
  pool.on('error', () => {});
  const store = postgresStore(pool);
${end}`;

const SQLITE = `${begin}
  import { pathToFileURL } from 'node:url';
  import { createSqliteStore } from './src/stores/sqlite/sqlite-store.ts';
  const store = createSqliteStore({
    ...{ path: file, isReadOnly: false, deployment: null, retention: { taskDays: 7, rollupDays: 90 } },
    thread: pathToFileURL(thread),
  });
${end}`;

/** The resources that a monitor has used, and the delay of its event loop since the last request. */
export interface MonitorCost {
  readonly cpuMs: number;
  readonly p99Ms: number;
  readonly mostMs: number;
  readonly heapMb: number;
}

/** @param database URL of a database of PostgreSQL */
export function startPostgresMonitor(connection: string, database: string): Promise<MonitorProcess> {
  return startMonitorProcess(POSTGRES, { connection, database });
}

/** @param file path of a database of SQLite */
export function startSqliteMonitor(connection: string, file: string): Promise<MonitorProcess> {
  return startMonitorProcess(SQLITE, { connection, file, thread: THREAD }, sqliteNode);
}
