/**
 * The host of the benchmark of kept histories. `node history-server.js BROKER [DATABASE] [TASKS]`, or without
 * a broker for an app without a monitor; each second sends the delay of its event loop and the CPU time of the process
 * so far to the parent process. At most TASKS are kept in memory.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import pg from 'pg';
import { celerySources } from '../src/celery.ts';
import { postgresStore } from '../src/postgres.ts';

const [broker, database, tasksText = '100000'] = process.argv.slice(2);
const maxTasks = Number(tasksText);
const startedAt = performance.now();
const pool = database === undefined ? null : new pg.Pool({ connectionString: database, max: 5 });
pool?.on('error', () => {});
const sources =
  broker === undefined
    ? null
    : celerySources({
        broker,
        backend: broker,
        control: false,
        retention: { maxTasks, maxBytes: Math.max(256 * 1_048_576, maxTasks * 1_000) },
        ...(pool !== null && { store: postgresStore(pool) }),
      });
const { signal } = new AbortController();
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();

/** The reports to the parent process. Times in milliseconds. */
export interface ServerReport {
  readonly sinceStart: number;
  /** 99th percentile of the delay of the event loop since the last report. */
  readonly loopP99: number;
  readonly cpu: number;
  readonly tasks: number;
  /** Whether it listens to the broker for all instances. */
  readonly leads: boolean;
  readonly rss: number;
}

async function report(): Promise<void> {
  const { user, system } = process.cpuUsage();
  const { tasks = 0 } = (await sources?.history.getHistoryStats({ signal })) ?? {};
  const components = (await sources?.components.listComponents({ signal })) ?? [];
  const now: ServerReport = {
    sinceStart: performance.now() - startedAt,
    loopP99: delay.percentile(99) / 1e6,
    cpu: (user + system) / 1e3,
    tasks,
    leads: components.some(({ config }) => config?.leads === true),
    rss: process.memoryUsage.rss(),
  };
  delay.reset();
  process.send?.(now);
}

setInterval(() => void report(), 1_000);
process.on('message', () => {
  void Promise.resolve(sources?.close()).then(() => process.exit());
});
process.on('disconnect', () => process.exit());
