// The monitor of a Celery app on Redis: node examples/celery/server.mjs
// REDIS_URL: its broker and result backend. PORT: where the monitor listens.
import express from 'express';
import { createMonitorRouter } from 'express-task-monitor';
import { celerySources } from 'express-task-monitor/celery';

const { REDIS_URL = 'redis://127.0.0.1:6379/0', PORT = 3000 } = process.env;

const monitor = createMonitorRouter({
  sources: celerySources({ broker: REDIS_URL, backend: REDIS_URL }),
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
});
