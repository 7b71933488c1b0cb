import express from 'express';
import { createMonitorRouter } from 'express-task-monitor';
import { celerySources } from 'express-task-monitor/celery';
import { serve } from '../shared/serve.mjs';

/** An Express app that shows the Celery app whose broker and results are at this URL. */
export function startApp(redisUrl, host, port) {
  const monitor = createMonitorRouter({
    sources: celerySources({ broker: redisUrl, backend: redisUrl }),
    // Any exporter of Prometheus metrics, such as celery-exporter.
    metrics: process.env.METRICS_URL ?? false,
    // Nobody but this machine can reach it. In your app: authorize: (request) => request.user?.isAdmin
    authorize: false,
  });

  const app = express();
  app.use('/monitor', monitor);
  return serve(app, monitor, host, port);
}
