import express from 'express';
import { createMonitorRouter } from 'express-task-monitor';
import { celerySources } from 'express-task-monitor/celery';
import pg from 'pg';
import { serve } from '../shared/serve.mjs';

/** An Express app that shows the Celery app on this RabbitMQ whose results and schedules are in this PostgreSQL. */
export async function startApp({ amqpUrl, databaseUrl }, host, port) {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 });
  pool.on('error', () => {});
  const monitor = createMonitorRouter({
    sources: celerySources({
      broker: amqpUrl,
      sql: {
        dialect: 'postgres',
        query: (text, values) => pool.query(text, values).then((result) => result.rows),
      },
    }),
    // Any exporter of Prometheus metrics, such as celery-exporter.
    metrics: process.env.METRICS_URL ?? false,
    // Nobody but this machine can reach it. In your app: authorize: (request) => request.user?.isAdmin
    authorize: false,
  });

  const app = express();
  app.use('/monitor', monitor);
  const { url, close } = await serve(app, monitor, host, port);
  return {
    url,
    async close() {
      await close();
      await pool.end();
    },
  };
}
