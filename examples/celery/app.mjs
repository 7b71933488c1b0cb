import express from 'express';
import { createMonitorRouter } from 'express-task-monitor';
import { celerySources } from 'express-task-monitor/celery';
import { sqliteStore } from 'express-task-monitor/sqlite';
import { serve } from '../shared/serve.mjs';

const STARTED = new Date();

/**
 * An Express app that shows the Celery app whose broker and results are at this URL. With STORE, such as monitor.db, it
 * keeps the history in that file, and shows it again after the next start.
 */
export function startApp(redisUrl, host, port) {
  const { STORE } = process.env;
  // The Redis of this example has another port each time, by which the deployment would be known otherwise.
  const store = STORE ? sqliteStore(STORE, { deployment: 'example' }) : undefined;
  const monitor = createMonitorRouter({
    sources: celerySources({ broker: redisUrl, backend: redisUrl, store }),
    // Any exporter of Prometheus metrics, such as celery-exporter.
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
