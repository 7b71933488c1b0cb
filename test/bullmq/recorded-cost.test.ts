/** What it costs to record jobs: processor time, and room in the store. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as bullmq from 'bullmq';
import { describe, expect, it } from 'vitest';
import type { TasksBody } from '../../src/wire.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { type MonitorCost, startPostgresMonitor, startSqliteMonitor } from '../helpers/bullmq-monitor.ts';
import { sqliteMissing } from '../helpers/other-node.ts';
import { postgresMissing, startPostgres } from '../helpers/postgres.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';

/** Jobs, and how many of them are added each 100 ms. */
const JOBS = 4_000;
const AT_ONCE = 25;

/** Adds jobs with 200 bytes of data that are removed when they end, and waits until they have ended. */
async function load(app: BullMQApp): Promise<void> {
  const queue = app.queue('mail');
  const opts = { delay: 1_000, removeOnComplete: true };
  const data = { text: 'x'.repeat(200) };
  app.worker('mail', async () => ({ ok: true }), { concurrency: 20 });
  const begin = performance.now();
  for (let tick = 1; tick * AT_ONCE <= JOBS; tick += 1) {
    await queue.addBulk(Array.from({ length: AT_ONCE }, () => ({ name: 'send', data, opts })));
    await new Promise((resolve) => setTimeout(resolve, begin + tick * 100 - performance.now()));
  }
  await app.settled(queue, 0, 'delayed', 'wait', 'active');
}

async function measure(engine: 'PostgreSQL' | 'SQLite') {
  const app = await startBullMQ(bullmq);
  const folder = mkdtempSync(join(tmpdir(), 'monitor-cost-'));
  const postgres = engine === 'PostgreSQL' ? await startPostgres() : null;
  const monitor = await (postgres === null
    ? startSqliteMonitor(app.redis.url(), join(folder, 'monitor.db'))
    : startPostgresMonitor(app.redis.url(), postgres.url()));
  const recorded = async (): Promise<number> => {
    const page = await monitor.get<TasksBody>('/api/tasks/?limit=0&stats=60');
    return Object.values(page?.stats?.states ?? {}).reduce((sum, count) => sum + count, 0);
  };
  const bytes = async (): Promise<number> => {
    if (postgres === null)
      return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    const [row] = await postgres.query<{ readonly size: string }>(
      "SELECT sum(pg_total_relation_size(oid)) AS size FROM pg_class WHERE relname LIKE 'task_monitor%' AND relkind = 'r'",
    );
    return Number(row?.size);
  };
  try {
    app.queue('mail');
    await until(async () => (await recorded()) === 0);
    const before = { cost: (await monitor.get<MonitorCost>('/cost')) as MonitorCost, bytes: await bytes() };
    const begin = performance.now();
    await load(app);
    const ms = performance.now() - begin;
    await until(async () => (await recorded()) === JOBS, 60_000);
    const busy = (await monitor.get<MonitorCost>('/cost')) as MonitorCost;
    // Ended, it has written everything.
    await monitor.stop();
    return {
      engine,
      cpuMsPerJob: (busy.cpuMs - before.cost.cpuMs) / JOBS,
      jobsPerSecond: (JOBS / ms) * 1_000,
      bytesPerJob: ((await bytes()) - before.bytes) / JOBS,
      loopP99Ms: busy.p99Ms,
      loopMostMs: busy.mostMs,
    };
  } finally {
    await monitor.kill();
    await app.close();
    await postgres?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('recording jobs', () => {
  for (const [engine, missing] of [
    ['PostgreSQL', redisMissing ?? postgresMissing],
    ['SQLite', redisMissing ?? sqliteMissing],
  ] as const) {
    it.skipIf(missing !== null)(
      titleUnless(missing, `costs little in ${engine}`),
      async () => {
        const cost = await measure(engine);
        console.log(cost);
        // Ten times the figures of the documentation.
        expect(cost.cpuMsPerJob).toBeLessThan(10);
        expect(cost.bytesPerJob).toBeLessThan(20_000);
      },
      180_000,
    );
  }
});
