/** Processes and servers of the benchmarks of kept histories. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type PostgresServer, postgresMissing, startPostgres } from '../test/helpers/postgres.ts';
import { type RedisServer, redisMissing, startRedis, until } from '../test/helpers/redis-server.ts';
import type { ServerReport } from './history-server.ts';

/** The servers of a benchmark. */
interface Servers {
  readonly redis: RedisServer;
  readonly postgres: PostgresServer;
  close(): Promise<void>;
}

/**
 * Starts a broker, and a database that writes to disk. Ends the process where one of them is not installed.
 *
 * @param title of the benchmark that is then left out
 */
export async function startServers(title: string): Promise<Servers> {
  const missing = redisMissing ?? postgresMissing;
  if (missing !== null) {
    console.log(`${title}: left out, ${missing}.\n`);
    process.exit(0);
  }
  const redis = await startRedis();
  const postgres = await startPostgres({ fsync: true, settings: { shared_buffers: '256MB' } });
  return {
    redis,
    postgres,
    async close() {
      await postgres.close();
      await redis.close();
    },
  };
}

/** Starts a program of the benchmarks. */
export function run(file: string, args: readonly string[]): ChildProcess {
  const path = fileURLToPath(new URL(`./${file}`, import.meta.url));
  return spawn(process.execPath, ['--import', 'tsx', path, ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
}

/** A monitor, and its reports. */
export interface Monitor {
  readonly child: ChildProcess;
  readonly reports: ServerReport[];
}

/** Starts a host, and waits until it has reported. @param args of `history-server.ts` */
export async function startMonitor(...args: readonly string[]): Promise<Monitor> {
  const child = run('history-server.ts', args);
  const reports: ServerReport[] = [];
  child.on('message', (report) => reports.push(report as ServerReport));
  await until(() => reports.length > 2, 60_000);
  return { child, reports };
}

/** Closes a monitor. */
export async function stop({ child }: Monitor): Promise<void> {
  const ended = once(child, 'exit');
  child.send('end');
  await ended;
}

/** @returns how many tasks are stored */
export async function countStored(postgres: PostgresServer): Promise<number> {
  const [row] = await postgres.query<{ tasks: string }>('SELECT count(*) AS tasks FROM task_monitor_task');
  return Number(row?.tasks ?? 0);
}

/** @returns how far the newest stored task lags behind what was published, in milliseconds; 0 while there is none */
export async function lagOf(postgres: PostgresServer): Promise<number> {
  // By the index, so that the query costs the server nothing.
  const [row] = await postgres.query<{ newest: number | null }>(
    'SELECT max(changed) AS newest FROM task_monitor_task WHERE source_id = (SELECT min(source_id) FROM task_monitor_lease)',
  );
  return row?.newest == null ? 0 : Date.now() - Number(row.newest);
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export function mebibytes(bytes: number): string {
  return (bytes / 1_048_576).toFixed(0);
}
