// The monitor of a Django app with Celery on RabbitMQ, and results (django-celery-results) and schedules
// (django-celery-beat) in PostgreSQL: node examples/celery-rabbitmq/server.mjs
// AMQP_URL: its broker. DATABASE_URL: its database. PORT: where the monitor listens.
import express from 'express';
import { createMonitorRouter } from 'express-task-monitor';
import { celerySources } from 'express-task-monitor/celery';
import pg from 'pg';

const {
  AMQP_URL = 'amqp://guest:guest@127.0.0.1:5672//',
  DATABASE_URL = 'postgres://postgres@127.0.0.1:5432/postgres',
  PORT = 3000,
} = process.env;

const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 2 });
// Without this, an idle connection that breaks would end the process.
pool.on('error', (error) => console.error(error.message));
const query = async (text, values) => (await pool.query(text, values)).rows;

const monitor = createMonitorRouter({
  sources: celerySources({ broker: AMQP_URL, sql: { dialect: 'postgres', query } }),
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
  await monitor.close();
  await pool.end();
});
