import express from 'express';
import { createMonitorRouter } from 'express-task-monitor';
import { bullmqSources } from 'express-task-monitor/bullmq';
import { serve } from '../shared/serve.mjs';

/** An Express app that shows the queues it adds jobs to. */
export function startApp(queues, host, port) {
  const monitor = createMonitorRouter({
    sources: bullmqSources({ queues }),
    // Any exporter of Prometheus metrics.
    metrics: process.env.METRICS_URL ?? false,
    // Nobody but this machine can reach it. In your app: authorize: (request) => request.user?.isAdmin
    authorize: false,
  });

  const app = express();
  app.use('/monitor', monitor);
  return serve(app, monitor, host, port);
}
