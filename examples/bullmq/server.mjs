// The monitor of BullMQ's queues: node examples/bullmq/server.mjs
// REDIS_URL: where they are. PORT: where the monitor listens.
import { Queue } from 'bullmq';
import express from 'express';
import { createMonitorRouter } from 'express-task-monitor';
import { bullmqSources } from 'express-task-monitor/bullmq';

const { REDIS_URL = 'redis://127.0.0.1:6379/0', PORT = 3000 } = process.env;

// In your app: the queues that it adds jobs to.
const queues = ['orders', 'mail', 'photos'].map(
  (name) => new Queue(name, { connection: { url: REDIS_URL } }),
);

const monitor = createMonitorRouter({
  sources: bullmqSources({ queues }),
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
  await Promise.all(queues.map((queue) => queue.close()));
});
