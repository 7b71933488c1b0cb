import { expect, onTestFinished } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import type { TaskBody } from '../../src/wire.ts';
import { type PostgresLab, startPostgresLab } from '../celery/sql/postgres-lab.ts';
import { createDjangoTables, storeDjango } from '../celery/sql/result-lab.ts';
import { postgresMissing } from '../helpers/postgres.ts';
import { until } from '../helpers/redis-server.ts';
import type { Host } from '../router/host-kit.ts';
import { type FaultBench, faultCase } from './kit/fault-case.ts';

const sqlCase: typeof faultCase = (row, title, run, options) =>
  faultCase(row, title, run, { missing: postgresMissing, timeout: 120_000, ...options });

/** A monitor on a database with one result. */
async function monitored(bench: FaultBench): Promise<{ database: PostgresLab; host: Host }> {
  const lab = await startPostgresLab();
  onTestFinished(() => lab.server.close());
  const database = await lab.open();
  await createDjangoTables(database);
  await storeDjango(database, { task_id: 'first', status: 'SUCCESS', result: '1' });
  const host = await bench.serve({ sources: database.monitor(database.sql) });
  onTestFinished(() => database.close());
  await until(async () => (await host.get('/api/tasks/first/')).status === 200);
  return { database, host };
}

async function expectStale(bench: FaultBench, host: Host): Promise<void> {
  await until(
    async () => (await host.get<{ sources: { ok: boolean }[] }>('/api/tasks/')).body.sources[0]?.ok === false,
    15_000,
  );
  const { body } = await bench.expectAnswer<TaskBody>(host, '/api/tasks/first/', { status: 200, aimMs: 50 });
  expect(body.state).toBe('SUCCESS');
  await bench.expectAnswer(host, '/healthcheck', { status: 503, aimMs: 50 });
}

async function expectMeanwhile({ database, host }: { database: PostgresLab; host: Host }): Promise<number> {
  await storeDjango(database, { task_id: 'meanwhile', status: 'SUCCESS', result: '2' });
  const began = performance.now();
  await until(async () => (await host.get('/api/tasks/meanwhile/')).status === 200, 30_000);
  return Math.round(performance.now() - began);
}

sqlCase(91, 'PostgreSQL with the results of an app is killed and started again', async (bench) => {
  const monitor = await monitored(bench);
  await monitor.database.server.kill();
  await expectStale(bench, monitor.host);
  await monitor.database.server.start();
  bench.figure('until a result was shown, ms', await expectMeanwhile(monitor));
});

sqlCase(92, 'PostgreSQL with the results of an app stops answering, and goes on', async (bench) => {
  const monitor = await monitored(bench);
  const { server, sent } = monitor.database;
  server.freeze();
  await expectStale(bench, monitor.host);
  const before = sent.length;
  await Promise.all(Array.from({ length: 20 }, (_, at) => monitor.host.get(`/api/tasks/unknown-${at}/`)));
  // A statement that is not answered is the only one: the pool of the host stays free.
  expect(sent.length).toBe(before);
  server.thaw();
  bench.figure('until a result was shown, ms', await expectMeanwhile(monitor));
});

/** What the function of a host may do. */
const BROKEN: readonly (() => unknown)[] = [
  () => new Promise(() => {}),
  () => Promise.reject(new Error('postgres://me:hunter2@db')),
  () => {
    throw 'hunter2';
  },
  () => undefined,
  () => [null, 7, ['hunter2']],
  () => [
    { n: Number.NaN, task: {}, state: 7, time: [], top: 'hunter2', clock: null, name: null, type: null },
  ],
  () => Array.from({ length: 10_000 }, () => ({ n: 1, task: 'x'.repeat(100), state: 'SUCCESS' })),
];

faultCase(93, 'the function that runs statements does not do what it should', async (bench) => {
  for (const answer of BROKEN) {
    const query = () => answer() as readonly object[];
    const sources = celerySources({ broker: 'sqs://', sql: { dialect: 'postgres', query } });
    const host = await bench.serve({ sources });
    await bench.expectAnswer(host, '/api/tasks/', { status: [200, 503] });
    await bench.expectAnswer(host, '/api/tasks/unknown/', { status: [404, 503], aimMs: 1_500 });
    const { body } = await bench.expectAnswer<object>(host, '/api/components/', { status: 200 });
    expect(JSON.stringify(body)).not.toContain('hunter2');
    await bench.expectAnswer(host, '/healthcheck', { status: [200, 503], aimMs: 1_500 });
  }
});
