// One instance of the app. start.mjs runs two of them; in production they run on different hosts.
// DATABASE_URL: the PostgreSQL that they share. PORT: where this one listens. INSTANCE: its name.
import express from 'express';
import { createMonitorRouter } from 'express-task-monitor';
import { memorySources } from 'express-task-monitor/memory';
import { postgresStore } from 'express-task-monitor/postgres';
import pg from 'pg';
import { serve } from '../shared/serve.mjs';

const { DATABASE_URL, INSTANCE } = process.env;

const pool = new pg.Pool({ connectionString: DATABASE_URL });
// Without this, an idle connection that breaks would end the process: pg wants it of every app.
pool.on('error', (error) => console.error(`${INSTANCE}: ${error.message}`));

const queue = memorySources({ name: 'shop', store: postgresStore(pool) });
const monitor = createMonitorRouter({
  sources: queue,
  // Nobody but this machine can reach it. In your app: authorize: (request) => request.user?.isAdmin
  authorize: false,
});

const app = express();
app.use('/monitor', monitor);
const server = await serve(app, monitor, '127.0.0.1', Number(process.env.PORT ?? 3000));
console.log(`${server.url}/`);

// Sample data: a task every second, which only this instance records.
const first = Date.now();
let number = 0;
const timer = setInterval(() => {
  number += 1;
  const task = { id: `${INSTANCE}-${first}-${number}`, name: 'mail.send', worker: INSTANCE, queue: 'mail' };
  queue.record({ ...task, state: 'STARTED', kwargs: { to: 'ann@example.org', api_key: 'secret' } });
  const state = number % 10 === 0 ? 'FAILURE' : 'SUCCESS';
  setTimeout(() => queue.record({ ...task, state, runtime: 0.3 }), 300).unref();
}, 1_000);

async function end() {
  clearInterval(timer);
  // The last records are written first.
  await server.close();
  await pool.end();
}
process.once('SIGINT', end);
process.once('SIGTERM', end);
