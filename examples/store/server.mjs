// The monitor of a Celery app with a history that survives restarts, and that several instances of your app share:
// node examples/store/server.mjs
// DATABASE_URL: the PostgreSQL that has the history; without it, a file of SQLite has it: SQLITE_FILE (Node 22.13 or
// later). REDIS_URL: Celery's broker and result backend. PORT: where the monitor listens.
import express from 'express';
import { createMonitorRouter } from 'express-task-monitor';
import { celerySources } from 'express-task-monitor/celery';
import { postgresStore } from 'express-task-monitor/postgres';
import { sqliteStore } from 'express-task-monitor/sqlite';
import pg from 'pg';

const { REDIS_URL = 'redis://127.0.0.1:6379/0', SQLITE_FILE = 'monitor.db', PORT = 3000 } = process.env;
const { DATABASE_URL } = process.env;

const pool = DATABASE_URL ? new pg.Pool({ connectionString: DATABASE_URL }) : null;
// Without this, an idle connection that breaks would end the process.
pool?.on('error', (error) => console.error(error.message));
// The name of the history. By default it is the address of the broker.
const options = { deployment: 'shop' };
const store = pool ? postgresStore(pool, options) : sqliteStore(SQLITE_FILE, options);

const monitor = createMonitorRouter({
  sources: celerySources({ broker: REDIS_URL, backend: REDIS_URL, store }),
  // Only this machine can reach it. In your app: authorize: (request) => request.user?.isAdmin
  authorize: false,
});

const app = express();
app.use('/monitor', monitor);
const server = app.listen(PORT, '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`http://127.0.0.1:${server.address().port}/monitor/`);
});

process.once('SIGTERM', async () => {
  server.close();
  server.closeAllConnections();
  // Writes what is not written yet.
  await monitor.close();
  await pool?.end();
});
