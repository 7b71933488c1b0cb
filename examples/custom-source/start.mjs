// pg-boss on PostgreSQL, its jobs, and the monitor: node examples/custom-source/start.mjs
// DATABASE_URL: use that database and start none. PORT: of the monitor, 3000 if not given.
import express from 'express';
import { createMonitorRouter } from 'express-task-monitor';
import pg from 'pg';
import { PgBoss } from 'pg-boss';
import { findPostgres, HOW_TO_INSTALL, startPostgres } from '../shared/postgres.mjs';
import { fail, runProgram } from '../shared/run-example.mjs';
import { serve } from '../shared/serve.mjs';
import { INDEX, pgBossSources } from './pg-boss.mjs';

if (process.env.DATABASE_URL === undefined && findPostgres() === null) fail(HOW_TO_INSTALL);

await runProgram(async ({ host, port, folder, processes, onEnd }) => {
  const databaseUrl = process.env.DATABASE_URL ?? (await startPostgres(processes, folder));
  const boss = new PgBoss({
    connectionString: databaseUrl,
    superviseIntervalSeconds: 2,
    monitorIntervalSeconds: 2,
  });
  boss.on('error', (error) => console.error(error.message));
  await boss.start();
  onEnd(() => boss.stop({ timeout: 2_000 }));
  await createIndex(databaseUrl);
  onEnd(await openShop(boss));

  // Nobody but this machine can reach it. In your app: authorize: (request) => request.user?.isAdmin
  const monitor = createMonitorRouter({ sources: pgBossSources(databaseUrl), authorize: false });
  const app = express();
  app.use('/monitor', monitor);
  const { url, close } = await serve(app, monitor, host, port);
  onEnd(close);
  console.log(`
pg-boss runs on ${databaseUrl}. Look at it: ${url}/

  curl '${url}/api/tasks/?state=FAILURE&limit=5'

Ctrl+C ends it.`);
});

async function createIndex(databaseUrl) {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  await client.query(INDEX);
  await client.end();
}

/** Orders come in, and their jobs run. @returns ends it */
async function openShop(boss) {
  await boss.createQueue('charge', { retryLimit: 2, retryDelay: 2 });
  await boss.createQueue('mail');
  await boss.createQueue('remind');
  const often = { pollingIntervalSeconds: 0.5 };
  await boss.work('charge', often, async ([{ data }]) => {
    if (data.order % 4 === 0 || Math.random() < 0.2) throw new Error(`The bank refuses order ${data.order}.`);
    await boss.send('mail', { order: data.order, to: 'ann@example.org' });
    return { paid: data.amount };
  });
  await boss.work('mail', often, async ([{ data }]) => ({ sent: data.to }));
  let order = 0;
  async function addOrder() {
    order += 1;
    await boss.send('charge', { order, amount: 5 * order, card_token: 'secret' });
    await boss.send('remind', { order }, { startAfter: 3_600 });
    if (order % 5 === 0) await boss.cancel('remind', await boss.send('remind', { order }));
  }
  await addOrder();
  const timer = setInterval(() => addOrder().catch((error) => console.error(error.message)), 1_000);
  return () => clearInterval(timer);
}
