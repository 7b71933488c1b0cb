import express from 'express';
import { createMonitorRouter } from 'express-task-monitor';
import { bullmqSources } from 'express-task-monitor/bullmq';
import { serve } from '../shared/serve.mjs';

const STARTED = new Date();

/** An Express app that shows the queues it adds jobs to. */
export function startApp(queues, host, port) {
  const monitor = createMonitorRouter({
    sources: bullmqSources({ queues }),
    // Any exporter of Prometheus metrics.
    metrics: process.env.METRICS_URL ?? false,
    // The page marks it in its charts: in your app, its deploys.
    markers: () => [{ at: STARTED, text: 'app started' }],
    // Where else to look for a task: in your app, its logs or its errors.
    taskLinks: ({ task_id }) => [
      { text: 'This task as JSON', url: `api/tasks/${encodeURIComponent(task_id)}/` },
    ],
    // Nobody but this machine can reach it. In your app: authorize: (request) => request.user?.isAdmin
    authorize: false,
  });

  const app = express();
  app.use('/monitor', monitor);
  return serve(app, monitor, host, port);
}
