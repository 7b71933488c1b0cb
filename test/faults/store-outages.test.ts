import pg from 'pg';
import { expect, onTestFinished } from 'vitest';
import { postgresMissing } from '../helpers/postgres.ts';
import { until } from '../helpers/redis-server.ts';
import { faultCase } from './kit/fault-case.ts';
import { BEFORE, expectAll, expectOnlyRecent, listAll, storeFigures } from './kit/kept-history.ts';
import { type KeptSource, keptSource } from './kit/kept-source.ts';

const storeCase: typeof faultCase = (row, title, run, options) =>
  faultCase(row, title, run, { missing: postgresMissing, timeout: 180_000, ...options });

const DAY_MS = 86_400_000;

/** The store says that something is wrong. */
const untilNoticed = (kept: KeptSource): Promise<void> =>
  until(async () => (await storeFigures(kept)).code !== null);

storeCase(79, 'PostgreSQL is killed in the middle of a batch and started again', async (bench) => {
  const kept = await keptSource(bench);
  const recording = kept.recordFor(2_000);
  await until(async () => (await kept.stored()) > BEFORE);
  await kept.server.kill();
  await untilNoticed(kept);
  await expectOnlyRecent(bench, kept);
  await recording;
  await kept.server.start();
  bench.figure('until all was kept, ms', await kept.untilKept());
  await expectAll(bench, kept);
});

storeCase(80, 'PostgreSQL stops answering with its connections open, and goes on', async (bench) => {
  const kept = await keptSource(bench);
  kept.server.freeze();
  const recording = kept.recordFor(2_000);
  await untilNoticed(kept);
  await expectOnlyRecent(bench, kept);
  await recording;
  kept.server.thaw();
  bench.figure('until all was kept, ms', await kept.untilKept());
  await expectAll(bench, kept);
});

storeCase(81, 'PostgreSQL takes no writes for a while', async (bench) => {
  const kept = await keptSource(bench);
  await setReadOnly(kept, 'on');
  await kept.recordFor(2_000);
  await bench.expectAnswer(kept.host, '/api/tasks/?limit=20', { status: 200, aimMs: 50 });
  // It can still be read.
  await bench.expectAnswer(kept.host, '/api/tasks/task-0/', { status: 200 });
  await setReadOnly(kept, 'off');
  bench.figure('until all was kept, ms', await kept.untilKept());
  await expectAll(bench, kept);
});

async function setReadOnly({ server }: KeptSource, value: 'on' | 'off'): Promise<void> {
  await server.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`);
  await server.query('SELECT pg_reload_conf()');
}

storeCase(82, 'the tables are locked for some seconds', async (bench) => {
  const kept = await keptSource(bench);
  const client = new pg.Client({ connectionString: kept.server.url() });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query('BEGIN; LOCK TABLE task_monitor_task IN ACCESS EXCLUSIVE MODE');
  const recording = kept.recordFor(2_000);
  await untilNoticed(kept);
  await expectOnlyRecent(bench, kept);
  await recording;
  await client.query('ROLLBACK');
  bench.figure('until all was kept, ms', await kept.untilKept());
  await expectAll(bench, kept);
});

storeCase(83, 'the clock of the host is set back by a day', async (bench) => {
  let ahead = 0;
  const kept = await keptSource(bench, { now: () => Date.now() + ahead });
  ahead = -DAY_MS;
  await kept.recordFor(2_000);
  await kept.untilKept();
  ahead = DAY_MS;
  await kept.recordFor(2_000);
  await kept.untilKept();
  await expectAll(bench, kept);
});

/** What ten minutes bring at 50 tasks a second; they come within seconds here. */
const TEN_MINUTES = { tasks: 30_000, atOnce: 500 };
/** How many tasks wait outside of memory at most. */
const BACKLOG = 20_000;

storeCase(84, 'PostgreSQL is away while as much happens as in ten minutes', async (bench) => {
  const kept = await keptSource(bench);
  const before = process.memoryUsage().heapUsed;
  await kept.server.stop();
  for (let done = 0; done < TEN_MINUTES.tasks; done += TEN_MINUTES.atOnce) {
    kept.record(TEN_MINUTES.atOnce);
    await new Promise(setImmediate);
  }
  // The newest alone in its millisecond, for the list.
  const last = Date.now();
  while (Date.now() === last) await new Promise(setImmediate);
  kept.record(1);
  const grown = process.memoryUsage().heapUsed - before;
  bench.figure('heap grown, MiB', Math.round(grown / 1_048_576));
  expect(grown).toBeLessThan(400 * 1_048_576);
  await expectOnlyRecent(bench, kept);
  // What does not fit into the backlog is counted, and nobody is told that all is well.
  const { waiting, lost, code } = await storeFigures(kept);
  expect([Number(waiting) <= BACKLOG + 1_000, Number(lost) > 0, code]).toEqual([true, true, 'unreachable']);
  await kept.server.start();
  const lostTasks = async (): Promise<number> => kept.recorded() - (await kept.stored());
  await until(async () => (await storeFigures(kept)).waiting === 0, 120_000);
  bench.figure('tasks lost', await lostTasks());
  // All but those that were counted; with a task, its items in the feed were lost, too.
  expect(await lostTasks()).toBeGreaterThan(0);
  expect(await lostTasks()).toBeLessThanOrEqual(Number((await storeFigures(kept)).lost));
  expect(await lostTasks()).toBeLessThanOrEqual(kept.recorded() - BACKLOG);
  expect((await listAll(bench, kept)).size).toBe(await kept.stored());
});
