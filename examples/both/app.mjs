import express from 'express';
import { combineSources, createMonitorRouter } from 'express-task-monitor';
import { bullmqSources } from 'express-task-monitor/bullmq';
import { celerySources } from 'express-task-monitor/celery';
import { serve } from '../shared/serve.mjs';

/** An Express app that shows Python's tasks and Node's jobs in one list. */
export function startApp(redisUrl, queues, host, port) {
  const monitor = createMonitorRouter({
    sources: combineSources(
      celerySources({ broker: redisUrl, backend: redisUrl }),
      bullmqSources({ queues }),
    ),
    // Any exporter of Prometheus metrics.
    metrics: process.env.METRICS_URL ?? false,
    // Nobody but this machine can reach it. In your app: authorize: (request) => request.user?.isAdmin
    authorize: false,
  });

  const app = express();
  app.use('/monitor', monitor);
  return serve(app, monitor, host, port);
}
