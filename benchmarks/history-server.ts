/**
 * The host of the benchmark of kept histories. `node history-server.js BROKER [DATABASE]`; each second sends the delay
 * of its event loop and the CPU time of the process so far to the parent process.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import pg from 'pg';
import { celerySources } from '../src/celery.ts';
import { postgresStore } from '../src/postgres.ts';

const [broker = '', database] = process.argv.slice(2);
const startedAt = performance.now();
const pool = database === undefined ? null : new pg.Pool({ connectionString: database, max: 5 });
pool?.on('error', () => {});
const sources = celerySources({
  broker,
  backend: broker,
  control: false,
  ...(pool !== null && { store: postgresStore(pool) }),
});
const { signal } = new AbortController();
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();

/** What the parent process learns of this one. Times in milliseconds. */
export interface ServerReport {
  readonly sinceStart: number;
  /** 99th percentile of the delay of the event loop since the last report. */
  readonly loopP99: number;
  readonly cpu: number;
  readonly tasks: number;
  readonly rss: number;
}

setInterval(async () => {
  const { user, system } = process.cpuUsage();
  const { tasks } = await sources.history.getHistoryStats({ signal });
  const report: ServerReport = {
    sinceStart: performance.now() - startedAt,
    loopP99: delay.percentile(99) / 1e6,
    cpu: (user + system) / 1e3,
    tasks,
    rss: process.memoryUsage.rss(),
  };
  delay.reset();
  process.send?.(report);
}, 1_000);
process.on('message', () => {
  void Promise.resolve(sources.close()).then(() => process.exit());
});
process.on('disconnect', () => process.exit());
